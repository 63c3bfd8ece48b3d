package authorization_test

import (
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// The policies of the tests: the subject has no evidence, so that each decides by what it requires of it.
var (
	allowing    = policy.Requirements{CoverageMin: "none"}
	challenging = policy.Requirements{InsufficientEvidence: policy.Challenge}
	holding     = policy.Requirements{InsufficientEvidence: policy.Hold}
	denying     = policy.Requirements{InsufficientEvidence: policy.Deny}
)

// bundle is a service that decides about the subject and the action of a world.
type bundle struct {
	*fixture.World
	*authorization.Service
	clock     *clock.Fake
	actions   *action.Service
	lists     *lists.Service
	subjects  *subject.Service
	principal identity.Principal
	requests  int
}

func setup(t *testing.T, r policy.Requirements) *bundle {
	t.Helper()
	return setupOn(t, storetest.New(t), r)
}

func setupOn(t *testing.T, st *pg.Store, r policy.Requirements, signers ...keys.Signer) *bundle {
	t.Helper()
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{World: fixture.New(t, st, storetest.Epoch), clock: clock.NewFake(storetest.Epoch)}
	b.principal = b.Principal("crd_server")
	proofs := signing.New(b.Store, ring, b.clock, "https://countersign.example", signers...)
	require.NoError(t, proofs.Establish(t.Context(), b.Store.Q, b.Scope, "cli:test"))
	b.actions = action.New(b.Store, b.clock)
	b.lists = lists.New(b.Store, b.clock, ring)
	b.subjects = subject.New(b.Store, ring, nil, b.clock)
	b.Service = authorization.New(b.Store, b.clock, b.actions, assurance.New(scoring.Default(), ring), proofs, ring)
	b.activate(t, action.CreateVersion{Requirements: r})
	return b
}

// activate gives the action another active policy version.
func (b *bundle) activate(t *testing.T, in action.CreateVersion) {
	t.Helper()
	v, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, in)
	require.NoError(t, err)
	_, err = b.actions.Activate(t.Context(), b.principal, b.Action.ID, v.Version)
	require.NoError(t, err)
}

// request returns a valid request with a nonce and an idempotency key of its own.
func (b *bundle) request() authorization.Request {
	b.requests++
	n := strconv.Itoa(b.requests)
	return authorization.Request{
		Subject: b.Subject.ExternalID, Action: b.Action.Key, Resource: authorization.Resource{Type: "account", ID: "acc_1"},
		Audience: "payments-api", RequestedAt: b.clock.Now().Unix(), Nonce: "nonce-0123456789-" + n, IdempotencyKey: "key-" + n,
	}
}

func (b *bundle) authorize(t *testing.T, r authorization.Request) (authorization.Response, error) {
	t.Helper()
	answer, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
	if err != nil {
		return authorization.Response{}, err
	}
	var out authorization.Response
	require.NoError(t, json.Unmarshal(answer.Body, &out))
	return out, nil
}

func requireProblem(t *testing.T, err error, code problem.Code) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func TestAuthorizeDecidesByThePolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		requirements policy.Requirements
		decision     policy.Effect
		proof, held  bool
		challenged   bool
	}{
		{name: "allow", requirements: allowing, decision: policy.Allow, proof: true},
		{name: "challenge", requirements: challenging, decision: policy.Challenge, challenged: true},
		{name: "hold", requirements: holding, decision: policy.Hold, held: true},
		{name: "deny", requirements: denying, decision: policy.Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.requirements)
			got, err := b.authorize(t, b.request())
			require.NoError(t, err)
			require.Equal(t, c.decision, got.Decision)
			require.Equal(t, c.proof, got.Proof != nil)
			require.Equal(t, c.challenged, got.Challenge != nil)

			trace, err := b.Get(t.Context(), b.Scope, got.ID)
			require.NoError(t, err)
			require.Equal(t, c.decision, trace.Decision)
			require.Equal(t, c.held, trace.ReviewStatus != nil)
			require.Equal(t, 1, b.Events("authorization.decided"))
		})
	}
}

func TestAuthorizeRefusesRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	b.AddAction("payments.without_policy")
	for name, c := range map[string]struct {
		change func(*authorization.Request)
		code   problem.Code
	}{
		"unknown subject":         {func(r *authorization.Request) { r.Subject = "unknown" }, problem.NotFound},
		"unknown action":          {func(r *authorization.Request) { r.Action = "unknown" }, problem.NotFound},
		"action without a policy": {func(r *authorization.Request) { r.Action = "payments.without_policy" }, problem.NoActivePolicy},
		"unknown session":         {func(r *authorization.Request) { id := "ses_unknown"; r.Session = &id }, problem.NotFound},
		"other audience":          {func(r *authorization.Request) { r.Audience = "other-api" }, problem.AudienceNotAllowed},
		"other resource type":     {func(r *authorization.Request) { r.Resource.Type = "card" }, problem.Unprocessable},
		"requested too long ago":  {func(r *authorization.Request) { r.RequestedAt -= 301 }, problem.Unprocessable},
		"requested in the future": {func(r *authorization.Request) { r.RequestedAt += 301 }, problem.Unprocessable},
		"context of another type": {func(r *authorization.Request) { r.Context = json.RawMessage(`[]`) }, problem.Unprocessable},
	} {
		r := b.request()
		c.change(&r)
		t.Run(name, func(t *testing.T) {
			_, err := b.authorize(t, r)
			requireProblem(t, err, c.code)
		})
	}
	require.Zero(t, b.Events("authorization.decided"), "a refused request must not be recorded as a decision")
}

