// Package displaytext rejects characters that are unsafe in names and descriptions shown to people. A line break or a
// bidirectional control in the name of an organisation can change the meaning of a page, a mail or a log line (Unicode TR 36).
//
// It checks characters only; lengths are up to the caller.
package displaytext

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// FaultType is the type of the 422 detail for a forbidden character.
const FaultType = "control_character"

// Fault describes the first forbidden character of the text by its code point and its position in characters, counted from 0.
// It returns "" if every character is allowed.
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

// forbidden reports control characters, line and paragraph separators, and controls of text direction.
func forbidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Check returns nil for a text without faults, otherwise a validation error (422) that names the field of the body.
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
