// Package displaytext checks names and descriptions that people are shown. A line break or a control of direction in the
// name of an organisation can make a page, a mail or a log line say something else than was meant. It judges characters
// only: lengths are the caller's.
package displaytext

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// FaultType is the type of the 422 detail of a text with a character that it must not have.
const FaultType = "control_character"

// Fault says which character of the text is not allowed, by its number and its position counted from 0; empty if none is.
func Fault(text string) string {
	position := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Sprintf("byte 0x%02X at position %d, which is not UTF-8", text[0], position)
		case forbidden(r):
			return fmt.Sprintf("U+%04X at position %d", r, position)
		}
		text, position = text[size:], position+1
	}
	return ""
}

// forbidden are control characters, line and paragraph separators, and what changes the direction of text.
func forbidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Check is nil for a text without faults; otherwise a 422 that names the field of the body.
func Check(field, text string) error {
	fault := Fault(text)
	if fault == "" {
		return nil
	}
	e := problem.Invalid([]any{"body", field},
		field+" must not contain control characters, line breaks or controls of text direction; found "+fault+".", FaultType)
	e.Detail = e.Fields[0].Msg // what the command line shows
	return e
}
