package synthetic

import (
	"math"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// leastKnown is the number of times from which a program knows a class of keys; for rarer ones it uses those of all classes.
const leastKnown = 3

// Learned are the programs that know a person from other recordings than those of the session that they imitate: from its sessions at
// another site, or of the enrolment. The first draws from a log-normal distribution with the mean and the deviation of each class of
// keys, the second repeats one of the person's own times of the class.
func Learned(recorded [][]features.KeyEvent) []Attack {
	known := map[string][]float64{}
	for _, text := range recorded {
		intervals, holds := series(text)
		for i := range text {
			known["h"] = append(known["h"], math.Log(holds[i]))
			group := holdClass(text, i)
			known[group] = append(known[group], math.Log(holds[i]))
			if i < len(intervals) {
				known["p"] = append(known["p"], math.Log(intervals[i]))
				class := pressClass(text, i)
				known[class] = append(known[class], math.Log(intervals[i]))
			}
		}
	}
	of := func(class string) []float64 {
		if v := known[class]; len(v) >= leastKnown {
			return v
		}
		return known[class[:1]]
	}
	normal := func(rng *rand.Rand, class string) float64 {
		mean, sd := moments(of(class))
		return math.Exp(mean + sd*rng.NormFloat64())
	}
	drawn := func(rng *rand.Rand, class string) float64 {
		v := of(class)
		return math.Exp(v[rng.IntN(len(v))])
	}
	return []Attack{
		{"victim's class moments, of other sessions", true, true, byClass(normal)},
		{"victim's times by class, of other sessions", true, true, byClass(drawn)},
	}
}

// byClass draws every time by the class of its keys.
func byClass(time func(rng *rand.Rand, class string) float64) func(*rand.Rand, []features.KeyEvent) []features.KeyEvent {
	return func(rng *rand.Rand, text []features.KeyEvent) []features.KeyEvent {
		return retime(text, func(i int) float64 { return time(rng, pressClass(text, i)) }, func(i int) float64 { return time(rng, holdClass(text, i)) })
	}
}

func holdClass(text []features.KeyEvent, i int) string { return "h:" + features.KeyGroup(text[i].Key) }

// pressClass names the class of a key and the next one.
func pressClass(text []features.KeyEvent, i int) string {
	return "p:" + features.TransitionClass(text[i].Key, text[i+1].Key)
}
