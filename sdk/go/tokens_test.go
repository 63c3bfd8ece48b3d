package countersign_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func TestCollectorTokenAsksForTheNarrowest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  countersign.CollectorTokenAsk
		want string
	}{
		"to score by": {countersign.CollectorTokenAsk{Subject: "user-1", Session: "ses_1", Origin: "https://app.example.com"},
			`{"subject": "user-1", "session": "ses_1", "origin": "https://app.example.com", "purposes": ["score"]}`},
		"to enroll by": {countersign.CollectorTokenAsk{Subject: "user-1", Session: "ses_1", Origin: "https://app.example.com", Enroll: true, TTLSeconds: 60},
			`{"subject": "user-1", "session": "ses_1", "origin": "https://app.example.com", "purposes": ["enroll"], "ttl_seconds": 60}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got json.RawMessage
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = json.NewDecoder(r.Body).Decode(&got)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte(`{"client_token": "ct_test_x", "expires_at": 1795254300, "ttl_seconds": 900, "origin": "https://app.example.com"}`))
			}))
			defer server.Close()
			client, err := countersign.New(server.URL, "sk_test_x")
			require.NoError(t, err)
			token, err := client.CollectorToken(t.Context(), c.ask)
			require.NoError(t, err)
			require.Equal(t, "ct_test_x", token.ClientToken)
			require.JSONEq(t, c.want, string(got))
		})
	}
}
