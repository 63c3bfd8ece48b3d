package accuracy

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// The protocol of Killourhy and Maxion 2009 ("Comparing anomaly-detection
// algorithms for keystroke dynamics").
const (
	// repetitions that the published protocol enrolls
	fixedEnrolled = 200
	// later repetitions of the target that are tested
	fixedGenuine = 200
	// first repetitions of each other person that are tested
	fixedImpostors = 5
)

// writer is one person of a fixed-text set with the repetitions in order, each a
// list of times in milliseconds.
type writer struct {
	name string
	reps [][]float64
}

// runFixedText measures the detector of the legacy endpoints: hold times as
// reaction_times, press-press times as keystroke_intervals. The scaled Manhattan
// detector beside it checks the measurement itself against a published figure.
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
	split := splitter(data.Features)
	for _, enrolled := range []int{fixedEnrolled, 20, 10, scoring.FixedMinSamples} {
		f.Case = fmt.Sprintf("legacy detector, %d enrolled just before", enrolled)
		scores, err := fixedText(people, split, enrolled, nil)
		if err != nil {
			return err
		}
		e.verification(f, scores, map[int]string{fixedEnrolled: "Zhong 8.4 %, target 7.0 %"}[enrolled])
	}
	for _, enrolled := range []int{fixedEnrolled, 10} {
		f.Case = fmt.Sprintf("with a background of other people, %d enrolled", enrolled)
		scores, err := fixedWithPopulation(people, split, enrolled)
		if err != nil {
			return err
		}
		e.verification(f, scores, map[int]string{fixedEnrolled: "GMM-UBM 5.5 %, target 5.6 %"}[enrolled])
	}
	return nil
}

// fixedWithPopulation divides the people into two halves: one is the background,
// the other provides targets and impostors, and then the other way round. A target
// is never part of the background that it is tested with.
func fixedWithPopulation(people []writer, split splitFunc, enrolled int) ([]Person, error) {
	if len(people) < 12 {
		return nil, nil
	}
	var out []Person
	for half := range 2 {
		var tested []writer
		var others []scoring.FixedText
		for i, p := range people {
			if i%2 == half {
				tested = append(tested, p)
				continue
			}
			f, err := enrolPhrase(p.reps[len(p.reps)/4:], split)
			if err != nil {
				return nil, err
			}
			others = append(others, f)
		}
		population, err := scoring.LearnPopulation(others)
		if err != nil {
			return nil, err
		}
		some, err := fixedText(tested, split, enrolled, population)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// writers groups the rows of a set by person. People are sorted by name, so that
// the same file always gives the same figures.
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

// detector learns from repetitions and returns a scoring function; a higher score
// is more genuine.
type detector func(enrolled [][]float64) func(rep []float64) float64

// fixedScores enrolls the repetitions just before the genuine test ones. Impostors
// are the first repetitions of others, who do not know the phrase well yet.
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

// scaledManhattan is the detector of Araujo et al. 2005: the distance to the mean
// in units of the mean absolute deviation.
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

// splitFunc divides a repetition into the two lists that the legacy endpoints take.
type splitFunc func(rep []float64) (holds, intervals []float64)

// splitter takes hold times as reaction_times and press-press times as
// keystroke_intervals. Release-press columns follow from the others and are left
// out, because the legacy endpoints do not take them.
func splitter(names []string) splitFunc {
	return func(rep []float64) (holds, intervals []float64) {
		for i, name := range names {
			v := math.Min(math.Max(rep[i], 0), scoring.FixedMaxMS)
			switch {
			case strings.HasPrefix(name, "H."):
				holds = append(holds, v)
			case !strings.HasPrefix(name, "UD."):
				intervals = append(intervals, v)
			}
		}
		return holds, intervals
	}
}

// enrolPhrase enrolls repetitions one after the other, as calls of the legacy
// endpoint would.
func enrolPhrase(reps [][]float64, split splitFunc) (scoring.FixedText, error) {
	var f scoring.FixedText
	var err error
	for _, r := range reps {
		if f, err = f.Enrol(split(r)); err != nil {
			return f, err
		}
	}
	return f, nil
}

// fixedText scores with the service's detector, against a population unless it is
// nil. It returns the first error of any goroutine.
func fixedText(people []writer, split splitFunc, enrolled int, population *scoring.FixedPopulation) ([]Person, error) {
	var mu sync.Mutex
	var failed error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
	}
	learn := func(reps [][]float64) func([]float64) float64 {
		f, err := enrolPhrase(reps, split)
		note(err)
		score, sign := func([]float64, []float64) (float64, error) { return 0, err }, 1.0
		switch {
		case err != nil:
		case population == nil:
			score, err = f.Scorer()
			sign = -1
		default:
			score, err = population.Scorer(f)
		}
		note(err)
		return func(rep []float64) float64 {
			v, err := score(split(rep))
			note(err)
			return sign * v
		}
	}
	scores := fixedScores(people, learn, enrolled)
	return scores, failed
}
