package scoring

import (
	"errors"
	"fmt"
	"math"
)

// FixedText is the template of one phrase typed repeatedly, for the endpoints /enrol and /auth. Every sample has the same two lists
// of times, which are compared feature by feature. The weight of a sample halves with every 25 later samples, and a sample is
// removed after 200, so that the template follows a person who is still learning the phrase. It is personal data and marshals as
// JSON.
type FixedText struct {
	// Length of reaction_times.
	Reactions int `json:"reactions"`
	// Length of keystroke_intervals.
	Intervals int `json:"intervals"`
	// Logs of the times, oldest first.
	Samples [][]float64 `json:"samples"`
}

// Limits of the fixed-text detector.
const (
	// Samples that make a subject enrolled.
	FixedMinSamples = 5
	FixedMaxSamples = 200 // oldest out
	FixedMaxLength  = 512
	FixedMaxMS      = 60_000
)

// Decisions of Verify.
const (
	FixedAccept    = "accept"
	FixedChallenge = "challenge"
	FixedReject    = "reject"
)

// Constants of the decision: confidence = 1 / (1 + exp((distance - fixedMid) / fixedScale)). They were fitted on recordings: at a
// confidence of one half, genuine and impostor samples are equally frequent.
const (
	fixedScale = 0.15
	fixedMid   = 1.45
	acceptAt   = 0.50
	rejectAt   = 0.15
)

// Errors of the fixed-text detector.
var (
	ErrFixedLength = errors.New("scoring: the lists must have the lengths of the first sample, 1 to 512 each")
	ErrFixedValue  = errors.New("scoring: times must be finite and between 0 and 60000 ms")
	ErrFixedFew    = errors.New("scoring: fewer than five samples are enrolled")
)

// Enrolled reports whether there are enough samples to verify against.
func (f FixedText) Enrolled() bool { return len(f.Samples) >= FixedMinSamples }

// Enrol returns the template with one sample added. The receiver is unchanged.
func (f FixedText) Enrol(reactions, intervals []float64) (FixedText, error) {
	if len(f.Samples) == 0 {
		f.Reactions, f.Intervals = len(reactions), len(intervals)
	}
	sample, err := f.sample(reactions, intervals)
	if err != nil {
		return f, err
	}
	f.Samples = lastN(append(append([][]float64(nil), f.Samples...), sample), FixedMaxSamples)
	return f, nil
}

// Verify compares a sample with the template. It returns the confidence (0 to 1) that it is the same person, and a decision.
func (f FixedText) Verify(reactions, intervals []float64) (confidence float64, decision string, err error) {
	if !f.Enrolled() {
		return 0, FixedChallenge, ErrFixedFew
	}
	sample, err := f.sample(reactions, intervals)
	if err != nil {
		return 0, FixedReject, err
	}
	confidence = 1 / (1 + math.Exp((f.detector().distance(sample)-fixedMid)/fixedScale))
	switch {
	case confidence >= acceptAt:
		return confidence, FixedAccept, nil
	case confidence >= rejectAt:
		return confidence, FixedChallenge, nil
	}
	return confidence, FixedReject, nil
}

// Scorer prepares the template for many comparisons. The returned function computes the distance of a sample, 0 being typical of the
// person; docs/accuracy.md is measured with it.
func (f FixedText) Scorer() (func(reactions, intervals []float64) (float64, error), error) {
	if len(f.Samples) == 0 {
		return nil, ErrFixedFew
	}
	d := f.detector()
	return func(reactions, intervals []float64) (float64, error) {
		sample, err := f.sample(reactions, intervals)
		if err != nil {
			return 0, err
		}
		return d.distance(sample), nil
	}, nil
}

// sample validates the times and returns their logarithms.
func (f FixedText) sample(reactions, intervals []float64) ([]float64, error) {
	if len(reactions) != f.Reactions || len(intervals) != f.Intervals || !fixedLength(len(reactions)) || !fixedLength(len(intervals)) {
		return nil, ErrFixedLength
	}
	out := make([]float64, 0, len(reactions)+len(intervals))
	for _, list := range [][]float64{reactions, intervals} {
		for i, ms := range list {
			if !(ms >= 0 && ms <= FixedMaxMS) {
				return nil, fmt.Errorf("%w: item %d", ErrFixedValue, i)
			}
			out = append(out, math.Log(math.Max(ms, fixedMinMS)))
		}
	}
	return out, nil
}

// fixedLength reports whether a list of times has a permitted length.
func fixedLength(n int) bool { return n >= 1 && n <= FixedMaxLength }
