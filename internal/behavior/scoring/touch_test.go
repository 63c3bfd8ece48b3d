package scoring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// A phone sends no evidence, and the assessment says so from the first moment, whatever is enrolled.
func TestTouchIsNotScored(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	enrolled := enrolOdd(t, m, synthetic.NewTypist(3), nil)
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		device scoring.DeviceClass
		ts     scoring.Templates
		want   string
	}{
		"a phone":                         {scoring.Mobile, enrolled, scoring.ReasonTouchNotScored},
		"a tablet":                        {scoring.Tablet, enrolled, scoring.ReasonTouchNotScored},
		"a phone of someone not enrolled": {scoring.Mobile, nil, scoring.ReasonTouchNotScored},
		"a desktop":                       {scoring.Desktop, enrolled, scoring.ReasonNoEvidence},
		"an unknown device":               {scoring.UnknownDevice, enrolled, scoring.ReasonNoEvidence},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := m.Assess(scoring.NewState(c.device), c.ts, now, scoring.AssessOptions{})
			claim := p.Claim(scoring.ClaimContinuity)
			require.Equal(t, scoring.Insufficient, claim.Status)
			require.True(t, p.InsufficientEvidence)
			require.Contains(t, claim.ReasonCodes, c.want)
			if c.want == scoring.ReasonTouchNotScored {
				require.Equal(t, []string{c.want}, claim.ReasonCodes, "there is nothing else to do about it")
				require.Contains(t, p.Limitations, c.want)
			}
		})
	}
}

// A tablet with a keyboard is judged by its keys.
func TestKeysOfATabletAreScored(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	owner := synthetic.NewTypist(3)
	p, _ := watch(m, enrolOdd(t, m, owner, nil), session(owner, 6, nil), scoring.Tablet)
	require.NotContains(t, p.Claim(scoring.ClaimContinuity).ReasonCodes, scoring.ReasonTouchNotScored)
	require.NotContains(t, p.Limitations, scoring.ReasonTouchNotScored)
}
