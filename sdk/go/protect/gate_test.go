package protect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/internal/damage"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// gate guards payments.transfer with a service that responds to authorize with answer. Package live tests the whole flow
// with a real service.
func gate(t *testing.T, answer http.HandlerFunc, failure protect.Failure) *protect.Gate {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client, err := countersign.New(server.URL, "sk_test_x", countersign.WithRetries(0))
	require.NoError(t, err)
	return &protect.Gate{Client: client, Action: "payments.transfer", Failure: failure, Within: 200 * time.Millisecond,
		Verifier: &proof.Verifier{Keys: proof.NewRemote(server.URL, nil), Issuer: "i", Environment: "env_1", Audience: "bank.example"}}
}

func decided(decision, mode string) http.HandlerFunc {
	proof, challenge := `null,"proof_id":null`, `null`
	if decision == "allow" && mode == "enforce" {
		proof = `"a.b.c","proof_id":"prf_1"`
	}
	if decision == "challenge" {
		challenge = `{"id":"chl_1","methods":["passkey"],"expires_at":"2026-11-21T09:35:00.000Z"}`
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"azn_1","decision":%q,"mode":%q,"action":"payments.transfer","action_hash":"sha256:0","environment":"env_1",
			"policy_version":1,"reason_codes":[],"human_readable":{"status":"s","detail":"Please confirm."},"trace_id":"t",
			"decided_at":"2026-11-21T09:30:00.000Z","latency_ms":1,"challenge":%s,"proof":%s,
			"assurance":{"id":"prl_1","subject":"user-1","assessed_at":"2026-11-21T09:30:00.000Z","model_version":"m","rule_version":"r",
				"feature_schema_version":"f","claims":[],"coverage":"none","insufficient_evidence":true}}`, decision, mode, challenge, proof)
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// stuck does not respond until the client disconnects, which a server notices only after it has read the body.
func stuck(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

var transfer = protect.Ask{Subject: "user-1", ResourceType: "account", ResourceID: "acc-1"}

// through sends a request through the gate's handler, which moves money if it is let in.
func through(t *testing.T, g *protect.Gate, describeErr error, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/transfer", strings.NewReader("{}"))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	g.Handler(func(*http.Request) (protect.Ask, error) { return transfer, describeErr }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.True(t, protect.FromContext(r.Context()).Allowed)
		_, _ = io.WriteString(w, "moved")
	})).ServeHTTP(recorder, r)
	return recorder.Result(), recorder.Body.String()
}

func TestTheRouteRunsAsDecided(t *testing.T) {
	t.Parallel()
	unavailable := status(503, `{"code":"unavailable"}`)
	for name, tc := range map[string]struct {
		service http.HandlerFunc
		failure protect.Failure
		status  int
		has     string
	}{
		"allow without a real proof": {decided("allow", "enforce"), protect.FailOpen, 403, "proof_malformed"},
		"allow in test":              {decided("allow", "test"), protect.FailClosed, 200, "moved"},
		"challenge":                  {decided("challenge", "enforce"), protect.FailClosed, 401, `"challenge":{"expires_at":"2026-11-21T09:35:00Z","id":"chl_1"`},
		"hold":                       {decided("hold", "enforce"), protect.FailClosed, 403, `"decision":"hold"`},
		"deny":                       {decided("deny", "enforce"), protect.FailOpen, 403, `"decision":"deny"`},
		"deny in shadow":             {decided("deny", "shadow"), protect.FailClosed, 200, "moved"},
		"deny in test":               {decided("deny", "test"), protect.FailClosed, 403, `"decision":"deny"`},
		"unavailable, closed":        {unavailable, protect.FailClosed, 503, `"decision":"unavailable"`},
		"unavailable, open":          {unavailable, protect.FailOpen, 200, "moved"},
		"a portal, closed":           {status(200, "<html>"), protect.FailClosed, 503, `"decision":"unavailable"`},
		"a portal, open":             {status(200, "<html>"), protect.FailOpen, 200, "moved"},
		"nothing, closed":            {status(200, "{}"), protect.FailClosed, 503, `"decision":"unavailable"`},
		"too slow, closed":           {stuck, protect.FailClosed, 503, `"decision":"unavailable"`},
		"too slow, open":             {stuck, protect.FailOpen, 200, "moved"},
		"rate limited, closed":       {status(429, `{"code":"rate_limited"}`), protect.FailClosed, 503, "Too many requests"},
		"rate limited, open":         {status(429, `{"code":"rate_limited"}`), protect.FailOpen, 503, "Too many requests"},
		"a proxy's limit, open":      {status(429, "<html>"), protect.FailOpen, 503, "Too many requests"},
		"a firewall's refusal, open": {status(403, "<html>"), protect.FailOpen, 500, `"decision":"refused"`},
		"an unknown subject, open":   {status(404, `{"code":"not_found","detail":"secret detail"}`), protect.FailOpen, 500, `"decision":"refused"`},
		"a fault of the page, open":  {status(422, `{"detail":[{"loc":["body"],"msg":"secret","type":"t"}]}`), protect.FailOpen, 422, `"decision":"refused"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, body := through(t, gate(t, tc.service, tc.failure), nil)
			require.Equal(t, tc.status, res.StatusCode)
			require.Contains(t, body, tc.has)
			require.NotContains(t, body, "secret")
		})
	}
}

