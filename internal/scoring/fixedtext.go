package scoring

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// FixedText is the template of one phrase typed again and again: the detector of the legacy endpoints. Every sample has
// the same two lists of times; they are compared feature by feature. It is JSON-serialisable personal data.
type FixedText struct {
	Reactions int         `json:"reactions"` // length of reaction_times
	Intervals int         `json:"intervals"` // length of keystroke_intervals
	Samples   [][]float64 `json:"samples"`   // logs of the times, oldest first
}

// Limits of the fixed-text detector.
const (
	FixedMinSamples = 5   // samples that make a subject enrolled
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

// Constants of the detector: residuals are capped, and each feature's spread is shrunk towards the population's.
const (
	fixedCap        = 4
	fixedPrior      = 10   // samples the population's spread counts for
	fixedPopulation = 0.20 // mean absolute deviation of a log time within a person
	fixedFloor      = 0.05
	fixedMinMS      = 5
	fixedScale      = 0.22 // slope of the confidence
	fixedMid        = 1.45 // distance at which confidence is one half
	acceptAt        = 0.50
	rejectAt        = 0.15
)

// Errors of the fixed-text detector.
var (
	ErrFixedLength = errors.New("scoring: the lists must have the lengths of the first sample, 1 to 512 each")
	ErrFixedValue  = errors.New("scoring: times must be finite and between 0 and 60000 ms")
	ErrFixedFew    = errors.New("scoring: fewer than five samples are enrolled")
)

// Enrolled says whether there are enough samples to verify against.
func (f FixedText) Enrolled() bool { return len(f.Samples) >= FixedMinSamples }

// Enrol returns the template with one sample added; the receiver is not changed.
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

// Verify compares a sample with the template: confidence 0..1 that it is the same person, and a decision.
func (f FixedText) Verify(reactions, intervals []float64) (confidence float64, decision string, err error) {
	if !f.Enrolled() {
		return 0, FixedChallenge, ErrFixedFew
	}
	sample, err := f.sample(reactions, intervals)
	if err != nil {
		return 0, FixedReject, err
	}
	confidence = 1 / (1 + math.Exp((f.distance(sample)-fixedMid)/fixedScale))
	switch {
	case confidence >= acceptAt:
		return confidence, FixedAccept, nil
	case confidence >= rejectAt:
		return confidence, FixedChallenge, nil
	}
	return confidence, FixedReject, nil
}

// Distance is the detector's raw score of a sample, mean capped deviation: 0 is typical of the person. It is what
// docs/accuracy.md measures.
func (f FixedText) Distance(reactions, intervals []float64) (float64, error) {
	if len(f.Samples) == 0 {
		return 0, ErrFixedFew
	}
	sample, err := f.sample(reactions, intervals)
	if err != nil {
		return 0, err
	}
	return f.distance(sample), nil
}

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

func fixedLength(n int) bool { return n >= 1 && n <= FixedMaxLength }

func (f FixedText) distance(sample []float64) float64 {
	sum := 0.0
	column := make([]float64, len(f.Samples))
	for i, x := range sample {
		for j, s := range f.Samples {
			column[j] = s[i]
		}
		center := median(column)
		spread := 0.0
		for _, v := range column {
			spread += math.Abs(v - center)
		}
		n := float64(len(column))
		spread = math.Max((spread+fixedPrior*fixedPopulation)/(n+fixedPrior), fixedFloor)
		sum += math.Min(math.Abs(x-center)/spread, fixedCap)
	}
	return sum / float64(len(sample))
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	if n := len(s); n%2 == 1 {
		return s[n/2]
	} else {
		return (s[n/2-1] + s[n/2]) / 2
	}
}
