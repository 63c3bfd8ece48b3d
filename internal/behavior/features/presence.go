package features

import (
	"math"
	"sort"
)

// minPresencePairs is the smallest number of press-press times from which presence scalars are computed.
const minPresencePairs = 12

// presenceSchema lists the presence scalars with formula, unit and range. Scalars of typing come first.
func presenceSchema() []Scalar {
	k := func(name, unit string, lo, hi float64, def string) Scalar {
		return Scalar{name, Keystroke, def, unit, lo, hi}
	}
	p := func(name, unit string, lo, hi float64, def string) Scalar {
		return Scalar{name, Pointer, def, unit, lo, hi}
	}
	return []Scalar{
		k("sd_lpp", "log ms", 0, 4, "standard deviation of log(clip(PP,5,1500)) over 0 < PP < 1500"),
		k("sd_lhold", "log ms", 0, 4, "standard deviation of log(clip(hold,1,800))"),
		k("med_pp", "ms", 0, 1500, "median PP"),
		k("med_hold", "ms", 0, 10000, "median hold"),
		k("skew_lpp", "1", -100, 100, "skewness of log PP"),
		k("skew_pp", "1", -100, 100, "skewness of PP"),
		k("lag1", "correlation", -1, 1, "lag-1 autocorrelation of log PP"),
		k("rollover", "share", 0, 1, "share of keys still held when the next is pressed"),
		k("p90p10_pp", "log", 0, 8, "log ratio of the 90 % and 10 % quantiles of PP"),
		k("uniq_pp", "share", 0, 1, "distinct whole-millisecond PP values over their number"),
		k("uniq_hold", "share", 0, 1, "distinct whole-millisecond hold values over their number"),
		k("quant", "share", -1, 1, "strongest excess of PP values on a grid of 5, 8, 10, 16, 20, 25 or 50 ms"),
		k("corr_hold_pp", "correlation", -1, 1, "correlation of log hold with the following log PP"),
		k("lag1_hold", "correlation", -1, 1, "lag-1 autocorrelation of log hold"),
		k("kurt_lpp", "1", -10, 1000, "excess kurtosis of log PP"),
		k("skew_lhold", "1", -100, 100, "skewness of log hold"),
		p("sd_lv", "log px/ms", 0, 10, "standard deviation of log(speed + 0.001)"),
		p("unit_steps", "share", 0, 1, "share of steps of at most 1.5 px"),
		p("max_step", "px", 0, 100000, "longest step"),
		p("straight", "share", 0, 1, "share of steps that turn by less than 0.02 rad"),
		p("uniq_steps", "share", 0, 1, "distinct (dx, dy) over steps"),
		p("sd_ldt", "log ms", 0, 6, "standard deviation of log time between moves, 0 < dt < 200 ms"),
		p("gaps", "share", 0, 1, "share of pauses of 200 ms and more between moves"),
		p("med_v", "px/ms", 0, 10000, "median speed"),
		p("axis_diag", "share", 0, 1, "share of steps along an axis or a diagonal"),
		p("top_step", "share", 0, 1, "share of the commonest (dx, dy)"),
	}
}

// keySeries holds the paired series from which the presence scalars are computed.
type keySeries struct {
	pp, logPP, hold, logHold []float64
	// Log hold of the first key of each pair in pp.
	holdBefore          []float64
	rolled, transitions int
}

// collectSeries computes the log times of consecutive presses.
func collectSeries(events []KeyEvent) keySeries {
	var s keySeries
	for i, ev := range events {
		hold := math.Max(ev.Release-ev.Press, 1)
		logHold := math.Log(clamp(hold, 1, 800))
		s.hold, s.logHold = append(s.hold, hold), append(s.logHold, logHold)
		if i+1 == len(events) {
			break
		}
		pp := events[i+1].Press - ev.Press
		s.transitions++
		if hold > pp {
			s.rolled++
		}
		if pp > 0 && pp < 1500 {
			s.pp, s.logPP = append(s.pp, pp), append(s.logPP, math.Log(clamp(pp, 5, 1500)))
			s.holdBefore = append(s.holdBefore, logHold)
		}
	}
	return s
}

