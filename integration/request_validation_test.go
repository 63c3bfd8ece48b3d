package integration_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/models"
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

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
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

func TestQuotaIsReportedAndEnforced(t *testing.T) {
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

// A burst over several replicas, by the old and the new key of a credential that is being rotated: one count for all.
func TestQuotaIsSharedByReplicasAndKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const limit = 40
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "burst", "rate_limit": limit}).is(201)
	rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", object{"overlap_seconds": 3600}).is(200)
	bases := []string{shared.baseURL, beside(t, wiring.Settings{Log: shared.log}), beside(t, wiring.Settings{Log: shared.log})}
	keys := []string{made.string("key"), rotated.string("key")}
	statuses, hour := make([]int, 6*limit), time.Now().Truncate(time.Hour)
	together(len(statuses), func(i int) {
		a, err := caller{base: bases[i%len(bases)], key: keys[i/len(bases)%len(keys)]}.send("GET", "/api/v1/credential", nil)
		if err == nil {
			statuses[i] = a.status
		}
	})
	passed := 0
	for _, status := range statuses {
		require.Contains(t, []int{200, 429}, status)
		if status == 200 {
			passed++
		}
	}
	windows := 1 + int(time.Now().Truncate(time.Hour).Sub(hour)/time.Hour) // two, where the clock struck meanwhile
	require.LessOrEqual(t, passed, windows*limit)
	require.Greater(t, passed, limit/2, "what replicas hold for themselves is little")
}