func TestAGateThatFailsClosedNeverAllowsByADamagedAnswer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/decisions.json")
	require.NoError(t, err)
	var set []damage.Recorded
	require.NoError(t, json.Unmarshal(text, &set))
	rng := rand.New(rand.NewPCG(17, 2))
	for n := range 10_000 {
		a := damage.One(rng, set)
		if a.Kind == "field spelled otherwise" || a.Kind == "flipped bits" {
			continue // may name a mode that refuses nothing; package countersign tries them
		}
		var asked countersign.AuthorizeRequest
		require.NoError(t, json.Unmarshal(set[a.Of].Request, &asked))
		client, err := countersign.New("https://countersign.example", "sk_test_x", countersign.WithHTTPClient(&http.Client{Transport: a}), countersign.WithRetries(0))
		require.NoError(t, err)
		g := &protect.Gate{Client: client, Action: asked.Action, Verifier: &proof.Verifier{Audience: asked.Audience}}
		outcome, err := g.Check(t.Context(), protect.Ask{Subject: asked.Subject, ResourceType: "account", ResourceID: "acc-1"}, "")
		if a.Status >= 400 && a.Status < 500 && a.Status != http.StatusTooManyRequests {
			require.Error(t, err)
			require.False(t, countersign.Unavailable(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, a.Status == http.StatusTooManyRequests, outcome.Limited != nil)
		require.Equal(t, &protect.Outcome{Unavailable: true, Limited: outcome.Limited}, outcome, "answer %d: %s: %.4000s", n, a.Kind, a.Body)
	}
}

// Only what a new login would satisfy is a challenge of RFC 9470: a client logs in again for it.
func TestA401SaysWhatWouldSatisfyIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		describe error
		want     string
	}{
		"a challenge":              {nil, `Countersign error="challenge_required"`},
		"any new login":            {&protect.LoginRequired{}, `Bearer error="insufficient_user_authentication", error_description="A new login is required"`},
		"a login of a certain age": {&protect.LoginRequired{MaxAge: 5 * time.Minute}, `Bearer error="insufficient_user_authentication", error_description="A new login is required", max_age="300"`},
		"a stronger login": {fmt.Errorf("token: %w", &protect.LoginRequired{ACRValues: []string{"urn:mfa", "urn:hwk"}}),
			`Bearer error="insufficient_user_authentication", error_description="A new login is required", acr_values="urn:mfa urn:hwk"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := through(t, gate(t, decided("challenge", "enforce"), protect.FailClosed), tc.describe)
			require.Equal(t, 401, res.StatusCode)
			require.Equal(t, tc.want, res.Header.Get("WWW-Authenticate"))
		})
	}
}

func TestABadRequestIsToldSo(t *testing.T) {
	t.Parallel()
	res, body := through(t, gate(t, decided("allow", "enforce"), protect.FailClosed), errors.New("amount must be a number"))
	require.Equal(t, 400, res.StatusCode)
	require.Contains(t, body, "amount must be a number")
}

func TestABroughtProofIsNeverTakenUnread(t *testing.T) {
	t.Parallel()
	res, body := through(t, gate(t, decided("allow", "enforce"), protect.FailOpen), nil, protect.ProofHeader, "forged")
	require.Equal(t, 403, res.StatusCode)
	require.Contains(t, body, "proof_malformed")
}

// A requester that disconnects, or whose request has a deadline, cannot choose that there is no decision.
func TestARequestThatEndsDoesNotOpenTheGate(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"already cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		"cancelled meanwhile": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		},
		"its own deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gate(t, stuck, protect.FailOpen)
			g.Within = time.Minute
			ctx, cancel := parent(t.Context())
			defer cancel()
			outcome, err := g.Check(ctx, transfer, "")
			require.NoError(t, err)
			require.Equal(t, &protect.Outcome{Unavailable: true}, outcome)

			recorder := httptest.NewRecorder()
			g.Handler(func(*http.Request) (protect.Ask, error) { return transfer, nil }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("the route ran")
			})).ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/transfer", nil))
			require.Equal(t, http.StatusServiceUnavailable, recorder.Code)
		})
	}
}

// A sender of many requests can use up a quota, and with it cannot choose that there is no decision.
func TestARateLimitDoesNotOpenTheGate(t *testing.T) {
	t.Parallel()
	limited := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		status(429, `{"code":"rate_limited"}`)(w, r)
	}
	var attempts atomic.Int32
	for name, service := range map[string]http.HandlerFunc{
		"at once": limited,
		"then no response before the deadline": func(w http.ResponseWriter, r *http.Request) {
			if attempts.Add(1) > 1 {
				stuck(w, r)
				return
			}
			status(429, `{"code":"rate_limited"}`)(w, r)
		},
		"with a body that does not end": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_ = http.NewResponseController(w).Flush()
			stuck(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gate(t, service, protect.FailOpen)
			countersign.WithRetries(2)(g.Client)
			outcome, err := g.Check(t.Context(), transfer, "")
			require.NoError(t, err)
			require.True(t, outcome.Unavailable)
			require.False(t, outcome.Allowed)
			require.True(t, countersign.RateLimited(outcome.Limited))
		})
	}
	g := gate(t, limited, protect.FailOpen)
	res, _ := through(t, g, nil)
	require.Equal(t, "7", res.Header.Get("Retry-After"))
	outcome, err := g.Check(t.Context(), transfer, "")
	require.NoError(t, err)
	require.True(t, countersign.IsCode(outcome.Limited, countersign.CodeRateLimited))
}

func TestAGateSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	_, err := (&protect.Gate{}).Check(t.Context(), transfer, "")
	require.ErrorContains(t, err, "must be set")
	_, err = gate(t, stuck, protect.FailOpen).Check(t.Context(), protect.Ask{Subject: "user-1"}, "")
	require.ErrorContains(t, err, "must be set")
}

func TestOnlyLowRiskGoesOnUndecided(t *testing.T) {
	t.Parallel()
	require.Equal(t, protect.FailOpen, protect.ForRisk(countersign.RiskClassLow))
	for _, class := range []countersign.RiskClass{countersign.RiskClassElevated, countersign.RiskClassHigh, countersign.RiskClassCritical, ""} {
		require.Equal(t, protect.FailClosed, protect.ForRisk(class))
	}
}
