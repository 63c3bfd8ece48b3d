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

func TestAssessIgnoresEvidenceOfEndedSessions(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	a := assurance.New(scoring.Default(), keys)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	state := scoring.NewState(scoring.UnknownDevice)
	state.Frames, state.LastMS = 3, now.UnixMilli()
	sealed, err := a.SealState("ses_1", state)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		status models.SessionStatus
		idle   time.Duration
		code   string
	}{
		"active":                            {models.SessionActive, 0, ""},
		"active a moment before it expires": {models.SessionActive, assurance.SessionIdle - time.Millisecond, ""},
		"idle, not swept yet":               {models.SessionActive, assurance.SessionIdle, reason.SessionExpired},
		"expired":                           {models.SessionExpired, assurance.SessionIdle, reason.SessionExpired},
		"ended":                             {models.SessionEnded, 0, reason.SessionEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := models.Session{ID: "ses_1", Status: c.status, StartedAt: now.Add(-time.Hour), LastActivityAt: now.Add(-c.idle), State: sealed}
			p, err := a.Assess(models.Subject{ExternalID: "user-1"}, &session, nil, now)
			require.NoError(t, err)
			require.Equal(t, "ses_1", *p.Session)
			claim := p.Claim(scoring.ClaimContinuity)
			if c.code == "" {
				require.Equal(t, 3, p.EvidenceWindows)
				require.NotNil(t, p.FreshnessMS)
				return
			}
			require.Zero(t, p.EvidenceWindows)
			require.Nil(t, p.FreshnessMS)
			require.True(t, p.InsufficientEvidence)
			require.Equal(t, c.code, claim.ReasonCodes[0])
			require.Contains(t, p.Limitations, c.code)
			require.Contains(t, p.Facts().Claims[0].ReasonCodes, c.code, "a policy can name it")
		})
	}
}
