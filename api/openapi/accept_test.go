package openapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The accepter and the validator agree on randomly changed examples, and the accepter accepts the valid ones itself.
func TestAccepterAgreesWithValidator(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	doc, err := parse(Document())
	require.NoError(t, err)
	for _, o := range c.Operations() {
		op := c.byID[o.ID]
		if op.body == nil {
			continue
		}
		node := child(child(child(doc, "paths"), op.Path), strings.ToLower(op.Method))
		seed := child(child(child(node, "requestBody"), "content"), "application/json")["example"]
		t.Run(o.ID, func(t *testing.T) {
			t.Parallel()
			require.True(t, op.fast.accept(copied(t, seed)), "the example itself must go the fast way")
			rapid.Check(t, func(t *rapid.T) {
				v := mutate(t, copied(t, seed), 0)
				err := op.body.Validate(v)
				misspelt := op.fast.spelling(v, nil, nil) // which only matters in open objects, and only to the accepter
				if got := op.fast.accept(v); got != (err == nil && len(misspelt) == 0) && !repeats(v) {
					t.Fatalf("accepter says %v, validator says %v, misspelt are %v of %s", got, err, misspelt, mustMarshal(v))
				}
			})
		})
	}
}

// repeats reports whether there is a list of two or more items, which with uniqueItems only the validator checks.
func repeats(v any) bool {
	m, _ := v.(map[string]any)
	for _, field := range []string{"action_keys", "permissions"} {
		if list, _ := m[field].([]any); len(list) > 1 {
			return true
		}
	}
	return false
}

func TestAccepterCountsCharacters(t *testing.T) {
	t.Parallel()
	two, three := 2, 3
	a := &accepter{types: isString, minLength: two, maxLength: three}
	for s, want := range map[string]bool{"é": false, "éé": true, "ééé": true, "éééé": false, "😀😀😀": true, "a": false} {
		require.Equal(t, want, a.accept(s), s)
	}
}

func copied(t require.TestingT, v any) any {
	var out any
	require.NoError(t, json.Unmarshal([]byte(mustMarshal(v)), &out))
	return out
}

func mustMarshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

var scalars = []any{
	nil, true, false, "", "a", "human", "agent", "passkey", "https://a.example/x", "2026-11-21T09:30:00Z", "0123456789abcdef", "é", "😀", "a b", "*",
	0.0, 1.0, -1.0, 0.5, 30.0, 900.0, 901.0, 1e6, 1e15, 1.5, []any{}, []any{"a"}, []any{1.0}, []any{nil}, map[string]any{}, map[string]any{"a": "b"},
}

// mutate changes, adds or removes values somewhere in v, or leaves it as it is.
func mutate(t *rapid.T, v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedNames(v) {
			switch rapid.IntRange(0, 9).Draw(t, k) {
			case 0:
				delete(v, k)
			case 1:
				v[k] = scalar(t)
			case 2, 3:
				v[k] = mutate(t, v[k], depth+1)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "add") == 0 {
			v[rapid.SampledFrom([]string{"id", "type", "context", "note", "reason", "x", "Subject", ""}).Draw(t, "name")] = scalar(t)
		}
		return v
	case []any:
		if rapid.Bool().Draw(t, "append") {
			return append(v, scalar(t))
		}
		return v
	}
	if rapid.IntRange(0, 2).Draw(t, "replace") == 0 {
		return scalar(t)
	}
	return v
}

func scalar(t *rapid.T) any {
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		return rapid.StringN(0, 130, -1).Draw(t, "text")
	}
	return copied(t, rapid.SampledFrom(scalars).Draw(t, "value"))
}

func sortedNames(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
