package assurance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func newAssessor(t *testing.T) *assurance.Assessor {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	return assurance.New(scoring.Default(), keys)
}

func TestEffectiveExpiresIdleAndOldSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    models.SessionStatus
		idle, old time.Duration
		want      models.SessionStatus
	}{
		"active":         {models.SessionActive, 0, time.Hour, models.SessionActive},
		"almost idle":    {models.SessionActive, assurance.SessionIdle - 1, time.Hour, models.SessionActive},
		"idle":           {models.SessionActive, assurance.SessionIdle, time.Hour, models.SessionExpired},
		"almost old":     {models.SessionActive, 0, assurance.SessionLife - 1, models.SessionActive},
		"old":            {models.SessionActive, 0, assurance.SessionLife, models.SessionExpired},
		"ended and idle": {models.SessionEnded, 2 * assurance.SessionIdle, time.Hour, models.SessionEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, assurance.Effective(models.Session{Status: c.status, StartedAt: now.Add(-c.old), LastActivityAt: now.Add(-c.idle)}, now))
		})
	}
}

// A sealed value is bound to the row that it was sealed for and to the keyring.
func TestSealedStateOpensForItsSessionOnly(t *testing.T) {
	t.Parallel()
	a := newAssessor(t)
	state := scoring.NewState(scoring.UnknownDevice)
	state.Frames = 7
	sealed, err := a.SealState("ses_1", state)
	require.NoError(t, err)

	opened, err := a.OpenState(models.Session{ID: "ses_1", State: sealed})
	require.NoError(t, err)
	require.Equal(t, 7, opened.Frames)
	_, err = a.OpenState(models.Session{ID: "ses_2", State: sealed})
	require.ErrorContains(t, err, "ses_2")
	_, err = newAssessor(t).OpenState(models.Session{ID: "ses_1", State: sealed})
	require.Error(t, err)

	empty, err := a.OpenState(models.Session{ID: "ses_2"})
	require.NoError(t, err)
	require.Zero(t, empty.Frames, "a session without evidence has an empty state")
}

func TestAssessWithoutASession(t *testing.T) {
	t.Parallel()
	p, err := newAssessor(t).Assess(models.Subject{ExternalID: "user-1"}, nil, nil, now)
	require.NoError(t, err)
	require.Equal(t, "user-1", p.Subject)
	require.Nil(t, p.Session)
	require.Zero(t, p.EvidenceWindows)
	require.True(t, p.InsufficientEvidence)
	require.Equal(t, reason.SessionMissing, p.Claim(scoring.ClaimContinuity).ReasonCodes[0])
}

func TestFactsAreThoseOfTheProfile(t *testing.T) {
	t.Parallel()
	p, err := newAssessor(t).Assess(models.Subject{ExternalID: "user-1"}, nil, nil, now)
	require.NoError(t, err)
	facts := p.Facts()
	require.Equal(t, string(p.Coverage), string(facts.Coverage))
	require.Equal(t, p.InsufficientEvidence, facts.InsufficientEvidence)
	require.Len(t, facts.Claims, len(p.Claims))
	for i, c := range p.Claims {
		require.Equal(t, c.Claim, facts.Claims[i].Name)
		require.Equal(t, string(c.Status), string(facts.Claims[i].Status))
	}
}
