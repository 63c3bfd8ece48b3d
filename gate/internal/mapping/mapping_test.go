package mapping_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

func TestReadsAreKnownBeforeARequest(t *testing.T) {
	t.Parallel()
	m, err := mapping.Compile(mapping.Request, mapping.Expressions{ResourceID: "request.params.id", Context: map[string]string{
		"amount": "request.body.amount", "to": "request.query['to']", "agent": "has(request.headers.Agent) ? request.headers.Agent : 'none'",
		"strong": "'mfa' in token.amr", "who": "principal.subject",
	}})
	require.NoError(t, err)
	require.Equal(t, mapping.Reads{Query: []string{"to"}, Headers: []string{"agent"}, Params: []string{"id"}, Body: true, Token: true, Facts: true}, m.Reads)
	for _, text := range []string{"request.query[request.path]", "request", "request.querys.a", "request.headers.map(h, h)", "token", "principal.name",
		"'a' in request.query ? request.query : request.query", "amount", "1 +"} {
		_, err := mapping.Compile(mapping.Request, mapping.Expressions{ResourceID: text})
		require.Error(t, err, text)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	m, err := mapping.Compile(mapping.Request, mapping.Expressions{ResourceID: "request.params.id", Context: map[string]string{
		"amount": "request.body.amount", "to": "request.query.to"}})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		query, kind, body, want string // part of the error; empty: accepted
	}{
		"plain":               {"to=eve", "application/json", `{"amount": 12.5}`, ""},
		"charset":             {"a=1&to=eve", "application/json; charset=UTF-8", `{"amount": 12.5}`, ""},
		"missing parameter":   {"", "application/json", `{"amount": 12.5}`, "context.to"},
		"missing member":      {"to=eve", "application/json", `{}`, "context.amount"},
		"parameter twice":     {"to=eve&to=bob", "application/json", `{"amount": 12.5}`, "to must be there once"},
		"array spelling":      {"to=eve&to[]=bob", "application/json", `{"amount": 12.5}`, "to must be there once"},
		"other case":          {"to=eve&TO=bob", "application/json", `{"amount": 12.5}`, "to must be there once"},
		"encoded spelling":    {"to=eve&%74o=bob", "application/json", `{"amount": 12.5}`, "to must be there once"},
		"semicolon":           {"to=eve;to=bob", "application/json", `{"amount": 12.5}`, "semicolon"},
		"bad escape":          {"to=eve&%t=1", "application/json", `{"amount": 12.5}`, "percent-encoding"},
		"member twice":        {"to=eve", "application/json", `{"amount": 12.5, "amount": 99}`, "twice"},
		"form":                {"to=eve", "application/x-www-form-urlencoded", `amount=1`, "application/json"},
		"other charset":       {"to=eve", "application/json; charset=utf-16", `{"amount": 12.5}`, "application/json"},
		"number out of range": {"to=eve", "application/json", `{"amount": 1e999}`, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := request.Parse(request.Raw{Method: "POST", Target: "/p?" + c.query, Host: "a", Header: http.Header{"Content-Type": {c.kind}}, Rewritten: true, Removes: true})
			require.NoError(t, err)
			r.Body = request.Body{Text: []byte(c.body), Whole: true}
			values, err := m.Values(t.Context(), r, mapping.Input{Params: map[string]string{"id": "4711"}})
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "4711", values.ResourceID)
			require.Equal(t, map[string]any{"amount": 12.5, "to": "eve"}, values.Context)
		})
	}
}
