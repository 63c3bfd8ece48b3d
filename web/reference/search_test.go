package reference_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

type result struct{ Kind, Page, Heading, URL, Line string }

// search returns what the page's script gets for a query.
func search(t *testing.T, app *fiber.App, query string) (found []result) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs/search?q="+url.QueryEscape(query), nil)
	req.Header.Set("Accept", "application/json")
	res, err := app.Test(req, -1)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 200, res.StatusCode, query)
	require.NoError(t, json.NewDecoder(res.Body).Decode(&found), query)
	require.NotNil(t, found, query)
	require.LessOrEqual(t, len(found), 20, query)
	return found
}

// What people type leads to the page about it, among the first three results.
func TestSearchFindsWhatPeopleTypeFor(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	for query, want := range map[string]string{
		// Operators
		"master key":            "/docs/guides/operations#master-keys",
		"Kubernetes":            "/docs/guides/operations#images-compose-kubernetes",
		"helm chart":            "/docs/guides/operations#images-compose-kubernetes",
		"docker compose":        "/docs/guides/operations#images-compose-kubernetes",
		"KMS":                   "/docs/guides/keys#key-services-of-clouds",
		"hsm":                   "/docs/guides/keys#pkcs11",
		"HashiCorp Vault":       "/docs/guides/keys#transit",
		"rotating signing keys": "/docs/guides/operations#signing-keys",
		"load balancer":         "/docs/guides/go-live#aws-application-load-balancer",
		"reverse proxy":         "/docs/guides/go-live#nginx",
		"capacity":              "/docs/guides/scale-and-failover#size-it",
		"latency":               "/docs/guides/performance",
		"high availability":     "/docs/guides/scale-and-failover#failover",
		"pgbouncer":             "/docs/guides/scale-and-failover#a-connection-pooler",
		"backups":               "/docs/guides/operations#backup-and-restore",
		"prometheus metrics":    "/docs/guides/operations#monitoring",
		"tls certificates":      "/docs/guides/operations#tls",
		"how do I upgrade":      "/docs/guides/operations#upgrade",
		"rate limit":            "/docs/guides/operations#quotas-and-shares",
		"429":                   "/docs/guides/quickstart#see-the-quota",
		"okta":                  "/docs/guides/single-sign-on",
		"SAML":                  "/docs/guides/single-sign-on",
		"splunk":                "/docs/guides/events#into-a-siem",
		"SIEM":                  "/docs/guides/events#into-a-siem",
		// Integrators
		"2fa":                     "/docs/guides/passkeys#register-a-passkey",
		"lost passkey":            "/docs/guides/passkeys#recovery",
		"revoke a passkey":        "/docs/guides/passkeys#revocation",
		"webhook signature":       "/docs/guides/events#receiving",
		"verify a proof offline":  "/docs/guides/proof#verifying-offline",
		"python":                  "/docs/guides/sdks#without-an-sdk",
		"content security policy": "/docs/guides/integrate-browser#content-security-policy-and-origins",
		"phone":                   "/docs/guides/integrate-browser#on-a-phone",
		"mcp":                     "/docs/guides/mcp",
		"terraform":               "/docs/guides/configuration-as-code",
		"sandbox to live":         "/docs/guides/configuration-as-code#sandbox-to-live",
		"shadow mode":             "/docs/guides/trying-policies#shadow-mode",
		"simulating policies":     "/docs/guides/trying-policies#simulate-on-stored-decisions",
		"daily limits":            "/docs/guides/policies#limits-that-hold",
		// Auditors and reviewers
		"GDPR":                  "/docs/guides/retention#for-your-data-protection-officer",
		"delete user":           "/docs/guides/retention#erasure",
		"how long is data kept": "/docs/guides/retention#classes-of-data",
		"false accept":          "/docs/guides/accuracy",
		"PSD2":                  "/docs/guides/audit#psd2-regulatory-technical-standards-eu-2018389",
		"four eyes":             "/docs/guides/reviewers#a-second-approver-for-changes",
		"invite a reviewer":     "/docs/guides/reviewers#access",
		// Names
		"/api/v1/verify":         "/docs/operations/proofs#verifyProof",
		"post /api/v1/authorize": "/docs/operations/authorization#authorize",
		"idempotency_key_reused": "/docs/errors#idempotency_key_reused",
		"stale_request":          "/docs/errors#rule-stale_request",
		"continuity_mismatch":    "/docs/guides/reason-codes#continuity",
		"authorization.decided":  "/docs/events#authorization.decided",
		"AuthorizeRequest":       "/docs/schemas/AuthorizeRequest",
		"PÁSSKEYS  régister!":    "/docs/guides/passkeys#register-a-passkey",
		"kubern":                 "/docs/guides/operations#images-compose-kubernetes",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			var first []string
			for _, r := range search(t, app, query) {
				require.NotEmpty(t, r.Kind+r.Page)
				first = append(first, r.URL)
			}
			require.Contains(t, first[:min(3, len(first))], want)
		})
	}
}

