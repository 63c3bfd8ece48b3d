package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// For any JSON, validation ends, returns a limited number of violations, and is deterministic.
func FuzzValidateBody(f *testing.F) {
	c := contract(f)
	ops := []string{}
	for i, op := range c.Operations() {
		if op.BodySchema != "" {
			ops = append(ops, op.ID)
			f.Add(uint8(i), []byte(mustJSON(f, example(f, op.ID))))
		}
	}
	for _, s := range []string{`null`, `[]`, `"x"`, `{"requirements":{"claims":{"":[]}}}`, `{"actor":{"id":{}}}`, `{"frames":[[[]]]}`, `1e308`} {
		f.Add(uint8(0), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		id := ops[int(which)%len(ops)]
		got := c.ValidateBody(id, v)
		require.LessOrEqual(t, len(got), 100)
		require.Equal(t, got, c.ValidateBody(id, v))
		for _, fault := range got {
			require.Equal(t, "body", fault.Loc[0])
			require.NotEmpty(t, fault.Msg)
			require.NotEqual(t, "value_error", fault.Type, fault.Msg)
		}
	})
}
