package scoring_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

var oddStart = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// change alters a typist's events before extraction.
type change func([]features.KeyEvent) []features.KeyEvent

func session(typist *synthetic.Typist, frames int, f change) []features.Frame {
	typist.NewDay()
	var out []features.Frame
	for range frames {
		keys := typist.Type(60)
		if f != nil {
			keys = f(keys)
		}
		out = append(out, features.Extract(features.Raw{Keys: keys}))
	}
	return out
}

func enrolOdd(t *testing.T, m *scoring.Model, typist *synthetic.Typist, f change) scoring.Templates {
	t.Helper()
	var sessions []scoring.SessionFrames
	for range 3 {
		sessions = append(sessions, scoring.SessionFrames{Frames: session(typist, 4, f)})
	}
	ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
	require.NoError(t, err)
	return ts
}

func watch(m *scoring.Model, ts scoring.Templates, frames []features.Frame, device scoring.DeviceClass) (scoring.Profile, scoring.State) {
	s, at := scoring.NewState(device), oddStart
	for _, f := range frames {
		at = at.Add(time.Minute)
		s, _ = m.Add(s, scoring.Input{Frame: f, Timestamp: at, Duration: time.Minute}, ts, at)
	}
	return m.Assess(s, ts, at, scoring.AssessOptions{}), s
}

// oneHand leaves only keys of the left hand and the space bar.
func oneHand(keys []features.KeyEvent) []features.KeyEvent {
	out := append([]features.KeyEvent(nil), keys...)
	for i := range out {
		out[i].Key = []string{"a", "s", "d", "space"}[i%4]
	}
	return out
}

func coarseClock(keys []features.KeyEvent) []features.KeyEvent {
	out := append([]features.KeyEvent(nil), keys...)
	for i := range out {
		out[i].Press, out[i].Release = math.Floor(out[i].Press/100)*100, math.Floor(out[i].Release/100)*100
	}
	return out
}

func TestOddTypingIsNamedAndNeverWronglyCertain(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	cases := map[string]struct {
		change     change
		limitation string
		clock      float64
	}{
		"one hand":         {oneHand, scoring.ReasonFewCells, 1},
		"100 ms clock":     {coarseClock, scoring.ReasonCoarseClock, 100},
		"nothing peculiar": {nil, "", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			falseConfirmed := 0
			for seed := range uint64(6) {
				ts := enrolOdd(t, m, synthetic.NewTypist(seed), c.change)
				frames := session(synthetic.NewTypist(seed+300), 5, c.change)
				for i := range frames {
					frames[i].ClockMS = c.clock
				}
				p, _ := watch(m, ts, frames, scoring.Desktop)
				if p.Claim(scoring.ClaimContinuity).Status == scoring.Confirmed {
					falseConfirmed++
				}
				if c.limitation != "" {
					require.Contains(t, p.Limitations, c.limitation)
				}
			}
			require.Zero(t, falseConfirmed)
		})
	}
}

func TestOneFrameOnlyIsNeverConfirmed(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	typist := synthetic.NewTypist(21)
	ts := enrolOdd(t, m, typist, nil)
	p, _ := watch(m, ts, session(typist, 1, nil), scoring.Desktop)
	require.NotEqual(t, scoring.Confirmed, p.Claim(scoring.ClaimContinuity).Status)
	require.Equal(t, scoring.CoveragePartial, p.Coverage)
	p, _ = watch(m, ts, []features.Frame{features.Extract(features.Raw{Keys: typist.Type(8)})}, scoring.Desktop)
	require.Equal(t, scoring.Insufficient, p.Claim(scoring.ClaimContinuity).Status)
	require.True(t, p.InsufficientEvidence)
}

func TestPointerAloneNeverConfirms(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	rng := rand.New(rand.NewPCG(3, 3))
	for range 5 {
		user := synthetic.NewPointerUser(rng.Uint64())
		move := func(n int) []features.Frame {
			var out []features.Frame
			for range n {
				out = append(out, features.Extract(features.Raw{Pointer: user.Move(15_000)}))
			}
			return out
		}
		var sessions []scoring.SessionFrames
		for range 3 {
			sessions = append(sessions, scoring.SessionFrames{Frames: move(8)})
		}
		ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
		require.NoError(t, err)
		p, _ := watch(m, ts, move(8), scoring.Desktop)
		c := p.Claim(scoring.ClaimContinuity)
		require.NotEqual(t, scoring.Confirmed, c.Status)
		require.Contains(t, c.Limitations, scoring.ReasonPointerOnly)
	}
}

func TestFramesOutOfOrderAndOverlappingAreNamed(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	typist := synthetic.NewTypist(22)
	frames := session(typist, 3, nil)
	s := scoring.NewState(scoring.Desktop)
	ends := []time.Duration{60 * time.Second, 20 * time.Second, 65 * time.Second}
	var last scoring.Ack
	reasons := map[string]bool{}
	for i, f := range frames {
		in := scoring.Input{Frame: f, Timestamp: oddStart.Add(ends[i]), Duration: 20 * time.Second}
		s, last = m.Add(s, in, nil, oddStart.Add(70*time.Second))
		for _, r := range last.Reasons {
			reasons[r] = true
		}
	}
	require.True(t, reasons[scoring.ReasonOutOfOrder])
	require.True(t, reasons[scoring.ReasonOverlap])
	p := m.Assess(s, nil, oddStart.Add(70*time.Second), scoring.AssessOptions{})
	require.Subset(t, p.Limitations, []string{scoring.ReasonOutOfOrder, scoring.ReasonOverlap})
}

func TestFrameLongerThanItsDurationIsRejected(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	f := session(synthetic.NewTypist(23), 1, nil)[0]
	before := scoring.NewState(scoring.Desktop)
	after, ack := m.Add(before, scoring.Input{Frame: f, Timestamp: oddStart, Duration: time.Second}, nil, oddStart)
	require.Equal(t, features.Rejected, ack.Status)
	require.Equal(t, []string{scoring.ReasonContradictDuration}, ack.Reasons)
	require.Equal(t, before, after)
}

// A stranger whose chunks are short must be recognized too: a restart of the window takes evidence out of it, and
// that evidence still counts as seen.
func TestStrangerInShortFramesIsNotConfirmed(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	ts := enrolOdd(t, m, synthetic.NewTypist(31), nil)
	stranger := synthetic.NewTypist(331)
	var frames []features.Frame
	for range 16 {
		frames = append(frames, features.Extract(features.Raw{Keys: stranger.Type(14)}))
	}
	p, _ := watch(m, ts, frames, scoring.Desktop)
	require.Equal(t, scoring.NotConfirmed, p.Claim(scoring.ClaimContinuity).Status)
	require.NotEqual(t, scoring.CoverageSparse, p.Coverage)
	require.False(t, p.InsufficientEvidence)
}
