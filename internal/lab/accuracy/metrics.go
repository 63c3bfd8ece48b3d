package accuracy

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Person has the scores of one tested person as the target: of the person's own
// attempts and of those of others. A higher score is more genuine.
type Person struct {
	Genuine, Impostor []float64
}

// EER is the error rate at which false match and false non-match are equal,
// interpolated between neighbouring points of the ROC. It is NaN if either list is
// empty.
func EER(genuine, impostor []float64) float64 {
	if len(genuine) == 0 || len(impostor) == 0 {
		return math.NaN()
	}
	g, i := sorted(genuine), sorted(impostor)
	lastRej, lastAcc := 0.0, 1.0
	for _, t := range thresholds(g, i) {
		rejected := float64(sort.SearchFloat64s(g, t)) / float64(len(g))
		accepted := 1 - float64(sort.SearchFloat64s(i, t))/float64(len(i))
		if rejected >= accepted {
			return cross(lastRej, lastAcc, rejected, accepted)
		}
		lastRej, lastAcc = rejected, accepted
	}
	return cross(lastRej, lastAcc, 1, 0)
}

// cross interpolates the rate at which rejection and acceptance are equal between
// two neighbouring points.
func cross(r0, a0, r1, a1 float64) float64 {
	d0, d1 := r0-a0, r1-a1
	if d1 <= d0 {
		return (r1 + a1) / 2
	}
	w := -d0 / (d1 - d0)
	return r0 + w*(r1-r0)
}

func sorted(v []float64) []float64 {
	out := append([]float64(nil), v...)
	sort.Float64s(out)
	return out
}

// thresholds returns every distinct score in ascending order.
func thresholds(a, b []float64) []float64 {
	all := make([]float64, 0, len(a)+len(b))
	all = append(append(all, a...), b...)
	sort.Float64s(all)
	out := all[:0]
	for i, v := range all {
		if i == 0 || v != all[i-1] {
			out = append(out, v)
		}
	}
	return out
}

// AUC is the probability that a genuine score is above an impostor's; ties count
// half. It is NaN if either list is empty.
func AUC(genuine, impostor []float64) float64 {
	if len(genuine) == 0 || len(impostor) == 0 {
		return math.NaN()
	}
	i := sorted(impostor)
	sum := 0
	for _, g := range genuine {
		sum += sort.SearchFloat64s(i, g) + sort.Search(len(i), func(k int) bool { return i[k] > g })
	}
	return float64(sum) / 2 / float64(len(i)) / float64(len(genuine))
}

// FNMRAt is the share of genuine scores rejected at the threshold that lets a share
// of fmr of the impostors pass.
func FNMRAt(genuine, impostor []float64, fmr float64) float64 {
	if len(genuine) == 0 || len(impostor) == 0 {
		return math.NaN()
	}
	t := quantile(sorted(impostor), 1-fmr)
	lost := 0
	for _, g := range genuine {
		if g <= t {
			lost++
		}
	}
	return float64(lost) / float64(len(genuine))
}

// quantile interpolates the quantile q (0 to 1) of a sorted list, which must not be
// empty.
func quantile(s []float64, q float64) float64 {
	at := q * float64(len(s)-1)
	lo := int(at)
	if lo+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[lo] + (at-float64(lo))*(s[lo+1]-s[lo])
}

// mean is the mean of the values that are numbers; NaN if there are none.
func mean(v []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range v {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// pool joins the scores of all people, for figures under one threshold.
func pool(people []Person) (genuine, impostor []float64) {
	for _, p := range people {
		genuine, impostor = append(genuine, p.Genuine...), append(impostor, p.Impostor...)
	}
	return genuine, impostor
}

// perPerson applies a statistic to each person with scores of both kinds.
func perPerson(people []Person, f func(g, i []float64) float64) []float64 {
	var out []float64
	for _, p := range people {
		if v := f(p.Genuine, p.Impostor); !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// interval is the 95 % bootstrap interval of a statistic. People are drawn, not
// scores, because the scores of one person depend on each other. It is NaN with
// fewer than two people.
func interval[T any](items []T, resamples int, seed uint64, stat func([]T) float64) (lo, hi float64) {
	if len(items) < 2 || resamples < 2 {
		return math.NaN(), math.NaN()
	}
	rng := rand.New(rand.NewPCG(seed, 17))
	values := make([]float64, 0, resamples)
	draw := make([]T, len(items))
	for range resamples {
		for i := range draw {
			draw[i] = items[rng.IntN(len(items))]
		}
		if v := stat(draw); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	sort.Float64s(values)
	return quantile(values, .025), quantile(values, .975)
}
