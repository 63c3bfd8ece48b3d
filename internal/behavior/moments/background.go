package moments

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// MinPeople is the least number of people from whom a background is formed: below it, sums would say too much about each of them.
const MinPeople = 20

// The weight of the reference in the mixture, in people. Own people outweigh it as soon as there are more of them.
const (
	meanPrior    = 3
	betweenPrior = 25
	withinPrior  = 25
	eventPrior   = 20
)

// eventShare is the part of the correlations within sessions that is taken for that of single events.
const eventShare = .8

// eventMost is the most by which the variance of single events may differ from the reference's: people's times vary alike.
const eventMost = 3

// eigenFloor is the smallest eigenvalue of a correlation matrix.
const eigenFloor = .02

// ErrTooFew is returned if there are fewer than MinPeople.
var ErrTooFew = errors.New("moments: too few people for a background")

// Background mixes the sums with the reference they are relative to, by the number of people that each value rests on. The worth of
// counts is the reference's, because sums do not contain it. It returns ErrTooFew below MinPeople.
func (s *Sums) Background(ref *scoring.Background, version string) (*scoring.Background, error) {
	if s.People < MinPeople {
		return nil, fmt.Errorf("%w: %d of %d", ErrTooFew, s.People, MinPeople)
	}
	return s.mixed(ref, version)
}

// mixed is Background for any number of people, to compare with some of them left out.
func (s *Sums) mixed(ref *scoring.Background, version string) (*scoring.Background, error) {
	if s.Reference != ref.Version || s.Modality != ref.Modality {
		return nil, fmt.Errorf("%w: %s and %s", ErrReference, s.Reference, ref.Version)
	}
	n := ref.Dim()
	out := *ref
	out.Version, out.Mu, out.Sig2 = version, slices.Clone(ref.Mu), slices.Clone(ref.Sig2)
	offset := make([]float64, n)
	for i := range n {
		weight := float64(s.weight[i]) * step
		if weight > 0 {
			offset[i] = float64(s.mean[i]) * step / weight
		}
		out.Mu[i] = round(ref.Mu[i] + offset[i]*weight/(weight+meanPrior))
	}
	between, within := scoring.Unpack(ref.Between, n), scoring.Unpack(ref.Within, n)
	for i := range n {
		for j := range n {
			k := i*n + j
			b, people := s.across.covariance(offset, i, j, n)
			total, support := s.within.covariance(offset, i, j, n)
			if i == j && support > 0 {
				share := float64(s.noise[i]) * step / support
				out.Sig2[i] = eventVariance(ref.Sig2[i], within[k], share, total-b, support)
				total -= out.Sig2[i] * share
			}
			w := total - b
			if i == j {
				b, w = math.Max(b, 0), math.Max(w, 0)
			}
			between[k] = (betweenPrior*between[k] + people*b) / (betweenPrior + people)
			within[k] = (withinPrior*within[k] + support*w) / (withinPrior + support)
		}
	}
	out.Between, out.Within = scoring.Pack(Positive(between, n), n), scoring.Pack(Positive(within, n), n)
	out.Joint = s.joint(ref, offset)
	out.Card = scoring.Card{
		Data:       "the enrolled people of this deployment, as sums over all of them, mixed with " + ref.Version,
		Licence:    "the deployment's own",
		People:     s.People,
		Population: "the people who enrolled here",
		Local:      true,
		Limitations: []string{
			"the worth of counts is stated, not learned",
			fmt.Sprintf("values that rest on few people are mostly those of %s", ref.Version),
		},
	}
	return &out, out.Prepare()
}

// joint mixes the reference's correlations of single events with those found within sessions: a part of these, because in sums what single
// events have in common is not apart from what cells of one session do.
func (s *Sums) joint(ref *scoring.Background, offset []float64) []float64 {
	n := ref.Dim()
	out := make([]float64, n*n)
	for i := range n {
		out[i*n+i] = 1
	}
	if len(ref.Joint) > 0 {
		out = scoring.Unpack(ref.Joint, n)
	}
	variance := make([]float64, n)
	for i := range n {
		variance[i], _ = s.session(offset, i, i)
	}
	for i := range n {
		for j := range i {
			if !(variance[i] > 0) || !(variance[j] > 0) {
				continue
			}
			found, people := s.session(offset, i, j)
			r := eventShare * math.Min(math.Max(found/math.Sqrt(variance[i]*variance[j]), -1), 1)
			out[i*n+j] = (withinPrior*out[i*n+j] + people*r) / (withinPrior + people)
			out[j*n+i] = out[i*n+j]
		}
	}
	packed := scoring.Pack(Positive(out, n), n)
	for i := range packed {
		packed[i] = round(packed[i])
	}
	return packed
}

// session returns the covariance of two cells within a session, with the noise of finite counts, and the number of people it rests on.
func (s *Sums) session(offset []float64, i, j int) (value, people float64) {
	n := len(offset)
	b, _ := s.across.covariance(offset, i, j, n)
	total, people := s.within.covariance(offset, i, j, n)
	return total - b, people
}

// eventVariance returns the variance of one event from what was found within sessions: the variance within plus the given share of that of
// one event. What is found beyond what is stated is divided between the two in their stated proportion, because in sums they are one
// value; in sessions of usual length nearly all of it is the events'.
func eventVariance(stated, within, share, found, people float64) float64 {
	expected := within + stated*share
	factor := (eventPrior*expected + people*math.Max(found, 0)) / ((eventPrior + people) * expected)
	return round(stated * math.Min(math.Max(factor, 1./eventMost), eventMost))
}

// covariance returns the covariance of two cells about the offsets, and the number of people it rests on.
func (p products) covariance(offset []float64, i, j, n int) (value, people float64) {
	ij, ji := i*n+j, j*n+i
	people = float64(p.weights[ij]) * step
	if people <= 0 {
		return 0, 0
	}
	first := offset[j]*float64(p.firsts[ij]) + offset[i]*float64(p.firsts[ji])
	sum := float64(p.seconds[ij]) - first + offset[i]*offset[j]*float64(p.weights[ij])
	return sum * step / people, people
}

// round rounds to five decimals, which is finer than any mean is known.
func round(v float64) float64 { return math.Round(v*1e5) / 1e5 }

// Positive makes a symmetric matrix of n rows, estimated pair by pair, positive definite: eigenvalues of its correlations are bounded
// from below, and the diagonal is kept. Diagonal values must be positive.
func Positive(full []float64, n int) []float64 {
	corr := mat.NewSymDense(n, nil)
	for i := range n {
		corr.SetSym(i, i, 1)
		for j := range i {
			r := (full[i*n+j] + full[j*n+i]) / 2 / math.Sqrt(full[i*n+i]*full[j*n+j])
			corr.SetSym(i, j, math.Min(math.Max(r, -1), 1))
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(corr, true) {
		return diagonal(full, n)
	}
	var v, root, out mat.Dense
	eig.VectorsTo(&v)
	values := eig.Values(nil)
	root.Apply(func(_, k int, x float64) float64 { return x * math.Sqrt(math.Max(values[k], eigenFloor)) }, &v)
	out.Mul(&root, root.T())
	result := make([]float64, n*n)
	for i := range n {
		for j := range n {
			result[i*n+j] = out.At(i, j) / math.Sqrt(out.At(i, i)*out.At(j, j)) * math.Sqrt(full[i*n+i]*full[j*n+j])
		}
	}
	return result
}

// diagonal keeps the diagonal of a matrix alone.
func diagonal(full []float64, n int) []float64 {
	out := make([]float64, n*n)
	for i := range n {
		out[i*n+i] = full[i*n+i]
	}
	return out
}
