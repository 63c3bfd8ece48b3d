package integration_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/models"
)

func TestEveryFaultOfABodyIsNamedAtOnce(t *testing.T) {
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

func TestBodiesThatAreNoContract(t *testing.T) {
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
				// Not held to one status: an empty body is no subject id, and nesting may be refused as either fault.
				a := w.Server.post(t, "/api/v1/authorize", []byte(c.body))
				require.Contains(t, []int{400, 413, 422}, a.status, "answered: %s", a.body)
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
	require.Empty(t, w.Server.get(t, "/api/v1/subjects").is(200).list(), "nothing was made")
	w.Server.with("Content-Type", "text/plain").post(t, "/api/v1/subjects", []byte(`{"id": "a"}`)).problem(415, "unsupported_media_type")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Server.get(t, "/api/v1/nothing").problem(404, "not_found")
	a := w.Server.delete(t, "/api/v1/authorize").problem(405, "method_not_allowed")
	require.Contains(t, a.header.Get("Allow"), "POST")
}

// kinds of credential that the walk tries on every route.
const (
	none, malformed, revoked   = "none", "malformed", "revoked"
	publishable, server, admin = "publishable", "server", "admin"
)

var parameter = regexp.MustCompile(`\{[a-z_]+\}`)

// concrete is the operation's path with ids that are nobody's.
func concrete(op openapi.Operation) string {
	return parameter.ReplaceAllStringFunc(op.Path, func(name string) string {
		if name == "{version}" {
			return "1"
		}
		return "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"
	})
}

func TestEveryRouteWithEveryKindOfCredential(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	gone := w.issue(t, models.ScopeServer, nil)
	w.Admin.delete(t, "/api/v1/credentials/"+w.issued[models.ScopeServer].ID).is(204)
	callers := map[string]caller{
		none: {base: shared.baseURL}, malformed: {base: shared.baseURL, key: "sk_test_nonsense"}, revoked: {base: shared.baseURL, key: gone},
		publishable: w.Publishable, server: w.Server, admin: w.Admin,
	}
	for _, op := range operations() {
		if op.ID == "streamEvents" {
			continue // does not end by itself; it has tests of its own
		}
		for kind, c := range callers {
			t.Run(op.ID+"/"+kind, func(t *testing.T) {
				t.Parallel()
				a := c.do(t, op.Method, concrete(op), nil)
				switch want := expected(op, kind); want {
				case 0:
					require.NotContains(t, []int{401, 403, 500, 503}, a.status, "answered: %s", a.body)
				case 401:
					a.problem(401, "unauthenticated")
					require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
				default:
					a.problem(403, "insufficient_scope")
				}
			})
		}
	}
}

// expected is the refusal that a kind of credential gets at an operation; 0 where it is let in.
func expected(op openapi.Operation, kind string) int {
	if op.Scope == "none" {
		return 0
	}
	switch kind {
	case none, malformed, revoked:
		return 401
	case publishable:
		for _, s := range op.Security {
			if s == "publishableKey" {
				return 0
			}
		}
		return 403
	case server:
		if op.Scope == "admin" {
			return 403
		}
	}
	return 0
}

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// withoutID leaves out the one thing that differs between any two answers.
func withoutID(body []byte) string { return requestID.ReplaceAllString(string(body), "") }

func TestQuotaIsShownAndKept(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	limit := 5
	c := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, &limit)}
	for range limit {
		a := c.get(t, "/api/v1/credential").is(200)
		for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			require.NotEmpty(t, a.header.Get(name), name)
		}
	}
	refused := c.get(t, "/api/v1/credential").problem(http.StatusTooManyRequests, "rate_limited")
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	w.Server.get(t, "/api/v1/credential").is(200)
}
