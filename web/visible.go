package web

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

// hidden lists letters and marks that render as nothing although Unicode does not classify them as format characters.
var hidden = map[rune]bool{
	0x034F: true, 0x115F: true, 0x1160: true, 0x17B4: true, 0x17B5: true, 0x180B: true, 0x180C: true, 0x180D: true, 0x180F: true,
	0x2800: true, 0x3164: true, 0xFFA0: true, 0xFFFC: true, 0xFFFD: true,
}

// Part is a part of external text: either text that is safe to display, or the code point of an invisible character that
// could change how the rest is read.
type Part struct {
	Text string `json:"text,omitempty"`
	Mark string `json:"mark,omitempty"` // such as U+202E, or 0xFF for a byte that is not UTF-8
}

// Parts splits external text. Bidirectional controls, zero-width characters, control characters, and private or unassigned
// code points become marks, but for joiners where a script or an emoji needs them to have its form. Visible and the pages' scripts render the parts.
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
	shapes := displaytext.Shaping(text)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			mark(fmt.Sprintf("0x%02X", text[at]))
		case unseen(r) && !shapes[at]:
			mark(fmt.Sprintf("U+%04X", r))
		default:
			plain.WriteRune(r)
		}
		at += size
	}
	if plain.Len() > 0 {
		parts = append(parts, Part{Text: plain.String()})
	}
	return parts
}

// Visible renders external text as HTML. The text is escaped and its marks (Parts) are elements, which no text can imitate.
// A bdi element around it keeps its direction from affecting the surrounding text.
func Visible(text string) template.HTML {
	var b strings.Builder
	b.WriteString("<bdi>")
	for _, p := range Parts(text) {
		if p.Mark != "" {
			b.WriteString(`<span class="mark" title="invisible character">` + p.Mark + `</span>`)
		} else {
			b.WriteString(html.EscapeString(p.Text))
		}
	}
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // every character is escaped or part of a code point
}

// Plain renders external text for places without markup, such as the title of a window. Marks are in brackets.
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
