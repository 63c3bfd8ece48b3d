package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidationListsEveryFault(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.Server.post(t, "/api/v1/actions", object{
		"key": "Not.A.Key", "name": "", "consequence": strings.Repeat("x", 501), "allowed_audiences": []string{}, "proof_ttl_seconds": 29, "extra": 1,
	})
	for _, field := range []string{"key", "name", "consequence", "allowed_audiences", "proof_ttl_seconds", "extra"} {
		require.Regexp(t, `\["body","`+field+`"`, strings.Join(a.faults(), "\n"))
	}
	require.Empty(t, w.Server.get(t, "/api/v1/actions").is(200).list())
}

func TestRequestBodyRejectsMalformedJSON(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"nothing":       {"", 422, ""},
		"half":          {`{"id": "a`, 400, "malformed_json"},
		"trailing":      {`{"id": "a"} {}`, 400, "malformed_json"},
		"an array":      {`[]`, 422, ""},
		"twice":         {`{"id": "a", "id": "b"}`, 422, ""},
		"another case":  {`{"ID": "a"}`, 422, ""},
		"null":          {`{"id": null}`, 422, ""},
		"NUL":           {`{"id": "a\u0000"}`, 422, ""},
		"unknown field": {`{"id": "a", "admin": true}`, 422, ""},
		"deep":          {strings.Repeat(`[`, 10_000), 400, "malformed_json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "nothing" || name == "deep" {
				// Several statuses are valid: nesting may be refused for its depth or its size.
				a := w.Server.post(t, "/api/v1/authorize", []byte(c.body))
				require.Contains(t, []int{400, 413, 422}, a.status, "response: %s", a.body)
				return
			}
			a := w.Server.post(t, "/api/v1/subjects", []byte(c.body)).is(c.status)
			if c.code != "" {
				a.problem(c.status, c.code)
			} else {
				require.NotEmpty(t, a.faults())
			}
		})
	}
	require.Empty(t, w.Server.get(t, "/api/v1/subjects").is(200).list(), "nothing was created")
	w.Server.with("Content-Type", "text/plain").post(t, "/api/v1/subjects", []byte(`{"id": "a"}`)).problem(415, "unsupported_media_type")
}

// JSON has one kind of number: a number with an integral value is an integer in the contract, in any notation.
func TestRequestBodyAcceptsAnyIntegerNotation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for i, number := range []string{"60", "60.0", "6e1", "0.6E+2", "600e-1"} {
		body := fmt.Sprintf(`{"key":"pay.k%d","name":"n","consequence":"c","allowed_audiences":["a"],"proof_ttl_seconds":%s}`, i, number)
		a := w.Server.post(t, "/api/v1/actions", []byte(body)).is(201)
		require.InDelta(t, 60, a.value("proof_ttl_seconds"), 0, number)
	}
	body := `{"key":"pay.half","name":"n","consequence":"c","allowed_audiences":["a"],"proof_ttl_seconds":60.5}`
	require.Equal(t, []string{`["body","proof_ttl_seconds"] int_from_float`}, w.Server.post(t, "/api/v1/actions", []byte(body)).faults())

	_, action := w.action(t, "enforce", allowing)
	ask := fmt.Sprintf(`{"subject":%q,"action":%q,"resource":{"type":"resource","id":"1"},"audience":%q,"requested_at":%d.0,
		"nonce":"0123456789abcdef","idempotency_key":"once-only","context":{"amount":1.0}}`, w.subject(t), action, audience, now())
	require.Equal(t, "allow", w.Server.post(t, "/api/v1/authorize", []byte(ask)).is(200).string("decision"))
}
