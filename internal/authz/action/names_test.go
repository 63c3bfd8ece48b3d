package action

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// A name of the free-form context is refused only if the schema declares it in another case, at the same place.
func TestContextNamesAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"properties": {"amount": {}, "key": {}, "payee": {"properties": {"name": {}}}}, "allOf": [{"properties": {"mask": {}}}],
		"patternProperties": {"^x-": {"properties": {"id": {}}}}, "additionalProperties": {"items": {"properties": {"sum": {}}}}}`
	for context, mistaken := range map[string]bool{
		`{"amount": 1, "other": 2, "OTHER": 3}`: false, `{"payee": {"amount": 1, "Amount": 2}}`: false, `{"amount": {"AMOUNT": 1}}`: false, `{}`: false,
		`{"amount": 1, "Amount": 2}`: true, `{"AMOUNT": 2}`: true, `{"\u212aey": 1}`: true, `{"maſk": 1}`: true, `{"payee": {"Name": 1}}`: true,
		`{"x-a": {"ID": 1}}`: true, `{"rows": [{"sum": 1}, {"Sum": 1}]}`: true,
	} {
		found := compiled(t, schema).faults(decoded(t, context))
		if !mistaken {
			require.Empty(t, found, context)
			continue
		}
		require.Len(t, found, 1, context)
		require.Equal(t, strictjson.TypeAmbiguousKey, found[0].Type, context)
	}
}
