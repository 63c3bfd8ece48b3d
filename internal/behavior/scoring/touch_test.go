package scoring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// tapped is a frame of typing on a screen, as fast as a person types on keys.
func tapped(n int, kind features.TapKind) features.Frame {
	raw := features.Raw{ClockMS: 1}
	for i := range n {
		raw.Taps = append(raw.Taps, features.Tap{T: float64(1000 + 180*i + 17*(i%5)), Kind: kind})
	}
	return features.Extract(raw)
}

func TestTypingWithoutKeysIsNeverJudged(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	owner := synthetic.NewTypist(3)
	ts := enrolOdd(t, m, owner, nil)
	touch := func(n int, kind features.TapKind) []features.Frame {
		var out []features.Frame
		for range n {
			out = append(out, tapped(50, kind))
		}
		return out
	}
	cases := []struct {
		name   string
		device scoring.DeviceClass
		frames []features.Frame
	}{
		{"taps on a phone", scoring.Mobile, touch(6, features.TapKey)},
		{"swiped words on a phone", scoring.Mobile, touch(6, features.TapWhole)},
		{"taps where the page said desktop", scoring.Desktop, touch(6, features.TapKey)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, at := scoring.NewState(c.device), time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
			for _, f := range c.frames {
				at = at.Add(12 * time.Second)
				var ack scoring.Ack
				s, ack = m.Add(s, scoring.Input{Frame: f, Timestamp: at, Duration: 12 * time.Second}, ts, at)
				require.Equal(t, features.Accepted, ack.Status)
				require.Contains(t, ack.Reasons, scoring.ReasonKeysNotReported)
			}
			p := m.Assess(s, ts, at, scoring.AssessOptions{})
			claim := p.Claim(scoring.ClaimContinuity)
			require.Equal(t, scoring.Insufficient, claim.Status)
			require.Contains(t, claim.ReasonCodes, scoring.ReasonKeysNotReported)
			require.True(t, p.InsufficientEvidence)
			require.Contains(t, p.Limitations, scoring.ReasonKeysNotReported)
			require.Equal(t, scoring.Uncertain, p.Claim(scoring.ClaimPresence).Status)
			require.Equal(t, scoring.NotDetected, p.Claim(scoring.ClaimAutomation).Status)
		})
	}
}

// A tablet may have both keyboards. What is tapped says nothing, and does not spoil what is typed.
func TestTypingWithoutKeysBesideKeys(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	owner := synthetic.NewTypist(3)
	ts := enrolOdd(t, m, owner, nil)
	frames := session(owner, 6, nil)
	alone, s := watch(m, ts, frames, scoring.Desktop)
	with := append(append([]features.Frame{}, frames[:3]...), tapped(50, features.TapKey))
	beside, both := watch(m, ts, append(with, frames[3:]...), scoring.Desktop)
	require.InDelta(t, s.Keystroke.Long, both.Keystroke.Long, 1e-9)
	require.Equal(t, alone.Claim(scoring.ClaimContinuity).Status, beside.Claim(scoring.ClaimContinuity).Status)
	require.Contains(t, beside.Limitations, scoring.ReasonKeysNotReported)
}

// Frames of a phone train no template, whatever their amount.
func TestTypingWithoutKeysTrainsNothing(t *testing.T) {
	t.Parallel()
	var sessions []scoring.SessionFrames
	for range 3 {
		sessions = append(sessions, scoring.SessionFrames{Frames: []features.Frame{tapped(200, features.TapKey), tapped(200, features.TapKey)}})
	}
	_, _, err := scoring.Default().Train(sessions, scoring.TrainOptions{Device: scoring.Mobile, Force: true})
	require.ErrorIs(t, err, scoring.ErrTooLittle)
}
