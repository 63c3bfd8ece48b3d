package integration_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
)

// The collector runs on the relying party's origin, so the browser sends a preflight request and hides responses without CORS
// headers. Only the evidence endpoint allows other origins.
func TestCORSAllowsOnlyEvidence(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example"
	w := newSandbox(t)
	subject := w.subject(t)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	path := "/api/v1/sessions/" + session + "/evidence"

	ask := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, shared.baseURL+path, nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		resp, err := apitest.Client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp
	}
	preflight := ask(path)
	require.Equal(t, 204, preflight.StatusCode)
	require.Equal(t, "*", preflight.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "POST", preflight.Header.Get("Access-Control-Allow-Methods"))
	require.Contains(t, preflight.Header.Get("Access-Control-Allow-Headers"), "Authorization")
	require.Empty(t, preflight.Header.Get("Access-Control-Allow-Credentials"))
	for _, closed := range []string{"/api/v1/authorize", "/api/v1/sessions/" + session + "/end", "/api/v1/sessions/" + session} {
		require.Empty(t, ask(closed).Header.Get("Access-Control-Allow-Origin"), closed)
	}

	token := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": origin}).is(201).string("client_token")
	page := caller{base: shared.baseURL, key: token}.with("Origin", origin)
	good := page.post(t, path, object{"frame_id": "f1", "timestamp": now(), "duration_ms": 1, "features": object{"schema": "cs-features-2"}}).is(200)
	require.Equal(t, "*", good.header.Get("Access-Control-Allow-Origin"))
	refused := caller{base: shared.baseURL, key: token}.with("Origin", "https://other.example").post(t, path, object{})
	refused.problem(403, "origin_not_allowed")
	require.Equal(t, "*", refused.header.Get("Access-Control-Allow-Origin"), "the collector can read the problem")
}
