package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Attack is a program that types the keys of a recorded text with generated times.
type Attack struct {
	Name string
	// Varies its times with the keys, which content-blind tests cannot detect.
	Informed bool
	// Uses statistics of the victim.
	Victim bool
	Make   func(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent
}

// Attacks returns the generators, from naive ones to those that use the victim's own statistics. Each receives a recording of the
// victim typing the text; the naive ones use only its keys.
func Attacks() []Attack {
	return []Attack{
		{"constant", false, false, timed(func(*rand.Rand) float64 { return 100 }, func(*rand.Rand) float64 { return 40 })},
		{"constant with 5 % noise", false, false, timed(gauss(100, 5), gauss(40, 2))},
		{"paste-like", false, false, timed(uniform(1, 3), func(*rand.Rand) float64 { return 1 })},
		WebDriver(),
		{"uniform 50-150", false, false, timed(uniform(50, 150), uniform(20, 60))},
		{"uniform 80-300", false, false, timed(uniform(80, 300), uniform(50, 120))},
		{"gaussian, population moments", false, false, timed(gauss(190, 80), gauss(105, 30))},
		{"log-normal, population moments", false, false, timed(lognormal(5.15, .5), lognormal(4.6, .3))},
		{"log-normal, victim moments", false, true, victimMoments},
		{"victim's times shuffled", false, true, shuffled},
		{"population class means", true, false, populationClasses},
		{"victim's class means", true, true, victimClasses},
		Replay(5),
	}
}

// WebDriver returns the attack of a script that drives a browser: even times, and keys that are held for hardly a millisecond.
func WebDriver() Attack {
	return Attack{"webdriver", false, false, timed(uniform(60, 120), uniform(.5, 2))}
}

// Replay returns the attack that repeats a recording with Gaussian jitter, in ms, on every time.
func Replay(jitterMS float64) Attack {
	return Attack{fmt.Sprintf("replay with %g ms jitter", jitterMS), true, true, jittered(jitterMS)}
}

// sampler draws one value, such as a time in ms.
type sampler func(*rand.Rand) float64

// gauss samples a normal distribution.
func gauss(mean, sd float64) sampler {
	return func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
}

func uniform(lo, hi float64) sampler {
	return func(r *rand.Rand) float64 { return lo + (hi-lo)*r.Float64() }
}

// lognormal samples exp of a normal distribution; mean and sd are of the logarithm.
func lognormal(mean, sd float64) sampler {
	return func(r *rand.Rand) float64 { return math.Exp(mean + sd*r.NormFloat64()) }
}

// retime replaces the press-press times and holds of a text.
func retime(text []features.KeyEvent, interval, hold func(i int) float64) []features.KeyEvent {
	out := make([]features.KeyEvent, len(text))
	at := 0.0
	for i, ev := range text {
		h := math.Max(hold(i), 1)
		out[i] = features.KeyEvent{Key: ev.Key, Press: math.Round(at), Release: math.Round(at + h)}
		if i+1 < len(text) {
			at += math.Max(interval(i), 1)
		}
	}
	return out
}

// timed generates times that are independent of the keys.
func timed(interval, hold sampler) func(*rand.Rand, []features.KeyEvent) []features.KeyEvent {
	return func(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
		return retime(text, func(int) float64 { return math.Max(interval(rng), 1) }, func(int) float64 { return hold(rng) })
	}
}

// series returns the press-press times and holds of a text, in ms.
func series(text []features.KeyEvent) (intervals, holds []float64) {
	for i, ev := range text {
		holds = append(holds, math.Max(ev.Release-ev.Press, 1))
		if i+1 < len(text) {
			intervals = append(intervals, math.Min(math.Max(text[i+1].Press-ev.Press, 5), 1500))
		}
	}
	return intervals, holds
}

// logMoments returns the mean and the standard deviation of the logarithms.
func logMoments(v []float64) (mean, sd float64) {
	logs := make([]float64, len(v))
	for i, x := range v {
		logs[i] = math.Log(x)
	}
	return moments(logs)
}

// moments returns the mean and the standard deviation.
func moments(v []float64) (mean, sd float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		sd += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(sd)
}

// victimMoments draws times from log-normal distributions with the victim's mean and deviation.
func victimMoments(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
	intervals, holds := series(text)
	im, is := logMoments(intervals)
	hm, hs := logMoments(holds)
	return timed(lognormal(im, is), lognormal(hm, hs))(rng, text)
}

// shuffled permutes the victim's own times among the keys.
func shuffled(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
	intervals, holds := series(text)
	rng.Shuffle(len(intervals), func(i, j int) { intervals[i], intervals[j] = intervals[j], intervals[i] })
	rng.Shuffle(len(holds), func(i, j int) { holds[i], holds[j] = holds[j], holds[i] })
	return retime(text, func(i int) float64 { return intervals[i] }, func(i int) float64 { return holds[i] })
}

// classMean returns the population's mean log press-press time (log ms) of two consecutive keys, by the class of the pair.
func classMean(a, b string) float64 {
	_, pp, _ := features.Typical()
	return pp + populationMean("p:"+features.TransitionClass(a, b))
}

// groupMean returns the population's mean log hold (log ms) of a key, by its group.
func groupMean(key string) float64 {
	hold, _, _ := features.Typical()
	return hold + populationMean("h:"+features.KeyGroup(key))
}

// populationMean returns the mean of a keystroke cell in the embedded background; 0 for an unknown cell.
func populationMean(cell string) float64 {
	if i := features.CellIndex(features.Keystroke, cell); i >= 0 {
		return scoring.Default().Background(features.Keystroke).Mu[i]
	}
	return 0
}

// populationClasses uses the population's mean times for each class of transition and group of keys, with noise.
func populationClasses(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
	return retime(text,
		func(i int) float64 { return math.Exp(classMean(text[i].Key, text[i+1].Key) + .35*rng.NormFloat64()) },
		func(i int) float64 { return math.Exp(groupMean(text[i].Key) + .25*rng.NormFloat64()) })
}

// victimClasses uses the victim's own mean times for each class of transition and group of keys. It is the strongest attack that
// the statistics in a template permit.
func victimClasses(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
	mean, count := map[string]float64{}, map[string]float64{}
	note := func(name string, value float64) {
		count[name]++
		mean[name] += (value - mean[name]) / count[name]
	}
	intervals, holds := series(text)
	for i := range text {
		note(holdClass(text, i), math.Log(holds[i]))
		if i < len(intervals) {
			note(pressClass(text, i), math.Log(intervals[i]))
		}
	}
	return retime(text,
		func(i int) float64 { return math.Exp(mean[pressClass(text, i)] + .3*rng.NormFloat64()) },
		func(i int) float64 { return math.Exp(mean[holdClass(text, i)] + .18*rng.NormFloat64()) })
}

// jittered adds Gaussian noise to every time and keeps the order of presses.
func jittered(ms float64) func(*rand.Rand, []features.KeyEvent) []features.KeyEvent {
	return func(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
		intervals, holds := series(text)
		return retime(text, func(i int) float64 { return intervals[i] + ms*rng.NormFloat64() },
			func(i int) float64 { return holds[i] + ms*rng.NormFloat64() })
	}
}
