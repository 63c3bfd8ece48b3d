package synthetic_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func observe(m *scoring.Model, ts scoring.Templates, frames []features.Frame) scoring.Profile {
	s, at := scoring.NewState(scoring.Desktop), start
	for _, f := range frames {
		at = at.Add(time.Minute)
		s, _ = m.Add(s, scoring.Input{Frame: f, Timestamp: at, Duration: time.Minute}, ts, at)
	}
	return m.Assess(s, ts, at, scoring.AssessOptions{})
}

func frames(t *synthetic.Typist, n int) []features.Frame {
	t.NewDay()
	var out []features.Frame
	for range n {
		out = append(out, t.Frame(50))
	}
	return out
}

func enrol(t *testing.T, m *scoring.Model, typist *synthetic.Typist) scoring.Templates {
	t.Helper()
	var sessions []scoring.SessionFrames
	for range 3 {
		sessions = append(sessions, scoring.SessionFrames{Frames: frames(typist, 4)})
	}
	ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
	require.NoError(t, err)
	return ts
}

func TestSimulatedPeopleAreRecognisedAsThemselvesAndAsPeople(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	accepted, rejected, automated := 0, 0, 0
	const people = 12
	for seed := range uint64(people) {
		owner, other := synthetic.NewTypist(seed), synthetic.NewTypist(seed+500)
		ts := enrol(t, m, owner)
		p := observe(m, ts, frames(owner, 5))
		if s := p.Claim(scoring.ClaimContinuity).Status; s == scoring.Confirmed || s == scoring.Likely {
			accepted++
		}
		if p.Claim(scoring.ClaimAutomation).Status == scoring.Detected {
			automated++
		}
		if observe(m, ts, frames(other, 5)).Claim(scoring.ClaimContinuity).Status == scoring.NotConfirmed {
			rejected++
		}
	}
	require.GreaterOrEqual(t, accepted, people-2)
	require.GreaterOrEqual(t, rejected, people-2)
	require.LessOrEqual(t, automated, 1)
}

func TestContentBlindAttacksAreCaught(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	rng := rand.New(rand.NewPCG(5, 5))
	for _, attack := range synthetic.Attacks() {
		if attack.Informed {
			continue
		}
		caught := 0
		for seed := range uint64(10) {
			victim := synthetic.NewTypist(seed)
			var fs []features.Frame
			for range 4 {
				fs = append(fs, features.Extract(features.Raw{Keys: attack.Make(rng, victim.Type(50)), ClockMS: 1}))
			}
			if observe(m, nil, fs).Claim(scoring.ClaimAutomation).Status == scoring.Detected {
				caught++
			}
		}
		require.GreaterOrEqual(t, caught, 9, attack.Name)
	}
}

func TestPointersOfPeopleAndScripts(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	person := synthetic.NewPointerUser(3)
	var human, script []features.Frame
	for i := range uint64(4) {
		human = append(human, features.Extract(features.Raw{Pointer: person.Move(15_000)}))
		script = append(script, features.Extract(features.Raw{Pointer: synthetic.ScriptedPointer(i, 400)}))
	}
	require.Equal(t, scoring.NotDetected, observe(m, nil, human).Claim(scoring.ClaimAutomation).Status)
	require.Equal(t, scoring.Detected, observe(m, nil, script).Claim(scoring.ClaimAutomation).Status)
}

func TestSameSeedSamePerson(t *testing.T) {
	t.Parallel()
	require.Equal(t, synthetic.NewTypist(9).Type(60), synthetic.NewTypist(9).Type(60))
	require.NotEqual(t, synthetic.NewTypist(9).Type(60), synthetic.NewTypist(10).Type(60))
	require.Equal(t, synthetic.NewTypist(9).Elsewhere(1).Type(60), synthetic.NewTypist(9).Elsewhere(1).Type(60))
	require.NotEqual(t, synthetic.NewTypist(9).Elsewhere(1).Type(60), synthetic.NewTypist(9).Elsewhere(2).Type(60))
}
