package jsonappend_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/jsonappend"
)

// TestAppendsAsEncodingJSON compares each function with encoding/json.
func TestAppendsAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.SampledFrom([]string{"", "<", "\xff", "\u2028", "\x00\x7f"})).Draw(t, "text")
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		integer := rapid.Int64().Draw(t, "integer")
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9.9e-7, 1e21, 1e20, 12.5})).Draw(t, "number")
		equal(t, text, jsonappend.Text(nil, "", text))
		equal(t, &text, jsonappend.OptionalText(nil, "", &text))
		equal(t, list, jsonappend.Texts(nil, "", list))
		equal(t, integer, jsonappend.Integer(nil, "", integer))
		equal(t, &integer, jsonappend.OptionalInteger(nil, "", &integer))
		found, ok := jsonappend.Number(nil, "", number)
		require.True(t, ok)
		equal(t, number, found)
	})
	equal(t, nil, jsonappend.OptionalText(nil, "", nil))
	equal(t, nil, jsonappend.OptionalInteger(nil, "", nil))
	equal(t, nil, jsonappend.Texts[string](nil, "", nil))
	equal(t, true, jsonappend.Bool(nil, "", true))
	_, ok := jsonappend.Number(nil, "", math.NaN())
	require.False(t, ok)
	require.Equal(t, `{"a":"b","c":1`, string(jsonappend.Integer(jsonappend.Text(nil, `{"a":`, "b"), `,"c":`, 1)))
}

func equal(t require.TestingT, want any, found []byte) {
	encoded, err := json.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, string(encoded), string(found))
}
