package openapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// hostileBodies are of the maximum size and have as many violations as possible.
func hostileBodies() map[string][2]string {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	var keys strings.Builder
	for i := range 10000 {
		keys.WriteString(`"k` + itoa(i) + `":0,`)
	}
	return map[string][2]string{
		"frames without ts": {"legacyIngest", `{"session_id":"s","frames":[` + many(87000, "{}") + `]}`},
		"frames of nulls":   {"legacyIngest", `{"session_id":"s","frames":[` + many(52000, "null") + `]}`},
		"numbers as text":   {"legacyAuth", `{"user_id":"u","reaction_times":[` + many(16000, `""`) + `],"keystroke_intervals":[]}`},
		"equal keys":        {"createEvaluation", `{"name":"n","action_keys":[` + many(21000, `""`) + `]}`},
		"unknown names":     {"authorize", `{` + keys.String() + `"z":0}`},
	}
}

func TestValidateBodyLimitsViolations(t *testing.T) {
	t.Parallel()
	for name, h := range hostileBodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := contract(t).ValidateBody(h[0], decode(t, h[1]))
			require.NotEmpty(t, got)
			require.LessOrEqual(t, len(got), 100)
		})
	}
}

// Trimming long lists does not change the reported violations.
func TestTrimKeepsTheFirstViolations(t *testing.T) {
	t.Parallel()
	body := example(t, "createAction")
	callers := []any{}
	want := []openapi.Violation{}
	for i := range 300 {
		if i%2 == 0 {
			callers = append(callers, "crd_x")
			continue
		}
		callers = append(callers, 1.0)
		if len(want) < 99 {
			want = append(want, openapi.Violation{Loc: []any{"body", "allowed_callers", i}, Msg: "allowed_callers[" + itoa(i) + "] must be a string", Type: "string_type"})
		}
	}
	body["allowed_callers"], body["a"] = callers, 1.0
	got := contract(t).ValidateBody("createAction", body)
	require.Len(t, got, 100)
	require.Equal(t, "extra_forbidden", got[0].Type)
	require.Equal(t, want, got[1:])
}

func TestValidateBodyAcceptsLongValidLists(t *testing.T) {
	t.Parallel()
	body := example(t, "createAction")
	body["allowed_callers"] = []any{}
	for range 1000 {
		body["allowed_callers"] = append(body["allowed_callers"].([]any), "crd_x")
	}
	require.Empty(t, contract(t).ValidateBody("createAction", body))
	body["surprise"] = true
	require.Len(t, contract(t).ValidateBody("createAction", body), 1)
}

func BenchmarkHostileBodies(b *testing.B) {
	c := contract(b)
	for name, h := range hostileBodies() {
		v := decode(b, h[1])
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.ValidateBody(h[0], v)
			}
		})
	}
}
