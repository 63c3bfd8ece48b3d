package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

// readable replaces each character that could make a person read something else than what is there by its number, such as
// [U+202E]: controls, characters that show nothing, compatibility forms of letters and digits, and letters of another script
// in or beside Latin words that look like Latin ones (Unicode TR 39 calls them mixed-script confusables).
func readable(s string) string {
	var b strings.Builder
	latin := strings.ContainsFunc(s, isLatin)
	for _, part := range words(s) {
		suspect := latin && imitates(part)
		for len(part) > 0 {
			r, size := utf8.DecodeRuneInString(part)
			switch {
			case r == utf8.RuneError && size == 1:
				fmt.Fprintf(&b, "[0x%02X]", part[0])
			case displaytext.Unseen(r), compatibility(r), suspect && lookalike(r):
				fmt.Fprintf(&b, "[U+%04X]", r)
			default:
				b.WriteRune(r)
			}
			part = part[size:]
		}
	}
	return b.String()
}

// words splits text into runs of letters and runs of everything else.
func words(s string) []string {
	var out []string
	start, letters := 0, false
	for i, r := range s {
		if is := unicode.IsLetter(r) || unicode.IsMark(r); is != letters {
			if i > start {
				out = append(out, s[start:i])
			}
			start, letters = i, is
		}
	}
	return append(out, s[start:])
}

// imitates reports whether a word could be read as a Latin one that it is not: it mixes Latin letters with lookalikes, or
// consists of lookalikes alone.
func imitates(word string) bool {
	latin, alike, other := 0, 0, 0
	for _, r := range word {
		switch {
		case isLatin(r):
			latin++
		case lookalike(r):
			alike++
		default:
			other++
		}
	}
	return alike > 0 && (latin > 0 || other == 0)
}

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) }

// lookalikes are the letters of Cyrillic, Greek and Armenian that common fonts draw like Latin ones (from the confusables of
// Unicode TR 39).
const lookalikes = "аеорсухіѕјһԁԛԝӏАВЕІКМНОРСТУХЅЈҺԌԚԜӀ" + "αινορυϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ" + "օսոցհԼՍՏՕ"

func lookalike(r rune) bool { return strings.ContainsRune(lookalikes, r) }

// compatibility reports whether a letter or digit is another form of a plain one, such as a mathematical bold A. Superscripts and
// the like in ordinary use (², ª, º, ™) stay.
func compatibility(r rune) bool {
	if r < 0x2000 || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return plain != string(r) && utf8.RuneCountInString(plain) == 1 && plain[0] < utf8.RuneSelf
}
