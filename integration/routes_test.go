package integration_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/models"
)

// The kinds of credential that are tried on every route.
const (
	none, malformed, revoked   = "none", "malformed", "revoked"
	publishable, server, admin = "publishable", "server", "admin"
)

var parameter = regexp.MustCompile(`\{[a-z_]+\}`)

// concrete returns the operation's path with ids that do not exist.
func concrete(op openapi.Operation) string {
	return parameter.ReplaceAllStringFunc(op.Path, func(name string) string {
		switch name {
		case "{version}":
			return "1"
		case "{destination_name}":
			return "unknown"
		}
		return "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"
	})
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Server.get(t, "/api/v1/nothing").problem(404, "not_found")
	a := w.Server.delete(t, "/api/v1/authorize").problem(405, "method_not_allowed")
	require.Contains(t, a.header.Get("Allow"), "POST")
}

func TestEveryRouteChecksCredentials(t *testing.T) {
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
			continue // has no end; it has tests of its own
		}
		for kind, c := range callers {
			t.Run(op.ID+"/"+kind, func(t *testing.T) {
				t.Parallel()
				a := c.do(t, op.Method, concrete(op), nil)
				switch want := expected(op, kind); want {
				case 0:
					require.NotContains(t, []int{401, 403, 500, 503}, a.status, "response: %s", a.body)
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

// expected returns the status with which an operation refuses a kind of credential, or 0 if it accepts it.
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

// withoutID removes the request id, which differs between any two responses.
func withoutID(body []byte) string { return requestID.ReplaceAllString(string(body), "") }

// HEAD returns what GET would, without the body (RFC 9110, section 9.3.2).
func TestHeadIsGetWithoutTheBody(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	for path, status := range map[string]int{
		"/api/v1/credential": 200, "/api/v1/subjects/" + subject: 200, "/api/v1/subjects/nobody": 404, "/api/v1/authorizations?limit=1": 200, "/api/v1/meta": 200,
		"/.well-known/authzen-configuration": 200, "/api/v1/authorizations?limit=0": 422, "/api/v1/authorize": 405, "/api/v1/events/stream": 405,
	} {
		got := w.Server.do(t, http.MethodHead, path, nil)
		require.Equal(t, status, got.status, path)
		require.Empty(t, got.body, path)
	}
	require.Equal(t, 401, caller{base: shared.baseURL}.do(t, http.MethodHead, "/api/v1/credential", nil).status)
	require.Equal(t, "GET, HEAD", w.Server.do(t, http.MethodPut, "/api/v1/credential", nil).header.Get("Allow"))
}
