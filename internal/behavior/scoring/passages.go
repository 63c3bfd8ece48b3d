package scoring

import (
	"encoding/json"
	"math"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Passages are stretches of one person's typing, oldest first, each of at least passageKeys keys. A passage is encoded as one byte
// for its number of keys and one byte for the mean of each keystroke cell. The encoding does not depend on a background, so it stays
// valid when the background changes. It is derived behavioral data: seal it.
type Passages []byte

// PassageSize returns the size of a passage in bytes.
func PassageSize() int { return passageSize }

// passageSize is one byte for the number of keys and one for each keystroke cell.
var passageSize = 1 + features.Dim(features.Keystroke)

const (
	// Steps of a cell's range; codes are -127 to 127.
	codeLevels = 254
	codeLeast  = -127
)

// Len returns the number of passages.
func (p Passages) Len() int { return len(p) / passageSize }

// keys returns the number of keys of passage i, at most 255.
func (p Passages) keys(i int) int { return int(p[i*passageSize]) }

// codes returns the cells of passage i.
func (p Passages) codes(i int) []byte {
	return p[i*passageSize+1 : (i+1)*passageSize]
}

// appendPassage appends the passage that a fingerprint stands for.
func appendPassage(out Passages, bg *Background, p fingerprint, keys int) Passages {
	out = append(out, byte(min(keys, math.MaxUint8))) // #nosec G115 -- bounded
	for i, c := range features.Cells(features.Keystroke) {
		code := absent
		if p[i] != absent {
			level := math.Round((p.mean(bg, i) - c.Min) / (c.Max - c.Min) * codeLevels)
			code = codeLeast + int(math.Min(math.Max(level, 0), codeLevels))
		}
		out = append(out, byte(int8(code))) // #nosec G115 -- -128 to 127
	}
	return out
}

// MarshalJSON encodes the passages for the person they are about: keys and the mean of each cell, by name.
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

// recordedGain tabulates what a cell adds to the log-likelihood ratio, by its squared difference in steps of 1/gainSteps of the
// variance between two passages of the person: the log density of a copy minus that of another passage, both Student's t with four
// degrees of freedom, so that a single cell cannot decide.
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

// recordedQuery is a passage prepared for comparison.
type recordedQuery struct {
	// Cells present.
	at []int
	// Means of these cells, as codes.
	code []float32
	// Deviations of recordedNoise in a step of the code.
	scale []float32
	keys  int
	// How much the person's passages differ, relative to those of all people.
	spread float32
}

// queries pools the memory of queries: each frame makes up to three.
var queries = sync.Pool{New: func() any { return &recordedQuery{} }}

// newQuery merges passages and prepares them for comparison. The caller returns the query to queries.
func newQuery(bg *Background, p Passages) *recordedQuery {
	q, _ := queries.Get().(*recordedQuery)
	*q = recordedQuery{at: q.at[:0], code: q.code[:0], scale: q.scale[:0], spread: 1}
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

// sum adds the codes of a cell over the passages from (inclusive) to to (exclusive), and counts the passages that have the cell.
func (p Passages) sum(from, to, cell int) (sum, count int) {
	for at := from*passageSize + 1 + cell; at < to*passageSize; at += passageSize {
		if code := int8(p[at]); code != absent { // #nosec G115 -- the bits
			sum += int(code)
			count++
		}
	}
	return sum, count
}

// measure estimates the query's spread from a sample of the passages, in runs of equally many keys. If a person's passages are very
// similar, a copy must be even more similar to be detected.
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

// run returns the end of the run of passages, beginning with from, whose number of keys is nearest below or equal to keys, at
// least one passage, and its keys.
func (p Passages) run(from, keys int) (to, total int) {
	total = p.keys(from)
	for to = from + 1; to < p.Len() && total+p.keys(to) <= keys; to++ {
		total += p.keys(to)
	}
	return to, total
}

// ratioOne computes ratio for one passage. It is called for every known passage with every frame, so it must be fast.
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

// ratio returns the log-likelihood ratio of the query and the merged passages from (inclusive) to to (exclusive). It returns early
// if the result cannot reach the threshold.
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
