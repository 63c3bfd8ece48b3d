package protect_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/internal/issuer"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// issuing guards payments.transfer with a service that allows every request and signs its proofs.
func issuing(t *testing.T) (*issuer.Service, *protect.Gate) {
	t.Helper()
	service := issuer.New()
	t.Cleanup(service.Close)
	client, err := countersign.New(service.URL, "sk_test_x", countersign.WithRetries(0))
	require.NoError(t, err)
	return service, &protect.Gate{Client: client, Verifier: service.Verifier(), Action: "payments.transfer", Within: 5 * time.Second}
}

func TestAnAllowGoesThroughByItsProofAlone(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(*issuer.Service) {
		return func(s *issuer.Service) { s.Alter = func(claims map[string]any) { claims[name] = value } }
	}
	other, err := proof.ContextDigest(map[string]any{"amount": 99999})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		change func(*issuer.Service)
		code   string // of the refusal
	}{
		"genuine":                 {func(*issuer.Service) {}, ""},
		"signed by no one":        {func(s *issuer.Service) { s.Forge = true }, "proof_signature_invalid"},
		"for another amount":      {set("ctx", other), "proof_action_mismatch"},
		"for another subject":     {set("sub", "mallory"), "proof_action_mismatch"},
		"for another request":     {set("nonce", "fedcba9876543210"), "proof_nonce_mismatch"},
		"for another audience":    {set("aud", "shop.example"), "proof_audience_mismatch"},
		"of another environment":  {set("env", "env_2"), "proof_environment_mismatch"},
		"for another resource":    {set("res", map[string]any{"type": "account", "digest": "sha256:0"}), "proof_resource_mismatch"},
		"that the service denies": {func(s *issuer.Service) { s.Consume = denied }, "proof_consumed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, gate := issuing(t)
			tc.change(service)
			ask := transfer
			ask.Context = map[string]any{"amount": 19}
			outcome, err := gate.Check(t.Context(), ask, "")
			require.NoError(t, err)
			if tc.code == "" {
				require.True(t, outcome.Allowed)
				require.Equal(t, "user-1", outcome.Proof.Subject)
				require.NotNil(t, outcome.Decision)
				require.Equal(t, 1, service.Consumed())
				again, err := gate.Check(t.Context(), ask, outcome.Decision.Proof)
				require.NoError(t, err)
				require.Equal(t, "proof_consumed", again.Refusal.Code)
				return
			}
			require.False(t, outcome.Allowed)
			require.Equal(t, tc.code, outcome.Refusal.Code)
			require.Zero(t, service.Consumed())
		})
	}
}

func denied(w http.ResponseWriter) bool {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"valid":false,"status":"consumed","reason_codes":["proof_consumed"],"claims":null}`)
	return false
}

// An allow whose proof can be neither accepted nor refused is no decision: the failure mode applies.
func TestAnAllowWithoutKeysIsNoDecision(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*issuer.Service){
		"keys unavailable": func(s *issuer.Service) { s.Keys = status(503, `{"code":"unavailable"}`) },
		"service unavailable": func(s *issuer.Service) {
			s.Consume = func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusServiceUnavailable); return false }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, gate := issuing(t)
			change(service)
			outcome, err := gate.Check(t.Context(), transfer, "")
			require.NoError(t, err)
			require.Equal(t, &protect.Outcome{Unavailable: true}, outcome)
			gate.Failure = protect.FailOpen
			outcome, err = gate.Check(t.Context(), transfer, "")
			require.NoError(t, err)
			require.Equal(t, &protect.Outcome{Unavailable: true, Allowed: true}, outcome)
		})
	}
}

func TestAGateThatRequiresAProofIgnoresModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []countersign.Mode{countersign.ModeTest, countersign.ModeShadow} {
		service, gate := issuing(t)
		service.Mode = mode
		outcome, err := gate.Check(t.Context(), transfer, "")
		require.NoError(t, err)
		require.True(t, outcome.Allowed)
		require.Nil(t, outcome.Proof)

		gate.RequireProof = true
		recorder := httptest.NewRecorder()
		gate.Handler(func(*http.Request) (protect.Ask, error) { return transfer, nil }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("the route ran")
		})).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/transfer", nil))
		require.Equal(t, http.StatusForbidden, recorder.Code)
		require.Contains(t, recorder.Body.String(), `"decision":"refused"`)
	}
}
