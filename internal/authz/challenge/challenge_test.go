package challenge_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// linkBase is the URL prefix of challenge links.
const linkBase = "http://localhost:8080/challenge/"

const life = 5 * time.Minute

// assertions takes every assertion that says {"ok":true} as one of the passkey.
type assertions struct {
	passkey models.Passkey
	calls   atomic.Int32
	before  func() // what a late assertion finds done
}

func (a *assertions) AssertionOptions(context.Context, pg.Scope, models.Challenge, string) (any, error) {
	return map[string]string{"challenge": "AAAA"}, nil
}

func (a *assertions) OpeningOptions(_ context.Context, _ pg.Scope, _ models.Challenge, l models.ChallengeLink) (any, error) {
	return l.Random, nil
}

// VerifyOpening accepts the bytes that OpeningOptions returned.
func (a *assertions) VerifyOpening(_ context.Context, _ pg.Scope, _ models.Challenge, l models.ChallengeLink, raw json.RawMessage) error {
	var signed []byte
	if err := json.Unmarshal(raw, &signed); err != nil || !bytes.Equal(signed, l.Random) {
		return problem.New(problem.AssertionChallenge, "other bytes")
	}
	return nil
}

func (a *assertions) VerifyAssertion(_ context.Context, _ pg.Scope, _ models.Challenge, raw json.RawMessage, _ time.Time) (models.Passkey, error) {
	a.calls.Add(1)
	var body struct {
		OK    bool  `json:"ok"`
		Count int64 `json:"count"`
		Away  bool  `json:"outage"`
		Late  bool  `json:"late"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return models.Passkey{}, problem.New(problem.AssertionMalformed, "malformed")
	}
	if body.Late && a.before != nil {
		before := a.before
		a.before = nil
		before()
		return models.Passkey{}, problem.New(problem.ChallengeClosed, "settled meanwhile")
	}
	if body.Away {
		return models.Passkey{}, errors.New("the database is unavailable")
	}
	if !body.OK {
		return models.Passkey{}, problem.New(problem.AssertionSignature, "signature")
	}
	p := a.passkey
	p.SignCount = body.Count
	return p, nil
}

type bundle struct {
	*fixture.World
	clock      *clock.Fake
	service    *challenge.Service
	assertions *assertions
	decided    int
	deciding   func(ctx context.Context) context.Context // the context of follow-up decisions; nil leaves it
	decision   string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupOn(t, testenv.Store(t))
}

func setupOn(t *testing.T, st *pg.Store) *bundle {
	t.Helper()
	b := &bundle{World: fixture.New(t, st, now), clock: clock.NewFake(now), assertions: &assertions{}, decision: "allow"}
	k, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b.assertions.passkey = models.Passkey{ID: "psk_1"}
	b.Exec(`insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid,
		transports, sign_count, user_verified, backup_eligible, backup_state, created_at)
		values ('psk_1', $1, $2, $3, '\x01', '\x01', 'none', '\x00', '{}', 0, true, true, false, $4)`,
		b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, now)
	b.service = challenge.New(challenge.Deps{
		Store: st, Clock: b.clock, Keyring: k, Assertions: b.assertions, LinkBase: linkBase,
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			b.decided++
			if b.deciding != nil {
				ctx = b.deciding(ctx)
			}
			return b.FollowUp(ctx, q, a, b.decision)
		},
	})
	return b
}

func (b *bundle) move(p challenge.Prepared) challenge.Move {
	digest, _ := hex.DecodeString(p.Request)
	return challenge.Move{ID: p.Workflow.Challenge, Environment: p.Workflow.Environment, Request: digest, At: b.clock.Now(), WorkflowID: "challenge/" + p.Workflow.Challenge}
}

func TestCompleteBySandboxConfirm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey", "sandbox_confirm")
	p := b.Principal("crd_1")
	prepared, err := b.service.PrepareCompletion(t.Context(), p, c.ID, challenge.MethodSandboxConfirm, nil)
	require.NoError(t, err)
	require.Nil(t, prepared.Receipt)
	require.Equal(t, challenge.WorkflowInput{
		Challenge: c.ID, Authorization: c.AuthorizationID, Environment: b.Scope.Environment, Action: "payments.transfer", ExpiresAt: c.ExpiresAt,
	}, prepared.Workflow)

	out, err := b.service.Complete(t.Context(), b.move(prepared))
	require.NoError(t, err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
	require.Equal(t, policy.Allow, out.Decision)

	again, err := b.service.Complete(t.Context(), b.move(prepared))
	require.NoError(t, err, "an activity that died after its commit finds its own work")
	require.Equal(t, out.Authorization, again.Authorization)
	require.Equal(t, 1, b.decided)

	repeated, err := b.service.PrepareCompletion(t.Context(), p, c.ID, challenge.MethodSandboxConfirm, json.RawMessage("null"))
	require.NoError(t, err)
	require.NotNil(t, repeated.Receipt.CompletedAt)
	want := &challenge.Receipt{
		Challenge: c.ID, Status: "completed", Authorization: out.Authorization, Method: "sandbox_confirm", CompletedAt: repeated.Receipt.CompletedAt,
	}
	require.Equal(t, want, repeated.Receipt, "the same request gets the stored receipt")
	receipt, err := b.service.Receipt(t.Context(), b.Scope, c.ID, prepared.Request)
	require.NoError(t, err)
	require.Equal(t, want, receipt)

	_, err = b.service.PrepareCompletion(t.Context(), p, c.ID, challenge.MethodPasskey, json.RawMessage(`{"ok":true}`))
	require.True(t, problem.Is(err, problem.ChallengeClosed), "%v", err)
	_, err = b.service.PrepareCancel(t.Context(), p, c.ID)
	require.True(t, problem.Is(err, problem.ChallengeClosed), "%v", err)
	require.Equal(t, 1, b.Events("challenge.completed"))
	require.Equal(t, 1, b.Count("select count(*) from challenges where strength = 'sandbox' and method_used = 'sandbox_confirm'"))
}

func TestCompleteByPasskeyUsesTheAssertionUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.Challenge(life, "passkey"), b.Challenge(life, "passkey")
	assertion := json.RawMessage(`{"ok":true,"count":7}`)
	first, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), one.ID, challenge.MethodPasskey, assertion)
	require.NoError(t, err)
	second, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), two.ID, challenge.MethodPasskey, assertion)
	require.NoError(t, err)
	require.NotEqual(t, first.Request, second.Request, "one assertion over two challenges is two requests")

	_, err = b.service.Complete(t.Context(), b.move(first))
	require.NoError(t, err)
	require.Equal(t, 1, b.Count("select count(*) from passkeys where sign_count = 7 and last_used_at is not null"))
	_, err = b.service.Complete(t.Context(), b.move(second))
	require.True(t, problem.Is(err, problem.AssertionRefused), "the counter is used up: %v", err)
	require.Equal(t, 1, b.Count("select count(*) from challenges where id = $1 and status = 'open'", two.ID), "and nothing is half done")
	require.Equal(t, 1, b.decided)
}

// Of one assertion that is sent twice at once, the second to be verified finds it used by the first: it gets the same receipt.
func TestRepeatedAssertionReturnsTheReceipt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	assertion := json.RawMessage(`{"ok":true,"count":7,"late":true}`)
	first, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodPasskey, assertion)
	require.NoError(t, err)
	var out challenge.Outcome
	b.assertions.before = func() {
		out, err = b.service.Complete(t.Context(), b.move(first))
		require.NoError(t, err)
	}
	second, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodPasskey, assertion)
	require.NoError(t, err)
	require.Equal(t, out.Authorization, second.Receipt.Authorization)
	require.Zero(t, b.Events("challenge.attempt_failed"))
}

func TestCompleteRefusesPasskeyRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	prepared, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodPasskey, json.RawMessage(`{"ok":true}`))
	require.NoError(t, err)
	b.Exec("update passkeys set revoked_at = $1", now)
	_, err = b.service.Complete(t.Context(), b.move(prepared))
	require.True(t, problem.Is(err, problem.AssertionRefused), "%v", err)
	require.Equal(t, 0, b.decided)
}

func TestPrepareCompletionRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods   []string
		method    string
		assertion string
		live      bool
		advance   time.Duration
		code      problem.Code
	}{
		"a method not offered":       {methods: []string{"passkey"}, method: "sandbox_confirm", code: problem.MethodNotOffered},
		"sandbox_confirm in live":    {methods: []string{"passkey", "sandbox_confirm"}, method: "sandbox_confirm", live: true, code: problem.SandboxOnly},
		"a passkey without one":      {methods: []string{"passkey"}, method: "passkey", code: problem.Unprocessable},
		"an assertion that is null":  {methods: []string{"passkey"}, method: "passkey", assertion: " null ", code: problem.Unprocessable},
		"a wrong signature":          {methods: []string{"passkey"}, method: "passkey", assertion: `{}`, code: problem.AssertionSignature},
		"a value without exact form": {methods: []string{"passkey"}, method: "passkey", assertion: `{"n":9007199254740993}`, code: problem.AssertionMalformed},
		"too late":                   {methods: []string{"passkey"}, method: "passkey", assertion: `{"ok":true}`, advance: life, code: problem.ChallengeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if c.live {
				b.Kind = models.Live
			}
			row := b.Challenge(life, c.methods...)
			b.clock.Advance(c.advance)
			_, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), row.ID, c.method, json.RawMessage(c.assertion))
			require.True(t, problem.Is(err, c.code), "%v", err)
			require.Equal(t, 0, b.Count("select count(*) from move_requests"))
		})
	}
}

func TestForeignAndUnknownChallengesAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "sandbox_confirm")
	for _, p := range []pg.Scope{{Tenant: b.Scope.Tenant, Environment: "env_other"}, {Tenant: "tnt_other", Environment: b.Scope.Environment}} {
		_, err := b.service.Get(t.Context(), p, c.ID)
		require.ErrorIs(t, err, pg.ErrNotFound)
	}
	_, err := b.service.PrepareCancel(t.Context(), b.Principal("crd_1"), "chl_unknown")
	require.ErrorIs(t, err, pg.ErrNotFound)
}

func TestFiveRefusedAssertionsFailTheChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	try := func(assertion string) error {
		_, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodPasskey, json.RawMessage(assertion))
		return err
	}
	require.Error(t, try(`{"outage":true}`), "an outage is no refusal")
	require.Equal(t, 0, b.Count("select failures from challenges"))
	for range challenge.MaxFailures {
		require.True(t, problem.Is(try(`{}`), problem.AssertionSignature), "each refusal names the fault")
	}
	require.True(t, problem.Is(try(`{"ok":true}`), problem.ChallengeClosed), "a right one comes too late")
	v, err := b.service.Get(t.Context(), b.Scope, c.ID)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeFailed, v.Status)
	require.Equal(t, challenge.MaxFailures-1, b.Events("challenge.attempt_failed"))
	require.Equal(t, 1, b.Events("challenge.failed"))
	require.Equal(t, 1, b.Count("select count(*) from outbox where topic = 'challenge.settled' and ref = $1", c.ID), "the workflow is signaled")
}

func TestConcurrentRefusedAssertionsAreEachCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, _ = b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodPasskey, json.RawMessage(`{}`))
		})
	}
	all.Wait()
	require.Equal(t, challenge.MaxFailures, b.Count("select failures from challenges"))
	require.Equal(t, 1, b.Events("challenge.failed"))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "sandbox_confirm")
	move := challenge.Move{Environment: b.Scope.Environment, ID: c.ID, At: now.Add(life - time.Microsecond), WorkflowID: "challenge/" + c.ID}
	out, err := b.service.Expire(t.Context(), move)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeOpen, out.Status)
	require.True(t, c.ExpiresAt.Equal(out.ExpiresAt))

	b.clock.Advance(life)
	v, err := b.service.Get(t.Context(), b.Scope, c.ID)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeExpired, v.Status, "however late the timer")

	move.At = now.Add(life)
	for range 2 {
		out, err = b.service.Expire(t.Context(), move)
		require.NoError(t, err)
		require.Equal(t, models.ChallengeExpired, out.Status)
	}
	require.Equal(t, 1, b.Events("challenge.expired"))
}

func TestExpireOfAnErasedChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, err := b.service.Expire(t.Context(), challenge.Move{Environment: b.Scope.Environment, ID: "chl_gone", At: now})
	require.NoError(t, err)
	require.Equal(t, challenge.Gone, out.Status)
}

// However many moves are made at once, without any run to put them in order: one wins.
func TestConcurrentMovesHaveOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "sandbox_confirm")
	completion, err := b.service.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodSandboxConfirm, nil)
	require.NoError(t, err)
	cancellation, err := b.service.PrepareCancel(t.Context(), b.Principal("crd_2"), c.ID)
	require.NoError(t, err)
	late := challenge.Move{Environment: b.Scope.Environment, ID: c.ID, At: now.Add(life), WorkflowID: "challenge/" + c.ID}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _, _ = b.service.Complete(t.Context(), b.move(completion)) })
		all.Go(func() { _, _ = b.service.Cancel(t.Context(), b.move(cancellation)) })
		all.Go(func() { _, _ = b.service.Expire(t.Context(), late) })
	}
	all.Wait()
	require.Equal(t, 1, b.Events("challenge.completed")+b.Events("challenge.cancelled")+b.Events("challenge.expired"))
	require.Equal(t, b.Events("challenge.completed"), b.Count("select count(*) from authorizations where parent_id is not null"))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "sandbox_confirm")
	prepared, err := b.service.PrepareCancel(t.Context(), b.Principal("crd_1"), c.ID)
	require.NoError(t, err)
	for range 2 {
		out, err := b.service.Cancel(t.Context(), b.move(prepared))
		require.NoError(t, err)
		require.Equal(t, models.ChallengeCancelled, out.Status)
	}
	require.Equal(t, 1, b.Events("challenge.cancelled"))
	completion := b.move(prepared)
	_, err = b.service.Complete(t.Context(), completion)
	require.True(t, problem.Is(err, problem.Conflict), "a request to cancel completes nothing: %v", err)
}

func TestLinkOpensItsChallengeUntilItExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, other := b.Challenge(life, "passkey"), b.Challenge(life, "passkey")
	link, err := b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{})
	require.NoError(t, err)
	ticket := ticketOf(t, b, link, c)
	v, err := b.service.ByTicket(t.Context(), ticket, "")
	require.NoError(t, err)
	require.Equal(t, b.Scope, v.Scope())
	require.Equal(t, c.ID, v.ID)
	require.NotEqual(t, other.ID, v.ID)
	require.Equal(t, 0, b.Count("select count(*) from challenge_links where mac::text like '%' || $1 || '%'", ticket))
	_, err = b.service.ByTicket(t.Context(), ticket[1:], "")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	b.clock.Advance(life)
	_, err = b.service.ByTicket(t.Context(), ticket, "")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	_, err = b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{})
	require.True(t, problem.Is(err, problem.ChallengeExpired), "%v", err)
}

func TestWorkflowInputOfChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "sandbox_confirm")
	run, waiting, err := b.service.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	require.True(t, waiting)
	require.Equal(t, c.ID, run.Challenge)
	_, waiting, err = b.service.WorkflowInput(t.Context(), c.EnvironmentID, "chl_gone")
	require.NoError(t, err)
	require.False(t, waiting)
}
