// Package colour computes with sRGB colours: their contrast as WCAG 2.2 defines it, and mixtures.
package colour

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// MinText is the least contrast of text with its background, WCAG 2.2 success criterion 1.4.3.
const MinText = 4.5

var form = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// Colour is an opaque sRGB colour.
type Colour struct{ R, G, B uint8 }

// White and Black are the ends of the range.
var (
	White = Colour{255, 255, 255}
	Black = Colour{}
)

// Parse reads a colour such as #0f5c5c.
func Parse(text string) (Colour, error) {
	if !form.MatchString(text) {
		return Colour{}, errors.New("a colour is # and six hex digits, such as #0f5c5c")
	}
	n, err := strconv.ParseUint(text[1:], 16, 32)
	return Colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err //nolint:gosec // six hex digits are three bytes
}

// String returns the colour as # and six lower-case hex digits.
func (c Colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Mix returns the colour with a share of another, 0 to 1.
func (c Colour) Mix(other Colour, share float64) Colour {
	part := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*share)) }
	return Colour{part(c.R, other.R), part(c.G, other.G), part(c.B, other.B)}
}

// Contrast returns the contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio").
func Contrast(a, b Colour) float64 {
	high, low := a.luminance(), b.luminance()
	if high < low {
		high, low = low, high
	}
	return (high + 0.05) / (low + 0.05)
}

// luminance is the relative luminance of WCAG 2.2, 0 to 1.
func (c Colour) luminance() float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// Towards returns the colour with the least share of another, in steps of 2 %, that has the contrast with each background.
func (c Colour) Towards(other Colour, contrast float64, backgrounds ...Colour) Colour {
	for step := range 50 {
		mixed := c.Mix(other, float64(step)/50)
		if mixed.readable(contrast, backgrounds) {
			return mixed
		}
	}
	return other
}

func (c Colour) readable(contrast float64, backgrounds []Colour) bool {
	for _, b := range backgrounds {
		if Contrast(c, b) < contrast {
			return false
		}
	}
	return true
}
