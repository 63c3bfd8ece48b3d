package countersign_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/events"
	"github.com/countersign-dev/countersign/sdk/go/internal/damage"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// A running service and a sandbox admin key of it. The service's own tests set both; a person may, with what make run
// prints. Without them these tests are skipped.
const (
	urlEnv = "COUNTERSIGN_URL"
	keyEnv = "COUNTERSIGN_KEY"
)

func live(t *testing.T) (*countersign.Client, *proof.Verifier) {
	t.Helper()
	base, key := os.Getenv(urlEnv), os.Getenv(keyEnv)
	if base == "" || key == "" {
		t.Skipf("%s and %s name no running service", urlEnv, keyEnv)
	}
	client, err := countersign.New(base, key)
	require.NoError(t, err)
	me, err := client.GetCredential(t.Context())
	require.NoError(t, err)
	return client, &proof.Verifier{Keys: proof.NewRemote(base, nil), Issuer: me.ProofIssuer, Environment: me.Environment, Audience: "bank.example"}
}

// enforced creates an action whose active policy has the requirements, and a subject. It returns the action's key and
// the subject's id.
func enforced(t *testing.T, c *countersign.Client, requirements countersign.PolicyRequirements) (action, subject string) {
	t.Helper()
	ctx := t.Context()
	key := fmt.Sprintf("sdk.t%d", time.Now().UnixNano())
	made, err := c.CreateAction(ctx, countersign.ActionCreate{Key: key, Name: "Send a transfer", Consequence: "Money leaves.",
		AllowedAudiences: []string{"bank.example"}, ResourceType: "account", ContextSchema: map[string]any{
			"type": "object", "properties": map[string]any{"amount": map[string]any{"type": "number"}}}})
	require.NoError(t, err)
	version, err := c.CreatePolicyVersion(ctx, made.ID, countersign.PolicyVersionCreate{Requirements: requirements})
	require.NoError(t, err)
	_, err = c.ActivatePolicyVersion(ctx, made.ID, version.Version)
	require.NoError(t, err)
	_, err = c.UpdateAction(ctx, made.ID, countersign.ActionUpdate{Mode: "enforce"})
	require.NoError(t, err)
	person, err := c.CreateSubject(ctx, nil)
	require.NoError(t, err)
	return key, person.ID
}

func TestLiveAllowWithAProofThatVerifies(t *testing.T) {
	t.Parallel()
	c, v := live(t)
	action, subject := enforced(t, c, countersign.PolicyRequirements{CoverageMin: "none"})
	request := countersign.AuthorizeRequest{Subject: subject, Action: action, Audience: "bank.example", RequestedAt: time.Now().Unix(),
		Resource: countersign.Resource{Type: "account", ID: "acc-1"}, Context: map[string]any{"amount": 120.5},
		Nonce: "b7c2a9d8e1f04c5a", IdempotencyKey: "sdk-" + subject}
	decision, err := c.Authorize(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, countersign.DecisionAllow, decision.Decision)

	policy, err := c.GetAuthorization(t.Context(), decision.ID)
	require.NoError(t, err)
	require.Equal(t, decision.ActionHash, policy.ActionHash)
	digest, err := proof.ContextDigest(request.Context)
	require.NoError(t, err)
	claims, err := v.Verify(t.Context(), decision.Proof, proof.Expect{Action: action, Subject: subject, ResourceType: "account", ResourceID: "acc-1",
		Context: digest, Nonce: request.Nonce, ActionHash: decision.ActionHash})
	require.NoError(t, err)
	hash, err := proof.ActionHash(proof.Request{Action: action, PolicyVersion: decision.PolicyVersion, ContentHash: claims.Action.ContentHash,
		Subject: subject, ResourceType: "account", ResourceID: "acc-1", Audience: "bank.example", Context: request.Context,
		Nonce: request.Nonce, Environment: decision.Environment})
	require.NoError(t, err)
	require.Equal(t, decision.ActionHash, hash, "recomputed from the request alone")

	again, err := c.Authorize(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, decision, again)
	request.Audience = "shop.example"
	_, err = c.Authorize(t.Context(), request)
	require.True(t, countersign.IsCode(err, countersign.CodeIdempotencyKeyReused), "%v", err)
}

