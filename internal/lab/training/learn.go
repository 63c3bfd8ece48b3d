package training

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Sample is one frame of one person with exact counts, means and sums of squares
// (features.Exact*). Person is a name or a pseudonym; only equality matters.
type Sample struct {
	Person string
	Events int // presses or pointer events of the frame
	Cells  features.Exact
}

// Options configure learning. The zero value is not usable; start from
// DefaultOptions.
type Options struct {
	Version       string
	Modality      features.Modality
	ShrinkBetween float64 // towards independent cells, 0..1
	ShrinkWithin  float64
	Drift         float64 // share of B added to W for the change from day to day; driftOf says how it differs by cell
	Tail          float64 // degrees of freedom of the densities; 0 is Gaussian
	MinPeople     int
	Card          scoring.Card
	// Base gives the variance of events and the worth of bins where samples cannot: frames a deployment has stored have
	// no exact counts and no sums of squares. Nil where samples come from recordings.
	Base *scoring.Background
}

// DefaultOptions are the settings that the published figures were measured with.
func DefaultOptions(m features.Modality) Options {
	o := Options{Version: "cs-bg-" + string(m) + "-local", Modality: m, ShrinkBetween: .1, ShrinkWithin: .2, Drift: .1, Tail: 100, MinPeople: 20}
	if m == features.Pointer {
		o.ShrinkBetween, o.ShrinkWithin, o.Drift, o.Tail = .4, .4, .05, 0
	}
	return o
}

// ErrTooFew is returned if there are fewer people than Options.MinPeople.
var ErrTooFew = errors.New("background: too few people")

// Fixed constants of the estimator.
const (
	eventPrior  = 20 // events the median variance of the cells counts for in each cell's
	rounds      = 3  // of re-weighting by the variances found
	pairSupport = 30 // people at which an off-diagonal value is half trusted
)

// Learn estimates a background from frames of many people by pairwise weighted
// products. Different frames of one person share what distinguishes the person from
// the population (B). What remains within a frame, less the noise of finite counts,
// is how a person's frames differ (W). The same samples in the same order give the
// same numbers.
func Learn(samples []Sample, opt Options) (*scoring.Background, error) {
	dim := features.Dim(opt.Modality)
	people := index(samples)
	if len(people) < opt.MinPeople {
		return nil, fmt.Errorf("%w: %d of %d", ErrTooFew, len(people), opt.MinPeople)
	}
	e := estimator{samples: samples, people: people, dim: dim}
	if opt.Base == nil {
		e.eventVariance()
	} else if err := e.borrowVariance(opt.Base); err != nil {
		return nil, err
	}
	for range rounds {
		e.round()
	}
	between := e.repair(e.b, e.bDiag, e.pairPeople(), opt.ShrinkBetween)
	within := e.repair(e.w, e.wDiag, scaled(e.weightPairs, .2), opt.ShrinkWithin)
	names := make([]string, dim)
	for i, c := range features.Cells(opt.Modality) {
		names[i] = c.Name
	}
	few, many, events := e.effectiveCounts(opt.Base)
	card := opt.Card
	card.People, card.Frames = len(people), len(samples)
	bg := &scoring.Background{Version: opt.Version, Modality: opt.Modality, SchemaVersion: features.SchemaVersion, Cells: names,
		Mu: roundAll(e.mu), Sig2: roundAll(e.sig2), Few: roundAll(few), Many: roundAll(many), FrameEvents: events,
		Between: roundAll(scoring.Pack(between, dim)), Within: roundAll(scoring.Pack(within, dim)), Drift: opt.Drift, Tail: opt.Tail, Card: card}
	if opt.Modality == features.Keystroke {
		for _, c := range names {
			bg.DriftCells = append(bg.DriftCells, math.Round(1e4*driftOf(c)*opt.Drift)/1e4)
		}
	}
	return bg, bg.Prepare()
}

// driftOf is how much the cells of a kind change from day to day, as a factor of
// Drift. Rhythm (press to press, release to press) is steadiest; the spread of
// holds, and rates, which depend on the text, change most.
func driftOf(cell string) float64 {
	switch kind, _, _ := strings.Cut(cell, ":"); kind {
	case "h", "ps":
		return 1
	case "p", "r":
		return .3
	default:
		return 3
	}
}

