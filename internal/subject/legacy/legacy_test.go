package legacy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/legacy"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

type bundle struct {
	*fixture.World
	*legacy.Service
	clock     *clock.Fake
	principal identity.Principal
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{World: fixture.New(t, storetest.New(t), storetest.Epoch), clock: clock.NewFake(storetest.Epoch)}
	b.principal = b.Principal("crd_server")
	assessor := assurance.New(scoring.Default(), keys)
	b.Service = legacy.New(legacy.Deps{
		Store: b.Store, Clock: b.clock, Keys: keys, Assessor: assessor,
		Sessions: session.New(b.Store, b.clock, assessor, nil), Subjects: subject.New(b.Store, keys, assessor, b.clock),
	})
	return b
}

// sample returns the timings of the phrase, in milliseconds, a little different each time.
func sample(n int) (reactions, intervals []float64) {
	d := float64(n % 5)
	return []float64{90 + d, 110 - d, 100 + d, 95}, []float64{150 - d, 180 + d, 160}
}

// enrol stores n samples of the user.
func (b *bundle) enrol(t *testing.T, user string, n int) legacy.Enrolled {
	t.Helper()
	var out legacy.Enrolled
	for i := range n {
		reactions, intervals := sample(i)
		var err error
		out, err = b.Enrol(t.Context(), b.principal, user, reactions, intervals, true)
		require.NoError(t, err)
	}
	return out
}

func requireProblem(t *testing.T, err error, code problem.Code) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func TestEnrolCountsSamples(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, legacy.Enrolled{Samples: scoring.FixedMinSamples - 1}, b.enrol(t, "new user", scoring.FixedMinSamples-1))
	require.Equal(t, legacy.Enrolled{Samples: scoring.FixedMinSamples, Enrolled: true}, b.enrol(t, "new user", 1))
	require.Equal(t, 1, b.Count("select count(*) from subjects where external_id = 'new user'"), "the first sample creates the subject")
}

// The timing template is an enrollment too: it completes a recovery, and with the anchor none claims stay capped from there.
func TestEnrolCompletesARecovery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enrol(t, "user", 1)
	recoveries := recovery.New(b.Store, b.clock, backgrounds.Counter{})
	r, err := recoveries.Begin(t.Context(), b.principal, "user", recovery.Begin{Anchor: recovery.AnchorNone})
	require.NoError(t, err)
	b.clock.Set(r.ExpiresAt.Add(-time.Minute))
	b.enrol(t, "user", scoring.FixedMinSamples-1)
	require.Zero(t, b.Events("recovery.completed"))
	b.enrol(t, "user", 2)
	require.Equal(t, 1, b.Events("recovery.completed"))
	limit := recovery.TermsOf(b.principal.Kind, recovery.AnchorNone).Cap
	require.Equal(t, 1, b.Count("select count(*) from subjects where external_id = 'user' and claim_cap_until = $1", b.clock.Now().Add(limit)))
}

func TestEnrolRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enrol(t, "user", 1)
	reactions, intervals := sample(1)
	for name, c := range map[string]struct {
		reactions, intervals []float64
		consent              bool
		code                 problem.Code
	}{
		"no consent":          {reactions, intervals, false, problem.ConsentRequired},
		"too few reactions":   {reactions[1:], intervals, true, problem.Unprocessable},
		"too few intervals":   {reactions, intervals[1:], true, problem.Unprocessable},
		"a negative interval": {reactions, []float64{-1, 1, 1}, true, problem.Unprocessable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Enrol(t.Context(), b.principal, "user", c.reactions, c.intervals, c.consent)
			requireProblem(t, err, c.code)
		})
	}
	require.Equal(t, 2, b.enrol(t, "user", 1).Samples, "a refused sample is not stored")
}

func TestAuthComparesWithTheTemplate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reactions, intervals := sample(2)
	auth := func(user string) (legacy.Verdict, error) {
		return b.Auth(t.Context(), b.principal, user, reactions, intervals)
	}
	_, err := auth("unknown")
	requireProblem(t, err, problem.NotFound)
	_, err = auth(b.Subject.ExternalID)
	requireProblem(t, err, problem.NotFound) // it has no template

	b.enrol(t, "few", 1)
	few, err := auth("few")
	require.NoError(t, err)
	require.Equal(t, "challenge", few.Decision)
	require.Equal(t, []string{reason.InsufficientSamples}, few.Reasons)

	b.enrol(t, "user", 10)
	same, err := auth("user")
	require.NoError(t, err)
	require.Equal(t, "accept", same.Decision)
	other, err := b.Auth(t.Context(), b.principal, "user", []float64{400, 700, 30, 900}, []float64{900, 20, 800})
	require.NoError(t, err)
	require.Equal(t, "reject", other.Decision)
	require.Less(t, other.Confidence, same.Confidence)

	sub, err := subjectrow.Get(t.Context(), b.Store.Q, b.Scope, "user")
	require.NoError(t, err)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.Scope, sub.UID, b.clock.Now())
		return err
	}))
	revoked, err := auth("user")
	require.NoError(t, err)
	require.Equal(t, legacy.Verdict{Decision: "reject", Reasons: []string{reason.SubjectRevoked}}, revoked)
	require.Equal(t, 4, b.Events("authentication.decided"), "every verdict is recorded")
}

func TestSessionOfTheEarlierContract(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Start(t.Context(), b.principal, "new user")
	require.NoError(t, err)
	again, err := b.Start(t.Context(), b.principal, "new user")
	require.NoError(t, err)
	require.Equal(t, v.Subject.UID, again.Subject.UID)

	trust, err := b.Trust(t.Context(), b.Scope, v.Session.ID)
	require.NoError(t, err)
	require.NotEqual(t, "ENDED", trust.State)
	last, err := b.End(t.Context(), b.principal, v.Session.ID)
	require.NoError(t, err)
	require.Equal(t, "ENDED", last.State)
	require.InDelta(t, trust.Score, last.Score, 1e-9, "the end returns the last score")
	over, err := b.Trust(t.Context(), b.Scope, v.Session.ID)
	require.NoError(t, err)
	require.Equal(t, "ENDED", over.State)
	_, err = b.Trust(t.Context(), b.Scope, "ses_unknown")
	requireProblem(t, err, problem.NotFound)
}

// The trust of a revoked subject is broken, whatever its evidence.
func TestTrustOfARevokedSubjectIsBroken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Start(t.Context(), b.principal, b.Subject.ExternalID)
	require.NoError(t, err)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.Scope, b.Subject.UID, b.clock.Now())
		return err
	}))
	trust, err := b.Trust(t.Context(), b.Scope, v.Session.ID)
	require.NoError(t, err)
	require.Equal(t, legacy.Trust{State: scoring.TrustBroken, Reasons: []string{reason.SubjectRevoked}}, trust)
}
