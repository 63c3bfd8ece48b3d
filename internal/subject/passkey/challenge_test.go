package passkey_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// stepUp is the challenge service with the passkey service, on rows like those that authorize writes.
type stepUp struct {
	*bundle
	challenges *challenge.Service
}

func setupStepUp(t *testing.T) *stepUp {
	t.Helper()
	b := setup(t)
	return &stepUp{bundle: b, challenges: challenge.New(challenge.Deps{
		Store: b.store, Clock: b.clock, Keyring: b.ring, Assertions: b.service,
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			return b.world.FollowUp(ctx, q, a, "allow")
		},
	})}
}

func (s *stepUp) prepare(c models.Challenge, assertion json.RawMessage) (challenge.Prepared, error) {
	return s.challenges.PrepareCompletion(context.Background(), s.principal, c.ID, challenge.MethodPasskey, assertion)
}

func (s *stepUp) complete(t *testing.T, c models.Challenge, prepared challenge.Prepared) (challenge.Outcome, error) {
	t.Helper()
	request, err := s.store.Pool().Query(context.Background(), "select digest from move_requests where target = $1", c.ID)
	require.NoError(t, err)
	var digest []byte
	for request.Next() {
		require.NoError(t, request.Scan(&digest))
	}
	require.NoError(t, request.Err())
	require.NotEmpty(t, prepared.Request)
	return s.challenges.Complete(context.Background(), challenge.Move{Environment: c.EnvironmentID, ID: c.ID, Request: digest, At: s.clock.Now(), WorkflowID: "challenge/" + c.ID})
}

// Postgres changes the key order and the spacing of a stored display, which must not change the challenge.
func TestChallengeIsCompletedByPasskey(t *testing.T) {
	t.Parallel()
	s := setupStepUp(t)
	d := s.register(t, s.device(virtualwebauthn.AuthenticatorOptions{}))
	c := s.challenge(t)
	options, err := s.challenges.Options(context.Background(), s.scope, c.ID, "")
	require.NoError(t, err)
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(raw))
	require.NoError(t, err)
	d.credential.Counter++
	assertion := json.RawMessage(virtualwebauthn.CreateAssertionResponse(s.rp, d.Authenticator, d.credential, *parsed))

	prepared, err := s.prepare(c, assertion)
	require.NoError(t, err)
	out, err := s.complete(t, c, prepared)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
	rows, err := challenge.ActivePasskeys(context.Background(), s.store.Q, s.scope, s.subject.UID)
	require.NoError(t, err)
	require.EqualValues(t, 1, rows[0].SignCount)
	require.Equal(t, s.clock.Now(), rows[0].LastUsedAt.UTC())

	again, err := s.prepare(c, assertion)
	require.NoError(t, err)
	require.NotNil(t, again.Receipt, "the same assertion gets the stored receipt")
	other := s.challenge(t)
	_, err = s.prepare(other, assertion)
	requireCode(t, problem.AssertionChallenge, err)
}

// Two challenges with assertions of the same counter value: the authenticator made one of them, a copy the other.
func TestCounterValueCompletesOneChallengeOnly(t *testing.T) {
	t.Parallel()
	s := setupStepUp(t)
	d := s.register(t, s.device(virtualwebauthn.AuthenticatorOptions{}))
	challenges := []models.Challenge{s.challenge(t), s.challenge(t)}
	prepared := make([]challenge.Prepared, 2)
	for i, c := range challenges {
		var err error
		prepared[i], err = s.prepare(c, s.answer(t, d, c, func(a *assertion) { a.counter = 9 }))
		require.NoError(t, err, "neither assertion was used yet")
	}
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i, c := range challenges {
		both.Go(func() { _, errs[i] = s.complete(t, c, prepared[i]) })
	}
	both.Wait()
	if errs[0] == nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	requireCode(t, problem.AssertionRefused, errs[0])
	require.NoError(t, errs[1])
	require.Equal(t, 1, s.world.Count("select count(*) from challenges where status = 'completed'"))
}

func TestPasskeyRevokedAfterVerificationIsRejected(t *testing.T) {
	t.Parallel()
	s := setupStepUp(t)
	d := s.register(t, s.device(virtualwebauthn.AuthenticatorOptions{}))
	c := s.challenge(t)
	prepared, err := s.prepare(c, s.answer(t, d, c, nil))
	require.NoError(t, err)
	require.NoError(t, s.service.Revoke(context.Background(), s.principal, s.subject.ExternalID, d.row.ID))
	_, err = s.complete(t, c, prepared)
	requireCode(t, problem.AssertionRefused, err)
	require.Equal(t, 1, s.world.Count("select count(*) from challenges where status = 'open'"))
}

func TestFiveRefusedAssertionsFailTheChallenge(t *testing.T) {
	t.Parallel()
	s := setupStepUp(t)
	d := s.register(t, s.device(virtualwebauthn.AuthenticatorOptions{}))
	c := s.challenge(t)
	for range challenge.MaxFailures {
		_, err := s.prepare(c, s.answer(t, d, c, func(a *assertion) { a.flags &^= flagUV }))
		requireCode(t, problem.AssertionUnverified, err)
		s.clock.Advance(time.Second)
	}
	_, err := s.prepare(c, s.answer(t, d, c, nil))
	requireCode(t, problem.ChallengeClosed, err)
	require.Equal(t, 1, s.world.Events("challenge.failed"))
}
