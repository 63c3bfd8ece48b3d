package try

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// The page says that the simulated typist is one of those whom the model recognises. It enrolls in three sessions of three frames.
func TestSimulatedTypistsAreRecognisedByTheirFirstTwoFrames(t *testing.T) {
	t.Parallel()
	const places, window = 6, 20 * time.Second
	m := scoring.Default()
	for _, seed := range typists {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			for place := range places {
				var sessions []scoring.SessionFrames
				for s := range 3 {
					var frames []features.Frame
					for n := 3 * s; n < 3*s+3; n++ {
						frame, _ := typedBy(seed, fmt.Sprintf("session %d of visit %d", s, place), n)
						frames = append(frames, frame)
					}
					sessions = append(sessions, scoring.SessionFrames{Frames: frames})
				}
				templates, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop})
				require.NoError(t, err)
				state, at := scoring.NewState(scoring.Desktop), time.Unix(1_700_000_000, 0)
				for n := 9; n < 12; n++ {
					frame, _ := typedBy(seed, fmt.Sprintf("visit %d", place), n)
					at = at.Add(window)
					state, _ = m.Add(state, scoring.Input{Frame: frame, Timestamp: at, Duration: window}, templates, at)
					if n > 9 {
						claim := m.Assess(state, templates, at, scoring.AssessOptions{}).Claim(scoring.ClaimContinuity)
						require.Equal(t, scoring.Likely, claim.Status, "visit %d, frame %d", place, n)
					}
				}
			}
		})
	}
}
