package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A batch that ran out of quota is not stored for its Idempotency-Key: a repeat must not return its denials.
func TestABatchThatPartlyFailedIsNotStored(t *testing.T) {
	t.Parallel()
	const limit = 3
	l := newLimited(t, limit)
	ask := func() (*http.Response, string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, pathAccessBatch, strings.NewReader(
			`{"subject":{"type":"user","id":"u"},"resource":{"type":"account","id":"a"},"evaluations":[{"action":{"name":"one"}},{"action":{"name":"two"}}]}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(headerIdempotencyKey, "batch-1")
		res, body := l.send(t, req)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
		return res, body
	}

	for range limit - 1 {
		l.credential(t)
	}
	_, body := ask()
	require.Contains(t, body, `"status":429`)

	l.clock.Advance(2 * time.Hour)
	res, body := ask()
	require.Empty(t, res.Header.Get(headerReplayed))
	require.Equal(t, 2, strings.Count(body, `"status":404`), "%s", body)
	res, again := ask()
	require.Equal(t, "true", res.Header.Get(headerReplayed), "a batch whose denials are final is stored")
	require.Equal(t, body, again)
}
