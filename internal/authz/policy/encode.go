package policy

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/jsonappend"
)

// usualSize is the size of an encoded explanation that needs no more memory.
const usualSize = 2 << 10

// EncodeExplanation returns the results exactly as encoding/json encodes them. A follow-up decision and a reviewer read them from the
// stored decision.
func EncodeExplanation(results []RequirementResult) []byte {
	if results == nil {
		return []byte("null")
	}
	var some [usualSize]byte
	b := append(some[:0], '[')
	for i, r := range results {
		b = jsonappend.Text(append(b, jsonappend.Separator(i)...), `{"requirement":`, r.Requirement)
		b = jsonappend.Text(b, `,"wanted":`, r.Wanted)
		b = jsonappend.Text(b, `,"found":`, r.Found)
		b = jsonappend.Bool(b, `,"passed":`, r.Passed)
		b = jsonappend.Text(b, `,"effect":`, string(r.Effect))
		if r.CompensatedBy != "" {
			b = jsonappend.Text(b, `,"compensated_by":`, r.CompensatedBy)
		}
		b = append(appendShown(b, r.Shown), '}')
	}
	return slices.Clone(append(b, ']')) // of its exact size, from the stack
}

// appendShown appends the details that a rule read, whose values are empty if they are not stored.
func appendShown(b []byte, shown []ShownValue) []byte {
	if len(shown) == 0 {
		return b
	}
	b = append(b, `,"shown":[`...)
	for i, v := range shown {
		b = jsonappend.Text(append(b, jsonappend.Separator(i)...), `{"label":`, v.Label)
		if v.Value != "" {
			b = jsonappend.Text(b, `,"value":`, v.Value)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