func TestAuthorizeRefusesCallersThatThePolicyDoesNotName(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	b.activate(t, action.CreateVersion{Requirements: allowing, AllowedCallers: []string{"crd_other"}})
	_, err := b.authorize(t, b.request())
	requireProblem(t, err, problem.CallerNotAllowed)
}

func TestAuthorizeReturnsTheStoredResponseForTheSameKey(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	r := b.request()
	first, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
	require.NoError(t, err)
	require.False(t, first.Replayed)

	b.clock.Advance(time.Hour) // a retry is not refused for its age
	second, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
	require.NoError(t, err)
	require.True(t, second.Replayed)
	require.Equal(t, string(first.Body), string(second.Body), "including the proof")

	changed := r
	changed.Resource.ID = "acc_2"
	_, err = b.authorize(t, changed)
	requireProblem(t, err, problem.IdempotencyReused)

	other := b.principal
	other.CredentialID = "crd_other"
	_, err = b.Authorize(t.Context(), other, r, b.clock.Now())
	requireProblem(t, err, problem.IdempotencyReused)
	require.Equal(t, 1, b.Events("authorization.decided"))
}

func TestAuthorizeRefusesAUsedNonce(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	first, second := b.request(), b.request()
	second.Nonce = first.Nonce
	_, err := b.authorize(t, first)
	require.NoError(t, err)
	_, err = b.authorize(t, second)
	requireProblem(t, err, problem.NonceReplayed)
}

func TestAuthorizeDecidesConcurrentRetriesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	r := b.request()
	var wg sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		wg.Go(func() {
			answer, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
			if err == nil {
				bodies[i] = string(answer.Body)
			}
		})
	}
	wg.Wait()
	for _, body := range bodies {
		require.NotEmpty(t, body)
		require.Equal(t, bodies[0], body)
	}
	require.Equal(t, 1, b.Events("authorization.decided"))
}

// A revoked subject is denied, whatever the policy would allow.
func TestAuthorizeDeniesARevokedSubject(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.Scope, b.Subject.UID, b.clock.Now())
		return err
	}))
	got, err := b.authorize(t, b.request())
	require.NoError(t, err)
	require.Equal(t, policy.Deny, got.Decision)
	require.Contains(t, got.ReasonCodes, reason.SubjectRevoked)
	require.Nil(t, got.Proof)
}

// The status of a challenge, a hold and a proof is computed from the clock, however late its workflow is.
func TestGetReturnsTheStatusAsOfNow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		requirements  policy.Requirements
		status        func(authorization.Trace) string
		before, after string
	}{
		{"proof", allowing, func(a authorization.Trace) string { return a.Proof.Status }, "active", "expired"},
		{"challenge", challenging, func(a authorization.Trace) string { return a.Challenge.Status }, "open", "expired"},
		{"hold", holding, func(a authorization.Trace) string { return *a.ReviewStatus }, "pending", "expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.requirements)
			got, err := b.authorize(t, b.request())
			require.NoError(t, err)
			trace, err := b.Get(t.Context(), b.Scope, got.ID)
			require.NoError(t, err)
			require.Equal(t, c.before, c.status(trace))
			b.clock.Advance(100 * 24 * time.Hour)
			trace, err = b.Get(t.Context(), b.Scope, got.ID)
			require.NoError(t, err)
			require.Equal(t, c.after, c.status(trace))
			if trace.Proof != nil {
				require.Nil(t, trace.Proof.Compact, "an expired proof must not be returned")
			}
		})
	}
}

func TestGetFindsNoDecisionOfAnotherScope(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	got, err := b.authorize(t, b.request())
	require.NoError(t, err)
	_, err = b.Get(t.Context(), pg.Scope{Tenant: b.Scope.Tenant, Environment: "env_other"}, got.ID)
	requireProblem(t, err, problem.NotFound)
}

func TestOutcomeIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	got, err := b.authorize(t, b.request())
	require.NoError(t, err)
	report := func(outcome string) (authorization.OutcomeReceipt, error) {
		b.clock.Advance(time.Second)
		return b.Outcome(t.Context(), b.principal, got.ID, outcome, nil)
	}
	unknown, err := report("unknown")
	require.NoError(t, err)
	repeated, err := report("unknown")
	require.NoError(t, err)
	require.Equal(t, unknown, repeated, "unknown does not replace itself")
	executed, err := report("executed")
	require.NoError(t, err, "unknown may be replaced")
	require.NotEqual(t, unknown.ReportedAt, executed.ReportedAt)
	again, err := report("executed")
	require.NoError(t, err)
	require.Equal(t, executed, again, "a repeated report returns the first receipt")
	_, err = report("false_challenge")
	requireProblem(t, err, problem.OutcomeConflict)
	require.Equal(t, 2, b.Events("outcome.reported"))

	_, err = b.Outcome(t.Context(), b.principal, "azn_unknown", "executed", nil)
	requireProblem(t, err, problem.NotFound)
}

func TestSimulateAppliesAnotherVersionToStoredDecisions(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	for range 3 {
		_, err := b.authorize(t, b.request())
		require.NoError(t, err)
	}
	draft, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: denying})
	require.NoError(t, err)
	got, err := b.Simulate(t.Context(), b.Scope, draft, policy.Sandbox, authorization.Window{Last: 2})
	require.NoError(t, err)
	require.Equal(t, 2, got.Decisions)
	require.Equal(t, 2, got.Changed)
	require.Equal(t, []authorization.Transition{{From: "allow", To: "deny", Count: 2}}, got.Transitions)
	require.Equal(t, 3, b.Events("authorization.decided"), "a simulation writes nothing")
	require.Equal(t, models.PolicyDraft, draft.Status)
}