// Every result leads to a part of a page that exists.
func TestSearchResultsResolve(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	for _, query := range []string{"key", "passkey", "rule", "event", "authorize", "not found", "decision"} {
		for _, r := range search(t, app, query) {
			page, id, _ := strings.Cut(r.URL, "#")
			status, _, text := get(t, app, page)
			require.Equal(t, 200, status, r.URL)
			if id != "" {
				require.Contains(t, text, ` id="`+id+`"`, r.URL)
			}
		}
	}
}

// Without a script the form opens a page with the results.
func TestSearchWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	for _, path := range []string{"/", "/docs", "/docs/search", "/docs/guides/keys"} {
		_, _, text := get(t, app, path)
		require.Regexp(t, `<form class="docs-search" role="search" action="/docs/search"[^>]*>`, text, path)
		require.NotRegexp(t, `<form class="docs-search"[^>]* hidden`, text, path)
	}
	_, _, text := get(t, app, "/docs/search?q=load+balancer")
	require.Contains(t, text, `value="load balancer"`)
	require.Contains(t, text, `<a href="/docs/guides/go-live">Go live</a>`)
	_, _, text = get(t, app, "/docs/search?q=zzz")
	require.Contains(t, text, "Nothing is found for “zzz”.")
}

// No query breaks the page: what was asked is shown as text, and what is found are parts of our pages.
func FuzzSearch(f *testing.F) {
	for _, query := range []string{"", " ", "a", "the", "\"><script>alert(1)</script>", "{{.}}", "%", "\xff\xfe", "e\u0301", "\u202e", "日本語", "__", "-x OR 1=1", strings.Repeat("key ", 200), strings.Repeat("é", 300), "rate rate rate limit"} {
		f.Add(query)
	}
	app := newSite(f)
	f.Fuzz(func(t *testing.T, query string) {
		if len(query) > 1000 {
			t.Skip("the server refuses longer addresses")
		}
		for _, r := range search(t, app, query) {
			require.True(t, strings.HasPrefix(r.URL, "/docs/"), r.URL)
			require.True(t, utf8.ValidString(r.Line), r.Line)
		}
		status, _, text := get(t, app, "/docs/search?q="+url.QueryEscape(query))
		require.Equal(t, 200, status)
		require.NotContains(t, text, "<script>")
		status, _, text = get(t, app, "/docs/"+url.PathEscape(query+"-"))
		require.Equal(t, 404, status)
		require.NotContains(t, text, "<script>")
	})
}

// A code, an operation or a title that is typed as it is written is the first result.
func TestSearchFindsExactNamesFirst(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	var names []string
	for code := range problem.Catalogue() {
		names = append(names, string(code))
	}
	for rule := range problem.Rules() {
		names = append(names, rule)
	}
	for _, e := range reason.All() {
		names = append(names, e.Code)
	}
	for _, d := range events.Catalogue() {
		names = append(names, string(d.Type))
	}
	for _, name := range append(names, "POST /api/v1/authorize", "Shadow mode") {
		found := search(t, app, name)
		require.NotEmpty(t, found, name)
		require.Equal(t, displaytext.Fold(name), displaytext.Fold(found[0].Heading), "%s: %+v", name, found[0])
	}
	require.Equal(t, "/docs/guides/policies", strings.Split(search(t, app, "Policies")[0].URL, "#")[0])
}
