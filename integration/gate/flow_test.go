package gate_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func TestRepeatedRequestsAreOneAuthorization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	action, issuer, subject := w.action(t, "enforce", holding), gatetest.StartIssuer(t), w.subject(t)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: routes(map[string]string{"hold": action})})
	signed := func(key string) call {
		return call{"POST", "/hold/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil), "Idempotency-Key": key}, ""}
	}
	var wait sync.WaitGroup
	found := make(chan string, 8)
	for range cap(found) {
		wait.Go(func() { found <- e.send(t, signed("release-4711")).problem(t).Authorization })
	}
	wait.Wait()
	first := <-found
	for len(found) > 0 {
		require.Equal(t, first, <-found)
	}
	require.NotEqual(t, first, e.send(t, signed("another")).problem(t).Authorization)
	all, err := w.ListAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Action: action})
	require.NoError(t, err)
	require.Len(t, all.Items, 2)

	_, err = w.ReviewAuthorization(t.Context(), first, countersign.ManualReviewRequest{Resolution: "approve"})
	require.NoError(t, err)
	require.Equal(t, 200, e.send(t, signed("release-4711")).status, "the repetition finds the approval without a state")
	w.proven(t, e, "POST", "/hold/4711")
	require.Equal(t, 409, e.send(t, signed("release-4711")).status, "and it is used once")
	e.untouched(t)
}

// A repetition minutes later, and a gate that was restarted with the same keys, find the same authorization.
func TestRepetitionMinutesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	action, issuer, subject := w.action(t, "enforce", holding), gatetest.StartIssuer(t), w.subject(t)
	c := gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: routes(map[string]string{"hold": action})}
	first, second := enter(t, "inline", c), enter(t, "inline", c)
	repeat := call{"POST", "/hold/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil), "Idempotency-Key": "later"}, ""}
	id := first.send(t, repeat).problem(t).Authorization
	minute := time.Now().Unix() / 60
	require.Eventually(t, func() bool { return time.Now().Unix()/60 > minute }, 2*time.Minute, 100*time.Millisecond)
	require.Equal(t, id, second.send(t, repeat).problem(t).Authorization)
}

func TestConsumeIsLeftToTheUpstream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	text := strings.Replace(routes(map[string]string{"allow": w.action(t, "enforce", allowing)}), "audience: payments,", "audience: payments, consume: upstream,", 1)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: text})
	require.Equal(t, 200, e.send(t, call{"POST", "/allow/1", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil)}, ""}).status)
	compact := e.upstream.Take()[0].Header.Get("Countersign-Proof")
	v, err := w.VerifyProof(t.Context(), countersign.ProofVerifyRequest{Proof: compact, Consume: true})
	require.NoError(t, err)
	require.True(t, v.Valid, "the upstream is the first to consume it")
}

func TestShadowRouteLetsEverythingThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	text := strings.Replace(routes(map[string]string{"deny": w.action(t, "enforce", denying)}), "audience: payments,", "audience: payments, shadow: true,", 1)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: text})
	for _, header := range []map[string]string{nil, {"Authorization": "Bearer " + issuer.Token(t, subject, nil)}} {
		require.Equal(t, 200, e.send(t, call{"POST", "/deny/1", header, ""}).status)
		require.Empty(t, e.upstream.Take()[0].Header.Values("Countersign-Proof"))
	}
	require.Contains(t, e.gate.Log(), `"would":"deny"`)
	require.Contains(t, e.gate.Log(), `"would":"unauthenticated"`)
	require.NotContains(t, e.gate.Log(), subject)
	require.Contains(t, e.gate.Metrics(t), "countersign_gate_shadow_routes 1")
}

// A login is asked for only while the token lacks what it requires: a client whose fresh token is challenged all the same must not log in again.
func TestLoginInPlaceOfAChallenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	action := w.action(t, "enforce", countersign.PolicyRequirements{CoverageMin: "none", ExplicitApprovalRequired: true})
	text := fmt.Sprintf(`- {name: release, hosts: [%s], methods: [POST], path: "/release/{id}", upstream: UPSTREAM, action: %s, audience: payments, resource: {type: payment, id: request.params.id}, context: {acr: "has(token.acr) ? token.acr : 'none'"}, login: {acr_values: [mfa], max_age: 5m}}`, host, action)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: text})
	ask := func(claims map[string]any) string {
		r := e.send(t, call{"POST", "/release/1", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, claims)}, ""})
		require.Equal(t, 401, r.status)
		return r.header.Get("WWW-Authenticate")
	}
	now := time.Now().Unix()
	insufficient := `Bearer error="insufficient_user_authentication", error_description="A new login is required", acr_values="mfa", max_age="300"`
	require.Equal(t, insufficient, ask(nil))
	require.Equal(t, insufficient, ask(map[string]any{"acr": "pwd", "auth_time": now}))
	require.Equal(t, insufficient, ask(map[string]any{"acr": "mfa", "auth_time": now - 600}))
	require.Equal(t, `Countersign error="challenge_required"`, ask(map[string]any{"acr": "mfa", "auth_time": now}))
}

func TestReloadDropsNoRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: routes(map[string]string{"allow": w.action(t, "enforce", allowing)})})
	text, err := os.ReadFile(e.gate.File)
	require.NoError(t, err)
	load := func(text, logged string) {
		require.NoError(t, os.WriteFile(e.gate.File, []byte(text), 0o600))
		before := strings.Count(e.gate.Log(), logged)
		require.NoError(t, e.gate.Process.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, func() bool { return strings.Count(e.gate.Log(), logged) > before }, time.Minute, 10*time.Millisecond)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					require.Equal(t, http.StatusOK, e.send(t, call{"POST", "/allow/1", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil)}, ""}).status)
				}
			}
		})
	}
	for range 5 {
		load(string(text), "the configuration was reloaded")
	}
	close(stop)
	wait.Wait()
	load(strings.Replace(string(text), "open: true", "open: maybe", 1), "the previous one stays in force")
	require.Equal(t, 200, e.send(t, call{"GET", "/public/a", nil, ""}).status)
	load(strings.Replace(string(text), `"/public/{rest...}"`, `"/moved/{rest...}"`, 1), "the configuration was reloaded")
	require.Equal(t, 403, e.send(t, call{"GET", "/public/a", nil, ""}).status)
}
