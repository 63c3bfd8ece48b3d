package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// The pages under /docs are whole and ask nobody else for anything; the type of every problem leads to its line.
func TestDocsPagesAreServed(t *testing.T) {
	t.Parallel()
	anybody := caller{base: shared.baseURL}
	page := anybody.get(t, "/docs").is(200)
	require.Contains(t, page.header.Get("Content-Type"), "text/html")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "script-src 'self';")
	require.NotRegexp(t, `(src|href)="(https?:)?//`, string(page.body))
	for _, asset := range []string{"/docs/rapidoc.js", "/docs/reference.js", "/docs/reference.css", "/docs/rapidoc.LICENSE.txt"} {
		tag := anybody.get(t, asset).is(200).header.Get("ETag")
		anybody.with("If-None-Match", tag).get(t, asset).is(304)
	}
	require.JSONEq(t, string(openapi.Document()), string(anybody.get(t, "/docs/openapi.json").is(200).body))

	codes := string(anybody.get(t, "/docs/errors").is(200).body)
	for code := range problem.Catalogue() {
		require.Contains(t, codes, `id="`+string(code)+`"`)
	}
	require.Contains(t, string(anybody.get(t, "/docs/events").is(200).body), `id="authorization.decided"`)
	require.Equal(t, 404, anybody.get(t, "/docs/nothing").status)
}