func TestLiveGateTakesTheProofOfAStepUpOnce(t *testing.T) {
	t.Parallel()
	c, v := live(t)
	action, subject := enforced(t, c, countersign.PolicyRequirements{CoverageMin: "none", ExplicitApprovalRequired: true})
	amount := 10
	gate := &protect.Gate{Client: c, Verifier: v, Action: action, Within: 30 * time.Second}
	transfer := gate.Handler(func(*http.Request) (protect.Ask, error) {
		return protect.Ask{Subject: subject, ResourceType: "account", ResourceID: "acc-1", Context: map[string]any{"amount": amount}}, nil
	}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	send := func(compact string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/transfer", nil)
		r.Header.Set(protect.ProofHeader, compact)
		w := httptest.NewRecorder()
		transfer.ServeHTTP(w, r)
		return w
	}

	asked, err := gate.Check(t.Context(), protect.Ask{Subject: subject, ResourceType: "account", ResourceID: "acc-1", Context: map[string]any{"amount": amount}}, "")
	require.NoError(t, err)
	require.Equal(t, countersign.DecisionChallenge, asked.Decision.Decision)
	require.Equal(t, http.StatusUnauthorized, send("").Code)

	environment, err := c.GetEnvironment(t.Context())
	require.NoError(t, err)
	user := subject
	page := confirmations{client: c, origin: environment.Origins[0], userOf: func(*http.Request) string { return user }}
	call := func(route http.HandlerFunc) (int, map[string]string) {
		r := httptest.NewRequest(http.MethodPost, "/confirmations/"+asked.Decision.ID, nil)
		r.SetPathValue("id", asked.Decision.ID)
		w := httptest.NewRecorder()
		route(w, r)
		var body map[string]string
		_ = json.Unmarshal(w.Body.Bytes(), &body) // a refusal is text
		return w.Code, body
	}
	code, link := call(page.link)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, link["url"], asked.Decision.Challenge.ID)
	code, _ = call(page.proof)
	require.Equal(t, http.StatusNotFound, code, "it is not confirmed")
	_, err = c.CompleteChallenge(t.Context(), asked.Decision.Challenge.ID, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
	require.NoError(t, err)
	user = "someone-else"
	for _, route := range []http.HandlerFunc{page.link, page.proof} {
		code, _ = call(route)
		require.Equal(t, http.StatusNotFound, code)
	}
	user = subject
	code, proved := call(page.proof)
	require.Equal(t, http.StatusOK, code)
	amount = 10_000
	require.Equal(t, http.StatusForbidden, send(proved["proof"]).Code, "a proof for 10 is none for 10,000")
	amount = 10
	require.Equal(t, http.StatusNoContent, send(proved["proof"]).Code)
	require.Equal(t, http.StatusForbidden, send(proved["proof"]).Code, "a proof is good once")
}

func TestLiveDecisionsAreUnderstoodWholeAndRefusedDamaged(t *testing.T) {
	t.Parallel()
	c, _ := live(t)
	rng := rand.New(rand.NewPCG(17, 3))
	for _, want := range []countersign.Decision{countersign.DecisionAllow, countersign.DecisionChallenge, countersign.DecisionHold, countersign.DecisionDeny} {
		requirements := countersign.PolicyRequirements{CoverageMin: "partial", InsufficientEvidence: string(want)}
		if want == countersign.DecisionAllow {
			requirements = countersign.PolicyRequirements{CoverageMin: "none"}
		}
		action, subject := enforced(t, c, requirements)
		asked := countersign.AuthorizeRequest{Subject: subject, Action: action, Audience: "bank.example", RequestedAt: time.Now().Unix(),
			Resource: countersign.Resource{Type: "account", ID: "acc-1"}, Nonce: "nonce-of-" + subject, IdempotencyKey: "sdk-" + subject}
		got, err := c.Authorize(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, want, got.Decision)

		// The same answer again, through something that damages it.
		for range 50 {
			between, err := countersign.New(os.Getenv(urlEnv), os.Getenv(keyEnv), countersign.WithRetries(0), countersign.WithHTTPClient(&http.Client{Transport: damaging{rng, want}}))
			require.NoError(t, err)
			got, err := between.Authorize(t.Context(), asked)
			if err == nil {
				require.NotEqual(t, countersign.DecisionAllow, got.Decision)
				continue
			}
			var garbled *countersign.ProtocolError
			require.ErrorAs(t, err, &garbled)
		}
	}
	review, err := c.ListReviews(t.Context(), countersign.ListReviewsParams{Limit: 1})
	require.NoError(t, err)
	require.NotEmpty(t, review.Items)
	_, err = c.ReviewAuthorization(t.Context(), review.Items[0].Authorization, countersign.ManualReviewRequest{Resolution: "approve"})
	require.NoError(t, err)
}

// damaging sends requests to the service and damages what it returns.
type damaging struct {
	rng      *rand.Rand
	decision countersign.Decision
}

// RoundTrip sends and damages.
func (d damaging) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	r := damage.Recorded{Answer: string(text)}
	a := damage.One(d.rng, []damage.Recorded{r, r})
	for a.Readable && d.decision == countersign.DecisionAllow { // it would stay one
		a = damage.One(d.rng, []damage.Recorded{r, r})
	}
	return a.RoundTrip(req)
}

func TestLiveListsAndStreams(t *testing.T) {
	t.Parallel()
	c, _ := live(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	person, err := c.CreateSubject(ctx, nil)
	require.NoError(t, err)
	// The stream begins with the events after it is open: change the subject until the stream reports a change.
	streamed := make(chan countersign.StreamedEvent)
	go func() {
		defer close(streamed)
		for e, err := range c.StreamEvents(ctx, countersign.StreamParams{Subject: person.ID}) {
			if err != nil {
				return
			}
			select {
			case streamed <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	frozen := true
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for received := false; !received; {
		select {
		case e, open := <-streamed:
			require.True(t, open, "the stream ended")
			payload, err := e.Payload()
			require.NoError(t, err)
			_, received = payload.(*events.SubjectAdaptationChanged)
		case <-tick.C:
			_, err := c.FreezeAdaptation(ctx, person.ID, &countersign.AdaptationFreeze{Frozen: &frozen})
			require.NoError(t, err)
			frozen = !frozen
		}
	}
	_, err = c.CreateSubject(ctx, nil)
	require.NoError(t, err)
	seen := map[string]bool{}
	for subject, err := range c.AllSubjects(ctx, countersign.ListSubjectsParams{Limit: 1}) {
		require.NoError(t, err)
		require.False(t, seen[subject.ID], "listed twice")
		seen[subject.ID] = true
	}
	require.True(t, seen[person.ID])
	_, err = c.GetSubject(ctx, "unknown")
	require.True(t, countersign.IsCode(err, countersign.CodeNotFound))
}
