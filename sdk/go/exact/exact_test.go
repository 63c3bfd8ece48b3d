package exact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want string // part of the error; empty: accepted
	}{
		"object":             {`{"a": [1, 2.5, -1e3, 0.0, null, true, "x"], "b": {"a": 1}}`, ""},
		"surrogate pair":     {`{"a": "\ud83d\ude00 \\ud800"}`, ""},
		"member twice":       {`{"a": 1, "a": 2}`, "twice"},
		"two spellings":      {`{"amount": 1, "AMOUNT": 2}`, "two spellings"},
		"long s":             {`{"sum": 1, "ſum": 2}`, "two spellings"},
		"escaped name":       {`{"a": 1, "\u0061": 2}`, "twice"},
		"nested":             {`{"x": [{"a": 1, "A": 2}]}`, "two spellings"},
		"large integer":      {`{"a": 9007199254740993}`, "too large"},
		"tiny number":        {`{"a": 1e-400}`, "too large"},
		"unpaired high":      {`{"a": "\ud800"}`, "not one JSON value"},
		"unpaired low":       {`{"a": "\udc00x"}`, "not one JSON value"},
		"high then text":     {`{"a": "\ud800x\udc00"}`, "not one JSON value"},
		"not UTF-8":          {"{\"a\": \"\xff\"}", "not one JSON value"},
		"byte order mark":    {"\ufeff{}", "not one JSON value"},
		"two values":         {`{} {}`, "not one JSON value"},
		"trailing comma":     {`{"a": 1,}`, "not one JSON value"},
		"comment":            {`{"a": 1} // x`, "not one JSON value"},
		"empty":              {``, "not one JSON value"},
		"deeper than levels": {strings.Repeat("[", 200) + strings.Repeat("]", 200), "not one JSON value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := exact.Check([]byte(c.text))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
