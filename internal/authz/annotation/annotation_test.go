package annotation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
)

func TestFindReturnsKeywordsWithTheirPlace(t *testing.T) {
	t.Parallel()
	found, err := annotation.Find([]byte(`{"x-a": 1, "properties": {
		"payee": {"properties": {"a/b": {"x-a": 2}}},
		"default": {"x-a": 3},
		"x-a": {"type": "string"},
		"other": {"default": {"x-a": "a value"}}
	}}`), "x-a")
	require.NoError(t, err)
	require.Equal(t, []annotation.Found{
		{Value: 1.0, Place: "/x-a", Path: nil},
		{Value: 3.0, Place: "/properties/default/x-a", Path: []string{"default"}},
		{Value: 2.0, Place: "/properties/payee/properties/a~1b/x-a", Path: []string{"payee", "a/b"}},
	}, found)
}

func TestFindRefusesAKeywordThatWouldHaveNoEffect(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"in items":       `{"properties": {"list": {"items": {"x-a": true}}}}`,
		"in definitions": `{"$defs": {"money": {"x-a": true}}, "properties": {"m": {"$ref": "#/$defs/money"}}}`,
		"in allOf":       `{"allOf": [{"properties": {"m": {"x-a": true}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := annotation.Find([]byte(schema), "x-a")
			var fault *annotation.Fault
			require.ErrorAs(t, err, &fault)
			require.Contains(t, fault.Error(), "x-a is read on the schema itself and on properties of objects")
		})
	}
}
