package scoring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// BenchmarkAddFrameOfATypist adds frames to a session with a full window of a person of whom 1,024 passages are known. Unlike people
// who are drawn from the background, the passages of a typist are so similar that many are near to a frame.
func BenchmarkAddFrameOfATypist(b *testing.B) {
	m, typist := synthetic.Population(), synthetic.NewTypist(7)
	var sessions []scoring.SessionFrames
	for range 3 {
		sessions = append(sessions, scoring.SessionFrames{Frames: session(typist, 4, nil)})
	}
	ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
	require.NoError(b, err)
	var known scoring.Passages
	state, at := scoring.NewState(scoring.Desktop), oddStart
	next := func() scoring.Input {
		at = at.Add(20 * time.Second)
		return scoring.Input{Frame: typist.Frame(50), Ref: "frm", Timestamp: at, Duration: 20 * time.Second, Known: known}
	}
	for known.Len() < 1024 {
		var ack scoring.Ack
		state, ack = m.Add(state, next(), ts, at)
		known = append(known, ack.Passage...)
	}
	inputs := make([]scoring.Input, 64)
	for i := range inputs {
		inputs[i] = next()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Add(state, inputs[i%len(inputs)], ts, at)
	}
}