// keyPresence computes the typing scalars: moments and regularity of the times, whatever the keys. Whether times follow the keys is
// judged from the cells (see scoring).
func keyPresence(events []KeyEvent) Presence {
	var p Presence
	s := collectSeries(events)
	if len(s.pp) < minPresencePairs {
		return p
	}
	p.set("sd_lpp", deviation(s.logPP))
	p.set("sd_lhold", deviation(s.logHold))
	p.set("med_pp", quantile(s.pp, .5))
	p.set("med_hold", quantile(s.hold, .5))
	p.set("skew_lpp", moment(s.logPP, 3, 1e-3))
	p.set("skew_pp", moment(s.pp, 3, 1))
	p.set("lag1", correlation(s.logPP[1:], s.logPP[:len(s.logPP)-1]))
	p.set("rollover", float64(s.rolled)/float64(s.transitions))
	p.set("p90p10_pp", math.Log(math.Max(quantile(s.pp, .9), 1)/math.Max(quantile(s.pp, .1), 1)))
	p.set("uniq_pp", uniqueShare(s.pp))
	p.set("uniq_hold", uniqueShare(s.hold))
	p.set("quant", gridExcess(s.pp))
	p.set("corr_hold_pp", correlation(s.holdBefore, s.logPP))
	p.set("lag1_hold", correlation(s.logHold[1:], s.logHold[:len(s.logHold)-1]))
	p.set("kurt_lpp", moment(s.logPP, 4, 1e-3)-3)
	p.set("skew_lhold", moment(s.logHold, 3, 1e-3))
	return p
}

// mean returns the arithmetic mean; 0 for no values.
func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// deviation returns the population standard deviation.
func deviation(v []float64) float64 {
	m, sum := mean(v), 0.0
	if len(v) == 0 {
		return 0
	}
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(v)))
}

// moment returns the standardized central moment of an order (3: skewness, 4: kurtosis). floor is the least deviation used, so that a
// constant series does not divide by zero.
func moment(v []float64, order int, floor float64) float64 {
	m, sum := mean(v), 0.0
	for _, x := range v {
		sum += math.Pow(x-m, float64(order))
	}
	return sum / float64(len(v)) / math.Pow(math.Max(deviation(v), floor), float64(order))
}

// correlation returns Pearson's coefficient; 0 if one of the series is constant.
func correlation(a, b []float64) float64 {
	sa, sb := deviation(a), deviation(b)
	if sa < 1e-6 || sb < 1e-6 {
		return 0
	}
	ma, mb, sum := mean(a), mean(b), 0.0
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / float64(len(a)) / sa / sb
}

// quantile returns the quantile q (0 to 1) by linear interpolation between order statistics.
func quantile(v []float64, q float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	at := q * float64(len(s)-1)
	lo := int(at)
	if lo+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[lo] + (at-float64(lo))*(s[lo+1]-s[lo])
}

// uniqueShare returns the number of distinct values, rounded to whole ms, as a share of all.
func uniqueShare(v []float64) float64 {
	seen := map[float64]bool{}
	for _, x := range v {
		seen[math.Round(x)] = true
	}
	return float64(len(seen)) / float64(len(v))
}

// gridExcess returns how much more often times are multiples of 5 to 50 ms than by chance, for the worst of several grids: a
// program's timer yields such times. 0 is chance, 1 is always.
func gridExcess(pp []float64) float64 {
	best := 0.0
	for _, grid := range []float64{5, 8, 10, 16, 20, 25, 50} {
		on := 0.0
		for _, x := range pp {
			on += share(math.Mod(math.Round(x), grid) == 0)
		}
		best = math.Max(best, (on/float64(len(pp))-1/grid)/(1-1/grid))
	}
	return best
}
