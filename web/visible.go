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

// Part is a stretch of text from outside: either text that can be shown as it is, or the number of a character that would
// change how the rest is read without being seen itself.
type Part struct {
	Text string `json:"text,omitempty"`
	Mark string `json:"mark,omitempty"` // such as U+202E, or 0xFF for a byte that is no UTF-8
}

// Parts takes text from outside apart. Bidirectional controls, zero-width characters, control characters, private and
// unassigned ones become marks. Visible and the pages' scripts show the parts.
func Parts(text string) []Part {
	parts := []Part{}
	var plain strings.Builder
	mark := func(number string) {
		if plain.Len() > 0 {
			parts = append(parts, Part{Text: plain.String()})
			plain.Reset()
		}
		parts = append(parts, Part{Mark: number})
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			mark(fmt.Sprintf("0x%02X", text[0]))
		case unseen(r):
			mark(fmt.Sprintf("U+%04X", r))
		default:
			plain.WriteRune(r)
		}
		text = text[size:]
	}
	if plain.Len() > 0 {
		parts = append(parts, Part{Text: plain.String()})
	}
	return parts
}

// Visible is text from outside as HTML: escaped, with its marks (Parts) as elements, so that no text can imitate them. The
// whole stands in a bdi element, so that its direction does not leak into what surrounds it.
func Visible(text string) template.HTML {
	var b strings.Builder
	b.WriteString("<bdi>")
	for _, p := range Parts(text) {
		if p.Mark != "" {
			b.WriteString(`<span class="mark" title="a character that cannot be seen">` + p.Mark + `</span>`)
		} else {
			b.WriteString(html.EscapeString(p.Text))
		}
	}
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // every character went through EscapeString or is a number
}

// Plain is text from outside where no markup can stand, such as a window's title: a mark is its number in brackets.
func Plain(text string) string {
	var b strings.Builder
	for _, p := range Parts(text) {
		if p.Mark != "" {
			b.WriteString("[" + p.Mark + "]")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func unseen(r rune) bool {
	return hidden[r] || !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r) && r != 0xFE0F
}
