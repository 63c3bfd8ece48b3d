// Package displaytext decides which characters may stand in a text that people read, by UTS 39: a setting with any other is refused
// (Check), and in a value of a request it is shown by its number (Readable). A line break or a control of direction in the name of an
// organisation can change the meaning of a page, a mail or a log line; a letter of another script can make it the name of someone else.
//
// It checks characters only; lengths are up to the caller.
package displaytext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// FaultType is the type of the 422 detail for a forbidden character.
const FaultType = "control_character"

// Fault describes the first forbidden character of the text by its code point and its position in characters, counted from 0.
// It returns "" if every character is allowed.
func Fault(text string) string {
	shapes, mixed, whole := Shaping(text), mixedWords(text), survey(text)
	position, marks := 0, 0
	for i, r := range text {
		marks = stacked(r, marks)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			return fmt.Sprintf("byte 0x%02X at position %d, which is not UTF-8", text[i], position)
		case unseen(r) && r != utf8.RuneError && !shapes[i], marks > maxMarks, rare(r), mixed[i], whole.misread(r):
			return fmt.Sprintf("U+%04X at position %d", r, position) + right(r, mixed[i] || whole.misread(r))
		}
		position++
	}
	return ""
}

// right says as what a character is misread, and what to write.
func right(r rune, misread bool) string {
	form := formOf(r)
	switch {
	case !misread:
		return ""
	case form == "":
		return fmt.Sprintf(" (%c), which does not belong to the letters beside it", r)
	default:
		return fmt.Sprintf(" (%c), which is read as %s: write %s", r, form, form)
	}
}

// mixedWords returns the places of letters of other scripts in words with Latin letters: those that look like Latin ones, and those of scripts
// that are not mixed with Latin letters.
func mixedWords(text string) map[int]bool {
	out := map[int]bool{}
	for _, w := range words(text) {
		if !strings.ContainsFunc(w.text, isLatin) {
			continue
		}
		for i, r := range w.text {
			if alike(r) || mixes(r) {
				out[w.at+i] = true
			}
		}
	}
	return out
}

// CheckAll is Check for the items of a list.
func CheckAll(field string, items []string) error {
	for i, text := range items {
		if fault := Fault(text); fault != "" {
			return problem.Invalid([]any{"body", field, i}, message(field, fault), FaultType)
		}
	}
	return nil
}

func message(field, fault string) string {
	return field + " must not contain control characters, line breaks, controls of text direction or characters that are easily misread; found " + fault + "."
}

// CheckLines is Check for a text of several lines, which LF or CRLF ends.
func CheckLines(field, text string) error {
	for line := range strings.Lines(text) {
		if err := Check(field, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")); err != nil {
			return err
		}
	}
	return nil
}

// Check returns nil for a text without faults, otherwise a validation error (422) that names the field of the body.
func Check(field, text string) error {
	fault := Fault(text)
	if fault == "" {
		return nil
	}
	e := problem.Invalid([]any{"body", field}, message(field, fault), FaultType)
	e.Detail = e.Fields[0].Msg // what the command line shows
	return e
}
