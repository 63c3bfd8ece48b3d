package web

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden are letters and marks that show nothing where they stand, though Unicode does not file them as format characters.
var hidden = map[rune]bool{
	0x034F: true, 0x115F: true, 0x1160: true, 0x17B4: true, 0x17B5: true, 0x180B: true, 0x180C: true, 0x180D: true, 0x180F: true,
	0x2800: true, 0x3164: true, 0xFFA0: true, 0xFFFC: true, 0xFFFD: true,
}

// Visible is text from outside as HTML: escaped, and with every character that would change how the rest is read without
// being seen itself (bidirectional controls, zero-width characters, control characters, private and unassigned ones) shown
// as a mark with its number. The mark is an element, so that no text can imitate it; the whole stands in a bdi element, so
// that its direction does not leak into what surrounds it.
func Visible(text string) template.HTML {
	var b strings.Builder
	b.WriteString("<bdi>")
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			mark(&b, fmt.Sprintf("0x%02X", text[0]))
		case unseen(r):
			mark(&b, fmt.Sprintf("U+%04X", r))
		default:
			b.WriteString(html.EscapeString(string(r)))
		}
		text = text[size:]
	}
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // every character went through EscapeString or is a number
}

func mark(b *strings.Builder, number string) {
	b.WriteString(`<span class="mark" title="a character that cannot be seen">` + number + `</span>`)
}

func unseen(r rune) bool {
	return hidden[r] || !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r) && r != 0xFE0F
}
