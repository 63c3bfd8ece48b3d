package fibergate_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
	"github.com/countersign-dev/countersign/sdk/go/protect/fibergate"
)

const allowed = `{"id":"azn_1","decision":"allow","mode":"enforce","action":"payments.transfer","action_hash":"sha256:0","environment":"env_1",
	"policy_version":1,"reason_codes":[],"human_readable":{"status":"s","detail":"Done."},"trace_id":"t",
	"decided_at":"2026-11-21T09:30:00.000Z","latency_ms":1,"challenge":null,"proof":"a.b.c","proof_id":"prf_1",
	"assurance":{"id":"prl_1","subject":"user-1","assessed_at":"2026-11-21T09:30:00.000Z","model_version":"m","rule_version":"r",
		"feature_schema_version":"f","claims":[],"coverage":"none","insufficient_evidence":true}}`

// TestFiberRespondsAsTheHandler compares the middleware with protect's handler for net/http.
func TestFiberRespondsAsTheHandler(t *testing.T) {
	t.Parallel()
	unproven := strings.NewReplacer(`"proof":"a.b.c","proof_id":"prf_1"`, `"proof":null,"proof_id":null`).Replace(allowed)
	denied := strings.Replace(unproven, `"decision":"allow"`, `"decision":"deny"`, 1)
	inTest := strings.Replace(unproven, `"mode":"enforce"`, `"mode":"test"`, 1)
	for name, tc := range map[string]struct {
		code     int
		response string
		describe error
		header   string // a presented proof
		want     int
	}{
		"allow":             {200, inTest, nil, "", 200},
		"an unproven allow": {200, allowed, nil, "", 403},
		"deny":              {200, denied, nil, "", 403},
		"unavailable":       {503, `{"code":"unavailable"}`, nil, "", 503},
		"a bad request":     {200, allowed, errors.New("name an account"), "", 400},
		"a malformed proof": {200, allowed, nil, "a.b.c", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.response)
			}))
			t.Cleanup(service.Close)
			client, err := countersign.New(service.URL, "sk_test_x", countersign.WithRetries(0))
			require.NoError(t, err)
			g := &protect.Gate{Client: client, Action: "payments.transfer", Within: 2 * time.Second,
				Verifier: &proof.Verifier{Keys: proof.NewRemote(service.URL, nil), Issuer: "i", Environment: "env_1", Audience: "bank.example"}}
			ask := protect.Ask{Subject: "user-1", ResourceType: "account", ResourceID: "acc-1"}
			request := func() *http.Request {
				r := httptest.NewRequest(http.MethodPost, "/transfer", strings.NewReader("{}"))
				if tc.header != "" {
					r.Header.Set(protect.ProofHeader, tc.header)
				}
				return r
			}

			recorder := httptest.NewRecorder()
			g.Handler(func(*http.Request) (protect.Ask, error) { return ask, tc.describe }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.True(t, protect.FromContext(r.Context()).Allowed)
				_, _ = io.WriteString(w, "moved")
			})).ServeHTTP(recorder, request())

			app := fiber.New()
			app.Post("/transfer", fibergate.New(g, func(*fiber.Ctx) (protect.Ask, error) { return ask, tc.describe }), func(c *fiber.Ctx) error {
				require.True(t, protect.FromContext(c.UserContext()).Allowed)
				return c.SendString("moved")
			})
			res, err := app.Test(request(), -1)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)

			require.Equal(t, tc.want, res.StatusCode)
			require.Equal(t, recorder.Code, res.StatusCode)
			require.Equal(t, strings.TrimSpace(recorder.Body.String()), strings.TrimSpace(string(body)))
			require.Equal(t, recorder.Header().Get("WWW-Authenticate"), res.Header.Get("WWW-Authenticate"))
		})
	}
}
