package scoring

import (
	"encoding/json"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Passages are stretches of typing of one person, oldest first, each of passageKeys keys and more: for each the number of
// keys in one byte and the mean of each keystroke cell in one byte more. The bytes do not depend on a background, so they
// outlive it. They are derived behavior data; seal them.
type Passages []byte

// PassageSize is how many bytes a passage takes.
func PassageSize() int { return passageSize }

var passageSize = 1 + features.Dim(features.Keystroke)

const (
	codeLevels = 254 // steps of a cell's range; codes are -127 to 127
	codeLeast  = -127
)

// Len is how many passages there are.
func (p Passages) Len() int { return len(p) / passageSize }

// keys is how many keys passage i has, at most 255.
func (p Passages) keys(i int) int { return int(p[i*passageSize]) }

// codes are the cells of passage i.
func (p Passages) codes(i int) []byte {
	return p[i*passageSize+1 : (i+1)*passageSize]
}

// newPassage encodes the means of the cells that are present.
func newPassage(cells features.Vector, keys int) Passages {
	out := make(Passages, passageSize)
	out[0] = byte(min(keys, math.MaxUint8)) // #nosec G115 -- bounded
	for i, c := range features.Cells(features.Keystroke) {
		code := absent
		if cells.N[i] > 0 {
			level := math.Round((cells.M[i] - c.Min) / (c.Max - c.Min) * codeLevels)
			code = codeLeast + int(math.Min(math.Max(level, 0), codeLevels))
		}
		out[1+i] = byte(int8(code)) // #nosec G115 -- -128 to 127
	}
	return out
}

// MarshalJSON writes the passages for the person they are about: keys and the mean of each cell, by name.
func (p Passages) MarshalJSON() ([]byte, error) {
	type readable struct {
		Keys  int                `json:"keys"`
		Cells map[string]float64 `json:"cells"`
	}
	cells := features.Cells(features.Keystroke)
	out := make([]readable, p.Len())
	for k := range out {
		out[k] = readable{p.keys(k), map[string]float64{}}
		for i, b := range p.codes(k) {
			if code := int8(b); code != absent { // #nosec G115 -- the bits
				c := cells[i]
				mean := c.Min + float64(int(code)-codeLeast)/codeLevels*(c.Max-c.Min)
				out[k].Cells[c.Name] = math.Round(mean*1e4) / 1e4
			}
		}
	}
	return json.Marshal(out)
}

// recordedGain is what a cell adds to the log-likelihood ratio, by its squared difference in steps of 1/gainSteps of the
// variance between two passages of the person: density of a copy over density of another passage, both Student's t with
// four degrees of freedom, so that one odd cell cannot decide.
var recordedGain = func() (gain [gainMost * gainSteps]float32) {
	log := func(u, variance float64) float64 { return -math.Log(variance)/2 - 2.5*math.Log1p(u/variance/4) }
	for i := range gain {
		u := (float64(i) + .5) / gainSteps
		gain[i] = float32(log(u, recordedRatio) - log(u, 1))
	}
	return gain
}()

const (
	gainSteps = 64
	gainMost  = 16
)

// recordedQuery is a passage that is compared.
type recordedQuery struct {
	at     []int     // cells present
	code   []float32 // their means, as codes
	scale  []float32 // deviations of recordedNoise in a step of the code
	keys   int
	spread float32 // how much the person's passages differ, as a share of how much people's do
}

// newQuery prepares passages, merged, for comparison.
func newQuery(bg *Background, p Passages) recordedQuery {
	q := recordedQuery{spread: 1}
	n := p.Len()
	for k := range n {
		q.keys += p.keys(k)
	}
	for i, c := range features.Cells(features.Keystroke) {
		sum, count := p.sum(0, n, i)
		if count == 0 {
			continue
		}
		q.at = append(q.at, i)
		q.code = append(q.code, float32(sum)/float32(count))
		q.scale = append(q.scale, float32((c.Max-c.Min)/codeLevels/math.Sqrt(recordedNoise*bg.Sig2[i])))
	}
	return q
}

// sum adds up the codes of a cell over passages from to to, and counts those that have it.
func (p Passages) sum(from, to, cell int) (sum, count int) {
	for at := from*passageSize + 1 + cell; at < to*passageSize; at += passageSize {
		if code := int8(p[at]); code != absent { // #nosec G115 -- the bits
			sum += int(code)
			count++
		}
	}
	return sum, count
}

// measure learns the query's spread from a sample of the passages, in runs of as many keys. A person whose passages are all
// alike must be more alike still to be taken for a copy.
func (q *recordedQuery) measure(p Passages) {
	n := p.Len()
	total, cells := spreadPrior*min(1, chunkKeys/float32(q.keys)), float32(spreadPrior)
	step := max(n/spreadSamples, 1)
	for from := 0; from < n; from += step {
		to, _ := p.run(from, q.keys)
		for k, cell := range q.at {
			if sum, count := p.sum(from, to, cell); count > 0 {
				d := (q.code[k] - float32(sum)/float32(count)) * q.scale[k]
				total += min(d*d, spreadCap) / spreadExpected
				cells++
			}
		}
	}
	q.spread = min(max(total/cells, spreadLeast), spreadMost)
}

// run is the end of the run of passages from a first that is nearest below or at the number of keys, one at least, and its
// keys.
func (p Passages) run(from, keys int) (to, total int) {
	total = p.keys(from)
	for to = from + 1; to < p.Len() && total+p.keys(to) <= keys; to++ {
		total += p.keys(to)
	}
	return to, total
}

// ratioOne is ratio for one passage. It is called for every passage known with every frame.
func (q *recordedQuery) ratioOne(codes []byte) float32 {
	sum, both := float32(0), 0
	scale := gainSteps / q.spread
	for k, cell := range q.at {
		code := int8(codes[cell]) // #nosec G115 -- the bits
		if code == absent {
			continue
		}
		d := (q.code[k] - float32(code)) * q.scale[k]
		sum += recordedGain[min(int(d*d*scale), len(recordedGain)-1)]
		if both++; both == 16 && sum < -12 || both == 32 && sum < -16 {
			return sum
		}
	}
	return sum
}

// ratio is the log-likelihood ratio of the query and the passages from to to, merged. What cannot become a copy any more is
// left early.
func (q *recordedQuery) ratio(p Passages, from, to int) float32 {
	sum, both := float32(0), 0
	scale := gainSteps / q.spread
	for k, cell := range q.at {
		codes, count := p.sum(from, to, cell)
		if count == 0 {
			continue
		}
		d := (q.code[k] - float32(codes)/float32(count)) * q.scale[k]
		sum += recordedGain[min(int(d*d*scale), len(recordedGain)-1)]
		if both++; both == 16 && sum < -12 || both == 32 && sum < -16 {
			return sum
		}
	}
	return sum
}
