package displaytext

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// unaccented are letters with strokes and ligatures, which Unicode does not decompose.
var unaccented = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe", "þ", "th", "ð", "d")

// Fold returns a text in the form in which people search for it: without case, accents, spaces and the characters that separate
// words, thousands and decimals. "1,250.50 EUR" and "1250,5" both contain "1250,5", and "DE89 3704" is the same as "de893704".
func Fold(text string) string {
	text = unaccented.Replace(cases.Fold().String(norm.NFKD.String(text)))
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Z, unicode.Pd, unicode.Cc, unicode.Cf) || strings.ContainsRune(`.,'’·/_:`, r) {
			return -1
		}
		return r
	}, text)
}
