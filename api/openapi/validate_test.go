package openapi_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

var compiled = sync.OnceValues(openapi.Compile)

func contract(t testing.TB) *openapi.Contract {
	t.Helper()
	c, err := compiled()
	require.NoError(t, err)
	return c
}

func decode(t testing.TB, s string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(s), &v), s)
	return v
}

const authorizeBody = `{"subject":"user-4711","action":"payments.transfer","resource":{"type":"account","id":"acc-20931"},
	"audience":"payments-api","requested_at":1795253400,"nonce":"3q2-7wEjRWc1_9aKpQmX","idempotency_key":"transfer-8812-1",
	"actor":{"id":"user-4711","type":"human"},"context":{"amount":250,"currency":"EUR"},"session":null,"mandate_ref":null}`

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	got := contract(t).ValidateBody("authorize", decode(t, `{"subject":7,"action":"`+strings.Repeat("a", 129)+`",
		"resource":{"type":"","id":null,"kind":"x"},"audience":"a","requested_at":1.5,"nonce":"short","extra":1,
		"actor":{"type":"agent"},"context":[],"mandate_ref":"m"}`))
	require.Equal(t, []openapi.Violation{
		{Loc: []any{"body", "action"}, Msg: "action must have at most 128 characters", Type: "string_too_long"},
		{Loc: []any{"body", "actor", "id"}, Msg: "actor.id is required", Type: "missing"},
		{Loc: []any{"body", "actor", "type"}, Msg: "actor.type must be human", Type: "literal_error"},
		{Loc: []any{"body", "context"}, Msg: "context must be an object", Type: "dict_type"},
		{Loc: []any{"body", "extra"}, Msg: "extra is not a property of the body", Type: "extra_forbidden"},
		{Loc: []any{"body", "idempotency_key"}, Msg: "idempotency_key is required", Type: "missing"},
		{Loc: []any{"body", "mandate_ref"}, Msg: "mandate_ref must be null", Type: "none_required"},
		{Loc: []any{"body", "nonce"}, Msg: "nonce must have at least 16 characters", Type: "string_too_short"},
		{Loc: []any{"body", "requested_at"}, Msg: "requested_at must be an integer, not a fraction", Type: "int_from_float"},
		{Loc: []any{"body", "resource", "id"}, Msg: "resource.id must be a string, not null", Type: "string_type"},
		{Loc: []any{"body", "resource", "kind"}, Msg: "resource.kind is not a property of resource", Type: "extra_forbidden"},
		{Loc: []any{"body", "resource", "type"}, Msg: "resource.type must have at least 1 character", Type: "string_too_short"},
		{Loc: []any{"body", "subject"}, Msg: "subject must be a string", Type: "string_type"},
	}, got)
}

func BenchmarkAuthorizeBody(b *testing.B) {
	c := contract(b)
	v := decode(b, authorizeBody)
	b.ReportAllocs()
	for b.Loop() {
		if got := c.ValidateBody("authorize", v); got != nil {
			b.Fatal(got)
		}
	}
}
