// Package moments learns how a deployment's own people differ from each other and from themselves: it adds up counts, sums and
// products of feature cells over enrolled people and turns the sums into a background. It may not store the vectors of a person, and
// may not form a background from fewer than MinPeople of them.
package moments

import (
	"errors"
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Limits of one person's share.
const (
	// A person with one session says nothing about how people differ from themselves.
	minSessions = 2
	// More sessions would not change the weight of a person, which is one.
	maxSessions = 5
	// residualCap limits how far a cell may lie from the reference, in standard deviations: wider than in scoring, because it bounds
	// what one person adds and not what is decided about them.
	residualCap = 3
	// step is the resolution of all sums. Every share is rounded to it, so that subtracting a share leaves exactly what was there before
	// it was added, and the order of shares does not matter.
	step = 1.0 / (1 << 16)
)

// ErrReference is returned for shares that are relative to different reference backgrounds.
var ErrReference = errors.New("moments: the sums have different references")

// ErrMissing is returned when a share is subtracted that the sums cannot contain.
var ErrMissing = errors.New("moments: the sums do not contain this share")

// Sums are sufficient statistics of enrolled people in units of step, relative to a reference background. A person's share is a Sums
// with one person in it. All values are sums over people, and each person has the weight one.
type Sums struct {
	// Version of the background that values are relative to.
	Reference string
	Modality  features.Modality
	People    int
	// Weight and weighted residual of each cell.
	weight, mean []int64
	// Noise of finite counts, by cell.
	noise []int64
	// Products of cells of different sessions of a person, which share what distinguishes the person.
	across products
	// Products of cells within one session, which share what distinguishes the day as well.
	within products
}

// products are the sums over pairs of cells that a covariance about any mean needs. Rows are cells.
type products struct {
	// weight_i * weight_j
	weights []int64
	// residual_i * weight_j
	firsts []int64
	// residual_i * residual_j
	seconds []int64
}

// newSums returns sums without people.
func newSums(ref *scoring.Background) Sums {
	n := ref.Dim()
	pairs := func() products { return products{make([]int64, n*n), make([]int64, n*n), make([]int64, n*n)} }
	return Sums{Reference: ref.Version, Modality: ref.Modality, weight: make([]int64, n), mean: make([]int64, n), noise: make([]int64, n),
		across: pairs(), within: pairs()}
}

// Empty returns sums without people, relative to a reference background. Use the stated prior: learned backgrounds are replaced.
func Empty(ref *scoring.Background) Sums { return newSums(ref) }

// Share returns what one person adds: a function of the sessions alone, so that the share can be computed again and subtracted as long
// as the sessions are known. Sessions are merged, weighed vectors, oldest first; the newest five count. It reports false if there are
// fewer than two.
func Share(ref *scoring.Background, sessions []features.Vector) (Sums, bool) {
	sessions = sessions[max(0, len(sessions)-maxSessions):]
	if len(sessions) < minSessions {
		return Sums{}, false
	}
	n, f := ref.Dim(), float64(len(sessions))
	s := newSums(ref)
	s.People = 1
	totalW, totalX := make([]float64, n), make([]float64, n)
	noise := make([]float64, n)
	own := [3][]float64{make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)}
	for _, v := range sessions {
		w, x := weigh(ref, v)
		for i := range n {
			totalW[i] += w[i]
			totalX[i] += x[i]
			if w[i] > 0 {
				noise[i] += w[i] * w[i] / v.N[i]
			}
			for j := range n {
				own[0][i*n+j] += w[i] * w[j]
				own[1][i*n+j] += x[i] * w[j]
				own[2][i*n+j] += x[i] * x[j]
			}
		}
	}
	for i := range n {
		s.weight[i], s.mean[i], s.noise[i] = fixed(totalW[i]/f), fixed(totalX[i]/f), fixed(noise[i]/f)
		for j := range n {
			k := i*n + j
			for part, total := range [3]float64{totalW[i] * totalW[j], totalX[i] * totalW[j], totalX[i] * totalX[j]} {
				s.within.parts()[part][k] = fixed(own[part][k] / f)
				s.across.parts()[part][k] = fixed((total - own[part][k]) / (f * (f - 1)))
			}
		}
	}
	return s, true
}

// parts lists the sums of products.
func (p products) parts() [3][]int64 { return [3][]int64{p.weights, p.firsts, p.seconds} }

// weigh returns the weight of each cell of a session and its weighted, capped residual. The weight is near one if the noise of the
// cell's count is small beside the differences between sessions.
func weigh(ref *scoring.Background, v features.Vector) (w, x []float64) {
	w, x = make([]float64, ref.Dim()), make([]float64, ref.Dim())
	for i, count := range v.N {
		if !(count > 0) || math.IsNaN(v.M[i]) {
			continue
		}
		spread := ref.Spread(i)
		limit := residualCap * math.Sqrt(spread+ref.Sig2[i]/count)
		w[i] = count / (count + ref.Sig2[i]/spread)
		x[i] = w[i] * math.Min(math.Max(v.M[i]-ref.Mu[i], -limit), limit)
	}
	return w, x
}

func fixed(v float64) int64 { return int64(math.Round(v / step)) }

// Add adds the people of other. It returns ErrReference if the two are relative to different references.
func (s *Sums) Add(other Sums) error { return s.combine(other, 1) }

// Subtract removes the people of other, for example of a person whose data is erased. It returns ErrMissing if there are fewer people
// in s than in other.
func (s *Sums) Subtract(other Sums) error {
	if other.People > s.People {
		return fmt.Errorf("%w: %d people of %d", ErrMissing, other.People, s.People)
	}
	return s.combine(other, -1)
}

// combine adds other times sign to every sum.
func (s *Sums) combine(other Sums, sign int64) error {
	if s.Reference != other.Reference || s.Modality != other.Modality || len(s.weight) != len(other.weight) {
		return fmt.Errorf("%w: %s of %s and %s of %s", ErrReference, s.Modality, s.Reference, other.Modality, other.Reference)
	}
	s.People += int(sign) * other.People
	mine, theirs := s.all(), other.all()
	for k := range mine {
		for i, v := range theirs[k] {
			mine[k][i] += sign * v
		}
	}
	return nil
}

// all lists every sum.
func (s *Sums) all() [][]int64 {
	a, w := s.across.parts(), s.within.parts()
	return [][]int64{s.weight, s.mean, s.noise, a[0], a[1], a[2], w[0], w[1], w[2]}
}
