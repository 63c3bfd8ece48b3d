package tenancy

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/colour"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/pagetexts"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Bounds of a brand.
const (
	maxBrandName = 60       // characters
	maxLogo      = 32 << 10 // bytes of the PNG, as given and as stored
	minLogoSide  = 16       // pixels
	maxLogoSide  = 1024     // pixels; bounds the memory that decoding takes to 8 MiB
)

// lightPage is the darkest background of light pages that text in the accent colour appears on.
var lightPage = colour.Colour{R: 0xf0, G: 0xf3, B: 0xf4}

// Brand is a change of the look of the hosted pages. A nil field is left unchanged, an empty one removes the setting. Nothing of it
// is part of what a passkey signs.
type Brand struct {
	Name     *string `json:"name"`     // above the content; without it rp_name
	Accent   *string `json:"accent"`   // of buttons and links, such as #0f5c5c
	Logo     *string `json:"logo"`     // a PNG in base64
	Language *string `json:"language"` // of users whose languages the pages do not have
}

// apply validates the change and makes it in to.
func (in Brand) apply(to *models.Brand) error {
	if in.Name != nil {
		if err := displaytext.Check("brand.name", *in.Name); err != nil {
			return err
		}
		if n := utf8.RuneCountInString(*in.Name); n > maxBrandName {
			return brandFault("name", fmt.Sprintf("brand.name has %d characters; it must have at most %d.", n, maxBrandName))
		}
		to.Name = strings.TrimSpace(*in.Name)
	}
	if in.Language != nil {
		if known := pagetexts.Languages(); *in.Language != "" && !slices.Contains(known, *in.Language) {
			return brandFault("language", fmt.Sprintf("brand.language must be one of %s.", strings.Join(known, ", ")))
		}
		to.Language = *in.Language
	}
	if in.Accent != nil {
		accent, err := accentOf(*in.Accent)
		if err != nil {
			return brandFault("accent", err.Error())
		}
		to.Accent = accent
	}
	if in.Logo != nil {
		logo, err := logoOf(*in.Logo)
		if err != nil {
			return brandFault("logo", err.Error())
		}
		to.Logo = logo
	}
	return nil
}

// brandFault returns the problem of a field. The command line shows its detail.
func brandFault(field, text string) error {
	e := problem.Invalid([]any{"body", "brand", field}, text, "value_error")
	e.Detail = text
	return e
}

// accentOf checks that text in the colour can be read on a light page. The pages lighten it themselves for dark ones.
func accentOf(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	accent, err := colour.Parse(text)
	if err != nil {
		return "", fmt.Errorf("brand.accent is %q: %w", text, err)
	}
	if ratio := colour.Contrast(accent, lightPage); ratio < colour.MinText {
		return "", fmt.Errorf("brand.accent %s has a contrast of %.2f:1 with the pages' background %s; WCAG 2.2 requires %.1f:1. Choose a darker colour, such as %s",
			accent, ratio, lightPage, colour.MinText, accent.Towards(colour.Black, colour.MinText, lightPage))
	}
	return accent.String(), nil
}

// logoOf decodes a PNG and encodes it again, so that only an image is stored: metadata and bytes after its end
// are dropped. SVG is not accepted, because it can contain scripts and load other files.
func logoOf(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if base64.StdEncoding.DecodedLen(len(text)) > maxLogo+2 { // two bytes of padding
		return nil, fmt.Errorf("brand.logo is larger than %d KiB. Use a smaller PNG", maxLogo>>10)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("brand.logo is not base64. Encode the PNG with RFC 4648, section 4")
	}
	config, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("brand.logo is not a PNG. Other formats, such as SVG and JPEG, are not accepted")
	}
	if side := min(config.Width, config.Height); side < minLogoSide || max(config.Width, config.Height) > maxLogoSide {
		return nil, fmt.Errorf("brand.logo has %d by %d pixels; each side must have %d to %d", config.Width, config.Height, minLogoSide, maxLogoSide)
	}
	image, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("brand.logo is a damaged PNG")
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, image); err != nil {
		return nil, err
	}
	if out.Len() > maxLogo {
		return nil, fmt.Errorf("brand.logo has %d KiB after it was encoded again; it must have at most %d. Use fewer pixels or colours", out.Len()>>10, maxLogo>>10)
	}
	return out.Bytes(), nil
}