// index numbers the people in the order of their names.
func index(samples []Sample) map[string]int {
	names := map[string]int{}
	for _, s := range samples {
		names[s.Person] = 0
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	for i, name := range sorted {
		names[name] = i
	}
	return names
}

// roundAll rounds to five significant digits: the estimates are not more precise,
// and files stay small.
func roundAll(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		if x != 0 {
			scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(x))))
			out[i] = math.Round(x*scale) / scale
		}
	}
	return out
}

// estimator has the state of learning. Vectors and matrices are indexed by cell
// unless their comment says otherwise.
type estimator struct {
	samples []Sample
	people  map[string]int
	dim     int

	mu, sig2, kappa []float64
	b, w            *mat.Dense
	bDiag, wDiag    []float64
	crossWeights    *mat.Dense // weight of cell pairs over different frames of one person
	weightPairs     *mat.Dense // weight of cell pairs within frames
	personWeights   *mat.Dense // weight of each cell by person
}

// eventVariance pools the variance of events within frames, cell by cell, with a
// small prior at the median cell.
func (e *estimator) eventVariance() {
	ss, dof := make([]float64, e.dim), make([]float64, e.dim)
	for _, s := range e.samples {
		for i, n := range s.Cells.N {
			if n > 0 {
				ss[i] += math.Max(s.Cells.SS[i]-n*s.Cells.M[i]*s.Cells.M[i], 0)
				dof[i] += math.Max(n-1, 0)
			}
		}
	}
	var typical []float64
	for i := range ss {
		if dof[i] > 50 {
			typical = append(typical, ss[i]/dof[i])
		}
	}
	prior := .1
	if len(typical) > 0 {
		sort.Float64s(typical)
		prior = typical[len(typical)/2]
	}
	e.sig2, e.kappa = make([]float64, e.dim), make([]float64, e.dim)
	for i := range ss {
		e.sig2[i] = math.Max((ss[i]+eventPrior*prior)/(dof[i]+eventPrior), 1e-6)
		e.kappa[i] = 4
	}
}

// borrowVariance takes the variance of events from a base, for samples without sums
// of squares.
func (e *estimator) borrowVariance(base *scoring.Background) error {
	if base.Dim() != e.dim {
		return fmt.Errorf("%w: the base has %d cells of %d", scoring.ErrBackground, base.Dim(), e.dim)
	}
	e.sig2 = append([]float64(nil), base.Sig2...)
	e.kappa = make([]float64, e.dim)
	for i := range e.kappa {
		e.kappa[i] = 4
	}
	return nil
}

// round estimates mu, B and W with weights n/(n+kappa), then updates kappa from the
// estimates.
func (e *estimator) round() {
	e.mean()
	frames, people := len(e.samples), len(e.people)
	wr, w := mat.NewDense(frames, e.dim, nil), mat.NewDense(frames, e.dim, nil)
	su, wu := mat.NewDense(people, e.dim, nil), mat.NewDense(people, e.dim, nil)
	noise := make([]float64, e.dim)
	for f, s := range e.samples {
		p := e.people[s.Person]
		for i, n := range s.Cells.N {
			if n == 0 {
				continue
			}
			weight := n / (n + e.kappa[i])
			r := weight * (s.Cells.M[i] - e.mu[i])
			wr.Set(f, i, r)
			w.Set(f, i, weight)
			su.Set(p, i, su.At(p, i)+r)
			wu.Set(p, i, wu.At(p, i)+weight)
			noise[i] += weight * weight / n * e.sig2[i]
		}
	}
	within, pairs := gram(wr), gram(w)
	across, acrossPairs := gram(su), gram(wu)
	e.personWeights = mat.DenseCopyOf(wu)
	e.crossWeights, e.weightPairs = mat.NewDense(e.dim, e.dim, nil), pairs
	e.b, e.w = mat.NewDense(e.dim, e.dim, nil), mat.NewDense(e.dim, e.dim, nil)
	for i := range e.dim {
		for j := range e.dim {
			cross := acrossPairs.At(i, j) - pairs.At(i, j)
			e.crossWeights.Set(i, j, cross)
			e.b.Set(i, j, (across.At(i, j)-within.At(i, j))/math.Max(cross, 1e-9))
			total := within.At(i, j)
			if i == j {
				total -= noise[i]
			}
			e.w.Set(i, j, total/math.Max(pairs.At(i, j), 1e-9)-e.b.At(i, j))
		}
	}
	e.renew()
}

