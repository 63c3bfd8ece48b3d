package canonical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normal returns the form in which values are compared: without regard to case, white space and invisible characters, to the variants of a
// character that Unicode calls compatible, and to the script of digits. Lists, limits and counts use it, so that an account in another
// spelling is the same account.
func Normal(value string) string {
	return fold(value, func(r rune) rune {
		if strings.ContainsRune(blank, r) {
			return -1
		}
		return visible(digit(r))
	})
}

// Forms returns the forms under which a value may have been stored: that of Normal, and that of version 1.0.0 if it differs.
func Forms(value string) []string {
	out := []string{Normal(value)}
	if earlier := fold(value, visible); earlier != out[0] {
		out = append(out, earlier)
	}
	return out
}

// fold maps the characters of a value and drops what makes no difference. Of a few characters only the second round is final, and lower case
// makes the folding of Cherokee final, which swaps its cases.
func fold(value string, mapped func(rune) rune) string {
	for range maxRounds {
		next := norm.NFKC.String(strings.ToLower(cases.Fold().String(strings.Map(mapped, norm.NFKC.String(value)))))
		if next == value {
			break
		}
		value = next
	}
	return value
}

// maxRounds bounds the work of a value that a request sends.
const maxRounds = 4

// blank are characters that are displayed as a space, or as nothing, though Unicode lists them with letters and symbols.
const blank = "\u2800\U00013441\U00013442\U0001D159" // of Braille, two of hieroglyphs, a note without a head

// visible drops white space and characters that are not displayed.
func visible(r rune) rune {
	if unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// loose are runs of digits that Unicode does not list with decimal ones and that NFKC leaves: from, to and what the first is read as.
var loose = [][3]rune{
	{0x1369, 0x1371, '1'}, {0x19DA, 0x19DA, '1'}, // Ethiopic, New Tai Lue
	{0x24F5, 0x24FD, '1'}, {0x24FF, 0x24FF, '0'}, {0x2776, 0x277E, '1'}, {0x2780, 0x2788, '1'}, {0x278A, 0x2792, '1'}, {0x1F10B, 0x1F10B, '0'}, {0x1F10C, 0x1F10C, '0'}, // in circles
	{0x10A40, 0x10A43, '1'}, {0x10E60, 0x10E68, '1'}, {0x11052, 0x1105A, '1'}, // Kharosthi, Rumi, Brahmi
}

// digit returns the ASCII digit that a digit of any script is read as, and any other character as it is.
func digit(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if unicode.IsDigit(r) {
		return '0' + r - Zero(r)
	}
	for _, run := range loose {
		if r >= run[0] && r <= run[1] {
			return run[2] + r - run[0]
		}
	}
	return r
}

// Zero returns the zero of the digits that a decimal digit is of: Unicode has them in order.
func Zero(r rune) rune {
	for zero := r; zero > r-10; zero-- {
		if !unicode.IsDigit(zero - 1) {
			return zero
		}
	}
	return r - r%10
}
