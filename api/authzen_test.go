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

// The validated request is decided: encoding/json would take the first of these names for the second.
func TestAccessRequestsAreReadByTheirExactNames(t *testing.T) {
	t.Parallel()
	valid := func() map[string]any {
		return map[string]any{
			"subject": map[string]any{"type": "user", "id": "alice", "properties": map[string]any{"a": 1.0, "A": 2.0}}, "action": map[string]any{"name": "transfer"},
			"resource": map[string]any{"type": "account", "id": "1"}, "context": map[string]any{"countersign": map[string]any{"nonce": "n"}, "Amount": 1.0},
		}
	}
	in, err := readAccess(valid())
	require.NoError(t, err)
	require.Equal(t, []string{"alice", "transfer", "n"}, []string{in.Subject.ID, in.Action.Name, in.options.Nonce})
	for name, put := range map[string]func(v map[string]any){
		"ſubject":    func(v map[string]any) { v["ſubject"] = map[string]any{"type": "user", "id": "mallory"} },
		"Subject":    func(v map[string]any) { v["Subject"] = nil },
		"ID":         func(v map[string]any) { v["subject"].(map[string]any)["ID"] = "mallory" },
		"Name":       func(v map[string]any) { v["action"].(map[string]any)["Name"] = "erase" },
		"Properties": func(v map[string]any) { v["resource"].(map[string]any)["Properties"] = 1.0 },
		"CONTEXT":    func(v map[string]any) { v["CONTEXT"] = map[string]any{} },
		"AUDIENCE": func(v map[string]any) {
			v["context"].(map[string]any)["countersign"].(map[string]any)["AUDIENCE"] = "x"
		},
	} {
		v := valid()
		put(v)
		_, err := readAccess(v)
		require.ErrorContains(t, err, "validation_error", name)
	}
}
