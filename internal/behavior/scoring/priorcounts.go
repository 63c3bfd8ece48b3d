package scoring

import "math"

// englishRates are how often groups of keys and classes of transitions occur in 50 keys of English prose on a QWERTY keyboard, which follows
// from the frequencies of letters and pairs of letters. Corrections and capitals are those of the rates above: 6 % and 2 % of all keys.
var englishRates = map[string]float64{
	"LP": 3.2, "LR": 3.9, "LM": 7.8, "LI": 8.4, "RI": 6.9, "RM": 3.3, "RR": 4.5, "RP": 1.2, "SP": 8, "BS": 3, "SH": 1, "OT": .5, "PU": 1.3,
	"L": 23, "R": 14.5, "ll": 28, "sp": 16, "o": 5,
	"LLsamekey": .6, "LLsamefinger": .2, "same_L_adj": 2.3, "same_L_far": .5, "same_R_adj": .5, "same_R_far": .4, "alt_LR": 2, "alt_RL": 2.8,
	"LLsamefinger_rowchg": 1.8, "same_L_adj_rowchg": 2.3, "same_L_far_rowchg": 2.4, "same_R_adj_rowchg": 1.1, "same_R_far_rowchg": 1.4,
	"alt_LR_rowchg": 5.1, "alt_RL_rowchg": 5.1,
	"L_SP": 5.4, "R_SP": 1.6, "SP_L": 4.9, "SP_R": 2.4, "let_BS": 1.4, "BS_BS": 1.6, "BS_let": 1.4, "SH_let": 1, "x_SH": 1, "let_PU": 1.1,
	"PU_x": 1.3, "x_other": .4,
}

// binLeast is the least rate that is assumed of a bin that is filled at all: texts differ, and a rare class may be frequent in one of them.
const binLeast = .8

// count states how many events the count bins stand for in a frame of 50 keys. Cells that count all keys keep what they have.
func (s *stated) count(family, class string) {
	rate, ok := englishRates[class]
	if family == "ps" { // whatever the rows
		rate += englishRates[class+"_rowchg"]
	}
	switch s.name {
	case "caps:c", "shhold:c":
		rate, ok = englishRates["SH"], true
	case "bsrun:c":
		rate, ok = englishRates["BS"], true
	case "pbefBS:c":
		rate, ok = englishRates["let_BS"], true
	}
	if ok {
		s.few, s.many = binWorth(math.Max(rate, binLeast))
	}
}

// binWorth returns the harmonic means of a Poisson count with the given mean within each bin, because noise is proportional to one over the
// count.
func binWorth(rate float64) (few, many float64) {
	const most = 120
	var inverse, weight [2]float64
	p := 1.
	for n := 1.; n < most; n++ {
		p *= rate / n
		bin := 0
		if n >= manyLeast {
			bin = 1
		}
		inverse[bin] += p / n
		weight[bin] += p
	}
	return tenth(weight[0] / inverse[0]), tenth(weight[1] / inverse[1])
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }
