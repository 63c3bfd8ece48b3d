package scoring_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

var statuses = []scoring.Status{scoring.Confirmed, scoring.Likely, scoring.Uncertain, scoring.NotConfirmed, scoring.Detected,
	scoring.NotDetected, scoring.Insufficient, scoring.Unsupported}

// Whatever body a client sends, however often and whenever, the service's own path (parse, add, store, read, assess) gives an
// honest profile: known statuses, finite numbers, and confirmed never on frames that are all alike.
func FuzzEvidence(f *testing.F) {
	example, err := json.Marshal(features.ExampleJSON())
	require.NoError(f, err)
	frame, err := json.Marshal(synthetic.NewTypist(7).Frame(50))
	require.NoError(f, err)
	for _, raw := range [][]byte{example, frame, []byte("{}")} {
		f.Add(raw, uint32(15_000), int64(0), uint8(3))
		f.Add(raw, uint32(0), int64(-1<<40), uint8(20))
	}
	m := synthetic.Population()
	typist := synthetic.NewTypist(7)
	var sessions []scoring.SessionFrames
	for range 3 {
		sessions = append(sessions, scoring.SessionFrames{Frames: session(typist, 4, nil)})
	}
	ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte, durationMS uint32, shiftMS int64, times uint8) {
		tree, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true})
		if err != nil {
			return
		}
		parsed := features.Read(tree)
		state, at := scoring.NewState(scoring.Desktop), oddStart
		for range times%32 + 1 {
			at = at.Add(20 * time.Second)
			if parsed.Status == features.Accepted {
				state, _ = m.Add(state, scoring.Input{Frame: parsed.Frame, Timestamp: at.Add(time.Duration(shiftMS%(1<<40)) * time.Millisecond),
					Duration: time.Duration(durationMS) * time.Millisecond}, ts, at)
			}
			kept, err := state.MarshalBinary()
			require.NoError(t, err)
			var back scoring.State
			require.NoError(t, back.UnmarshalBinary(kept))
			state = back
		}
		p := m.Assess(state, ts, at, scoring.AssessOptions{})
		require.False(t, math.IsNaN(p.ActiveSeconds) || math.IsInf(p.ActiveSeconds, 0) || p.ActiveSeconds < 0)
		for _, c := range p.Claims {
			require.True(t, slices.Contains(statuses, c.Status), c)
			require.NotEmpty(t, c.Coverage)
		}
		require.NotEqual(t, scoring.Confirmed, p.Claim(scoring.ClaimContinuity).Status)
		_, err = json.Marshal(p)
		require.NoError(t, err)
	})
}
