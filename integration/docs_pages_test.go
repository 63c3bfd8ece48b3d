package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// The pages under /docs are complete and load nothing from other hosts. The type URI of each problem links to its description.
func TestDocsPagesAreServed(t *testing.T) {
	t.Parallel()
	anonymous := caller{base: shared.baseURL}
	page := anonymous.get(t, "/docs").is(200)
	require.Contains(t, page.header.Get("Content-Type"), "text/html")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "script-src 'self';")
	require.NotRegexp(t, `src="(https?:)?//`, string(page.body))
	tag := anonymous.get(t, "/docs/openapi.json").is(200).header.Get("ETag")
	anonymous.with("If-None-Match", tag).get(t, "/docs/openapi.json").is(304)
	require.Contains(t, string(anonymous.get(t, "/").is(200).body), `href="/docs"`)
	require.Contains(t, string(anonymous.get(t, "/docs/guides/quickstart").is(200).body), "id=\"verify-the-proof\"")
	require.JSONEq(t, string(openapi.Document()), string(anonymous.get(t, "/docs/openapi.json").is(200).body))

	codes := string(anonymous.get(t, "/docs/errors").is(200).body)
	for code := range problem.Catalogue() {
		require.Contains(t, codes, `id="`+string(code)+`"`)
	}
	require.Contains(t, string(anonymous.get(t, "/docs/events").is(200).body), `id="authorization.decided"`)
	require.Equal(t, 404, anonymous.get(t, "/docs/nothing").status)
}

func TestMetaAndContractAreServed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for _, c := range []caller{w.Publishable, w.Server, w.Admin} {
		meta := c.get(t, "/api/v1/meta").is(200)
		require.NotEmpty(t, meta.value("reason_codes"))
		require.Equal(t, "unsupported", meta.string("capabilities.agent_mandates"))
	}
	contract := caller{base: shared.baseURL}.get(t, "/api/v1/openapi.json").is(200)
	require.Equal(t, "3.1.0", contract.string("openapi"))
	caller{base: shared.baseURL}.with("If-None-Match", contract.header.Get("ETag")).get(t, "/api/v1/openapi.json").is(304)
	require.NotEmpty(t, w.Server.get(t, "/api/v1/event-types").is(200).list())
}
