package consolequery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type bundle struct {
	*fixture.World
	*consolequery.Reader
	clock *clock.Fake
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{World: fixture.New(t, testenv.Store(t), now), clock: clock.NewFake(now)}
	decide := authorization.New(b.Store, b.clock, action.New(b.Store, b.clock), assurance.New(scoring.Default(), keys),
		signing.New(b.Store, keys, b.clock, "https://countersign.example"), keys)
	b.Reader = consolequery.New(b.Store, b.clock, decide)
	return b
}

func requireNotFound(t *testing.T, err error) {
	t.Helper()
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
}

func TestCaseOfAHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(time.Hour, 2)
	c, err := b.Case(t.Context(), b.Scope, h.AuthorizationID)
	require.NoError(t, err)
	require.NotNil(t, c.Hold)
	require.Equal(t, 2, c.Hold.ApprovalsRequired)
	require.Equal(t, "high", c.RiskClass)
	require.Equal(t, fixture.Asker, c.Asked)
	require.Equal(t, b.Action.Name, c.Display.Action, "the display that the subject would have seen")
	require.Len(t, c.Chain, 1)
	require.True(t, c.Chain[0].This)
	require.Equal(t, "requested", c.Chain[0].Why)
}

// A chain lists the first decision and its follow-up decisions with their cause, whichever of them the case is about.
func TestCaseListsTheChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, why string
		parent    func(*bundle) string
	}{
		{"after a review", "after review", func(b *bundle) string { return b.Hold(time.Hour, 1).AuthorizationID }},
		{"after a challenge", "after challenge", func(b *bundle) string { return b.Challenge(time.Hour, "passkey").AuthorizationID }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			parent := c.parent(b)
			followUp := b.Authorization("allow")
			followUp.ParentID, followUp.IdempotencyKey = &parent, nil
			followUp.DecidedAt = now.Add(time.Second)
			b.Write(authorization.Decision{Authorization: followUp})
			for _, id := range []string{parent, followUp.ID} {
				got, err := b.Case(t.Context(), b.Scope, id)
				require.NoError(t, err)
				require.Len(t, got.Chain, 2)
				require.Equal(t, []string{parent, followUp.ID}, []string{got.Chain[0].ID, got.Chain[1].ID})
				require.Equal(t, []string{"requested", c.why}, []string{got.Chain[0].Why, got.Chain[1].Why})
				require.Equal(t, id == parent, got.Chain[0].This)
			}
		})
	}
}

func TestCaseAndSubjectFindNothingInAnotherScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(time.Hour, 1)
	other := pg.Scope{Tenant: b.Scope.Tenant, Environment: "env_other"}
	_, err := b.Case(t.Context(), other, h.AuthorizationID)
	requireNotFound(t, err)
	_, err = b.Reader.Subject(t.Context(), other, b.World.Subject.ExternalID)
	requireNotFound(t, err)
}

func TestSubjectTimeline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Hold(time.Hour, 1)
	require.NoError(t, session.CreateSession(t.Context(), b.Store.Q, models.Session{
		ID: "ses_idle", TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment, SubjectUID: b.World.Subject.UID,
		DeviceClass: "desktop", Status: models.SessionActive, StartedAt: now, LastActivityAt: now, Coverage: "none", TrustState: "LEARNING",
	}))
	b.clock.Advance(assurance.SessionIdle)
	got, err := b.Reader.Subject(t.Context(), b.Scope, b.World.Subject.ExternalID)
	require.NoError(t, err)
	require.Equal(t, b.World.Subject.UID, got.UID)
	require.Len(t, got.Decisions, 1)
	require.Len(t, got.Sessions, 1)
	require.Equal(t, models.SessionExpired, got.Sessions[0].Status, "the status as of now")
	require.Zero(t, got.Passkeys)
	require.Empty(t, got.Trust)
}

func TestQueuesCountsTheBacklogAsOfNow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Hold(30*time.Minute, 1)
	b.Hold(48*time.Hour, 1)
	b.Challenge(5*time.Minute, "passkey")
	for _, c := range []struct {
		name                            string
		after                           time.Duration
		challenges, holds, withinAnHour int64
	}{
		{"at first", 0, 1, 2, 1},
		{"the challenge has expired", 10 * time.Minute, 0, 2, 1},
		{"a hold has expired", time.Hour, 0, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.clock.Set(now.Add(c.after))
			q, err := b.Queues(t.Context(), b.Scope)
			require.NoError(t, err)
			require.Equal(t, b.clock.Now(), q.Now)
			require.Equal(t, c.challenges, q.Challenges)
			require.Equal(t, c.holds, q.Holds.Pending)
			require.Equal(t, c.withinAnHour, q.Holds.WithinHour)
			require.Empty(t, q.Endpoints)
		})
	}
}

func TestNamesReturnsStaffOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, identity.CreatePerson(t.Context(), b.Store.Q, models.Person{ID: "per_1", TenantID: b.Scope.Tenant, Name: "Ada", CreatedAt: now, CreatedBy: "cli:test"}))
	names, err := b.Names(t.Context(), b.Scope.Tenant, []string{"person:per_1", "credential:crd_1", "person:per_unknown"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"per_1": "Ada"}, names)
	names, err = b.Names(t.Context(), b.Scope.Tenant, nil)
	require.NoError(t, err)
	require.Empty(t, names)
}