// mean estimates the weighted mean of each cell over all frames.
func (e *estimator) mean() {
	sum, weights := make([]float64, e.dim), make([]float64, e.dim)
	for _, s := range e.samples {
		for i, n := range s.Cells.N {
			if n > 0 {
				weight := n / (n + e.kappa[i])
				sum[i] += weight * s.Cells.M[i]
				weights[i] += weight
			}
		}
	}
	e.mu = make([]float64, e.dim)
	for i := range sum {
		if weights[i] > 0 {
			e.mu[i] = sum[i] / weights[i]
		}
	}
}

// renew takes the diagonals of B and W, bounded from below, and updates kappa: the
// ratio of the noise of one event to what distinguishes frames.
func (e *estimator) renew() {
	e.bDiag, e.wDiag = make([]float64, e.dim), make([]float64, e.dim)
	for i := range e.dim {
		e.bDiag[i] = math.Max(e.b.At(i, i), 1e-3*e.sig2[i])
		e.wDiag[i] = math.Max(e.w.At(i, i), 2e-3*e.sig2[i]+.05*e.bDiag[i])
		e.kappa[i] = e.sig2[i] / (e.bDiag[i] + e.wDiag[i])
	}
}

// pairPeople is the effective number of people behind each value of B.
func (e *estimator) pairPeople() *mat.Dense {
	capped := mat.DenseCopyOf(e.personWeights)
	capped.Apply(func(_, _ int, v float64) float64 { return math.Min(v, 1) }, capped)
	all, once := gram(e.personWeights), gram(capped)
	out := mat.NewDense(e.dim, e.dim, nil)
	out.Apply(func(i, j int, v float64) float64 {
		return v / math.Max(all.At(i, j), 1e-9) * once.At(i, j)
	}, e.crossWeights)
	return out
}

// gram is the product of the transpose of m and m.
func gram(m *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(m.T(), m)
	return &out
}

// scaled is a copy of m with each value multiplied.
func scaled(m *mat.Dense, by float64) *mat.Dense {
	var out mat.Dense
	out.Scale(by, m)
	return &out
}

// repair makes a covariance of pairwise estimates: correlations are damped if few
// people support them, shrunk towards independence, and made positive definite.
func (e *estimator) repair(raw *mat.Dense, diag []float64, support *mat.Dense, shrink float64) []float64 {
	corr := mat.NewSymDense(e.dim, nil)
	for i := range e.dim {
		corr.SetSym(i, i, 1)
		for j := range i {
			r := raw.At(i, j) / math.Sqrt(diag[i]*diag[j])
			n := math.Max(support.At(i, j), 0)
			corr.SetSym(i, j, math.Min(math.Max(r, -1), 1)*n/(n+pairSupport)*(1-shrink))
		}
	}
	full := make([]float64, e.dim*e.dim)
	for i := range e.dim {
		for j := range e.dim {
			full[i*e.dim+j] = corr.At(i, j) * math.Sqrt(diag[i]*diag[j])
		}
	}
	return moments.Positive(full, e.dim)
}

// frameEvents is the mean number of events in a frame, to one decimal.
func (e *estimator) frameEvents() float64 {
	total := 0
	for _, s := range e.samples {
		total += s.Events
	}
	return math.Round(10*float64(total)/float64(len(e.samples))) / 10
}

// effectiveCounts is the count that each bin stands for, cell by cell: the harmonic
// mean of the exact counts in the bin, because noise is proportional to one over
// the count. A base provides its own.
func (e *estimator) effectiveCounts(base *scoring.Background) (few, many []float64, events float64) {
	if base != nil {
		return base.Few, base.Many, base.FrameEvents
	}
	few, many = make([]float64, e.dim), make([]float64, e.dim)
	for i := range e.dim {
		var inverse, count [2]float64
		for _, s := range e.samples {
			if n := s.Cells.N[i]; n > 0 {
				bin := 0
				if features.BinCount(int(n)) == features.CountMany {
					bin = 1
				}
				inverse[bin] += 1 / n
				count[bin]++
			}
		}
		// A prior of ten frames at the bin's nominal count keeps rare cells sane.
		few[i] = (count[0] + 10) / (inverse[0] + 10./features.CountFew)
		many[i] = (count[1] + 10) / (inverse[1] + 10./features.CountMany)
	}
	return few, many, e.frameEvents()
}
