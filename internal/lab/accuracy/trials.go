package accuracy

import (
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// trialStart is an arbitrary fixed time. The rules depend on differences of times
// only.
var trialStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// shot is one frame with the seconds that it took.
type shot struct {
	frame   features.Frame
	seconds float64
}

// shots cuts a session into at most so many frames and extracts them as a collector
// does.
func shots(events []features.KeyEvent, keys, most int) []shot {
	var out []shot
	for _, part := range cut(events, keys) {
		if len(out) == most {
			break
		}
		span := (part[len(part)-1].Release - part[0].Press) / 1000
		out = append(out, shot{features.Extract(features.Raw{Keys: part}), math.Min(math.Max(span, 1), 590)})
	}
	return out
}

// sessionOf makes a session for training from at most so many frames of what was typed.
func sessionOf(events []features.KeyEvent, most int) scoring.SessionFrames {
	var s scoring.SessionFrames
	for _, f := range shots(events, frameKeys, most) {
		s.Frames = append(s.Frames, f.frame)
	}
	return s
}

// verdict has the statuses that the service reports after a frame.
type verdict struct {
	continuity, automation, replay, presence scoring.Status
	seconds                                  float64 // since the first frame began
}

// play feeds frames to a session of the service and returns the verdict after each.
func play(m *scoring.Model, ts scoring.Templates, frames []shot) []verdict {
	s, at := scoring.NewState(scoring.Desktop), trialStart
	out := make([]verdict, 0, len(frames))
	for _, f := range frames {
		took := time.Duration(f.seconds * float64(time.Second))
		at = at.Add(took)
		s, _ = m.Add(s, scoring.Input{Frame: f.frame, Timestamp: at, Duration: took + time.Second}, ts, at)
		p := m.Assess(s, ts, at, scoring.AssessOptions{})
		out = append(out, verdict{p.Claim(scoring.ClaimContinuity).Status, p.Claim(scoring.ClaimAutomation).Status,
			p.Claim(scoring.ClaimReplay).Status, p.Claim(scoring.ClaimPresence).Status, at.Sub(trialStart).Seconds()})
	}
	return out
}

func trusted(s scoring.Status) bool { return s == scoring.Confirmed || s == scoring.Likely }
