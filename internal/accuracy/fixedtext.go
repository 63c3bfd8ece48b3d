package accuracy

import (
	"fmt"
	"math"
	"sort"

	"github.com/countersign-dev/countersign/internal/recordings"
	"github.com/countersign-dev/countersign/internal/scoring"
)

// The protocol of Killourhy and Maxion 2009.
const (
	fixedEnrolled  = 200
	fixedGenuine   = 200
	fixedImpostors = 5
)

// writer is one person of a fixed-text set, repetitions in order.
type writer struct {
	name string
	reps [][]float64
}

// runFixedText measures the detector of the legacy endpoints: hold times as reaction_times, press-press times as
// keystroke_intervals. The scaled Manhattan detector beside it checks the harness against its published figure.
func runFixedText(e *env, set recordings.Set) error {
	data, err := recordings.ReadVectors(set.Path)
	if err != nil {
		return err
	}
	people := writers(data)
	if len(people) < 3 || len(people[0].reps) < 20 {
		return errUnfit
	}
	f := Figure{Protocol: "fixed-text", Set: set.Name}
	f.Case = "scaled Manhattan on all features (checks the harness)"
	e.verification(f, fixedScores(people, scaledManhattan(), fixedEnrolled), "published 9.6 % on the whole set")
	for _, enrolled := range []int{fixedEnrolled, 20, 10, scoring.FixedMinSamples} {
		f.Case = fmt.Sprintf("legacy detector, %d enrolled just before", enrolled)
		note := ""
		if enrolled == fixedEnrolled {
			note = "Zhong 8.4 %, target 7.0 %"
		}
		scores, errs := fixedText(data.Features)
		e.verification(f, fixedScores(people, scores, enrolled), note)
		if err := *errs; err != nil {
			return err
		}
	}
	return nil
}

func writers(data recordings.VectorSet) []writer {
	at := map[string]int{}
	var out []writer
	for _, r := range data.Rows {
		i, ok := at[r.User]
		if !ok {
			i = len(out)
			at[r.User] = i
			out = append(out, writer{name: r.User})
		}
		out[i].reps = append(out[i].reps, r.Values)
	}
	sort.SliceStable(out, func(i, j int) bool { return lessID(out[i].name, out[j].name) })
	return out
}

// detector learns from repetitions and returns a score, higher is more genuine.
type detector func(enrolled [][]float64) func(rep []float64) float64

// fixedScores enrols the repetitions just before the genuine test ones. Impostors are the first repetitions of others.
func fixedScores(people []writer, learn detector, enrolled int) []Person {
	out := make([]Person, len(people))
	parallel(len(people), func(i int) {
		reps := people[i].reps
		start := min(fixedEnrolled, len(reps)/2)
		score := learn(reps[max(0, start-enrolled):start])
		for _, r := range reps[start:min(start+fixedGenuine, len(reps))] {
			out[i].Genuine = append(out[i].Genuine, score(r))
		}
		for j, other := range people {
			if i == j {
				continue
			}
			for _, r := range other.reps[:min(fixedImpostors, len(other.reps))] {
				out[i].Impostor = append(out[i].Impostor, score(r))
			}
		}
	})
	return out
}

func scaledManhattan() detector {
	return func(enrolled [][]float64) func([]float64) float64 {
		d := len(enrolled[0])
		center, spread := make([]float64, d), make([]float64, d)
		for _, r := range enrolled {
			for i, v := range r {
				center[i] += v / float64(len(enrolled))
			}
		}
		for _, r := range enrolled {
			for i, v := range r {
				spread[i] += math.Abs(v-center[i]) / float64(len(enrolled))
			}
		}
		return func(rep []float64) float64 {
			sum := 0.0
			for i, v := range rep {
				sum -= math.Abs(v-center[i]) / math.Max(spread[i], 1e-3)
			}
			return sum
		}
	}
}

// fixedText is the service's detector. Release-press columns follow from the others and are left out, as a client of the
// legacy endpoints has no place for them.
func fixedText(names []string) (detector, *error) {
	failed := new(error)
	split := func(rep []float64) (holds, intervals []float64) {
		for i, name := range names {
			v := math.Min(math.Max(rep[i], 0), scoring.FixedMaxMS)
			switch {
			case len(name) > 2 && name[:2] == "H.":
				holds = append(holds, v)
			case len(name) > 3 && name[:3] == "UD.":
			default:
				intervals = append(intervals, v)
			}
		}
		return holds, intervals
	}
	return func(enrolled [][]float64) func([]float64) float64 {
		var f scoring.FixedText
		for _, r := range enrolled {
			next, err := f.Enrol(split(r))
			if err != nil {
				*failed = err
				return func([]float64) float64 { return 0 }
			}
			f = next
		}
		return func(rep []float64) float64 {
			d, err := f.Distance(split(rep))
			if err != nil {
				*failed = err
			}
			return -d
		}
	}, failed
}
