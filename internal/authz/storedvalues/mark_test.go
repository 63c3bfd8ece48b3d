package storedvalues_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
)

// What is marked can be parsed again, and is kept once.
func TestMark(t *testing.T) {
	t.Parallel()
	const schema = `{"properties":{"amount":{"type":"number","maximum":1e30},"tags":{"type":"array"},"payee":{"type":"object","properties":{"name":{"type":"string","x-countersign-keep":true},"iban":{"type":"string"}}}}}`
	for name, c := range map[string]struct {
		paths    [][]string
		resource bool
		want     string
	}{
		"nothing":        {nil, false, schema},
		"a property":     {[][]string{{"amount"}, {"amount"}}, false, `{"properties":{"amount":{"type":"number","maximum":1e30,"x-countersign-keep":true},"tags":{"type":"array"},"payee":{"type":"object","properties":{"name":{"type":"string","x-countersign-keep":true},"iban":{"type":"string"}}}}}`},
		"a whole object": {[][]string{{"payee"}, {"payee", "iban"}}, false, `{"properties":{"amount":{"type":"number","maximum":1e30},"tags":{"type":"array"},"payee":{"type":"object","x-countersign-keep":true,"properties":{"name":{"type":"string"},"iban":{"type":"string"}}}}}`},
		"part of a list": {[][]string{{"tags", "0"}}, false, `{"properties":{"amount":{"type":"number","maximum":1e30},"tags":{"type":"array","x-countersign-keep":true},"payee":{"type":"object","properties":{"name":{"type":"string","x-countersign-keep":true},"iban":{"type":"string"}}}}}`},
		"the resource":   {[][]string{{"unknown"}, {}}, true, `{"x-countersign-keep":true,"properties":{"amount":{"type":"number","maximum":1e30},"tags":{"type":"array"},"payee":{"type":"object","properties":{"name":{"type":"string","x-countersign-keep":true},"iban":{"type":"string"}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := storedvalues.Mark([]byte(schema), c.paths, c.resource)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
			_, err = storedvalues.Parse(got)
			require.NoError(t, err)
		})
	}
	_, err := storedvalues.Mark([]byte("{"), nil, false)
	require.Error(t, err)
}
