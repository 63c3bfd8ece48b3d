package scoring

import (
	"bytes"
	"math"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// recordedGain tabulates what a cell adds to the log-likelihood ratio, by its squared difference in steps of 1/gainSteps of the
// variance between two passages of the person: the log density of a copy minus that of another passage, both Student's t with four
// degrees of freedom, so that a single cell cannot decide. It falls: the first gain is the greatest.
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

// codeSum adds up codes of a cell: the passages that have the cell in the upper bits, and the sum of code - absent in the lower ones.
type codeSum uint32

// sumBits suffice for the codes of all known passages of a subject.
const sumBits = 20

// codeSums are the sums of single codes by their byte.
var codeSums = func() (sums [1 << 8]codeSum) {
	for code := codeLeast; code <= math.MaxInt8; code++ {
		sums[uint8(int8(code))] = 1<<sumBits + codeSum(code-absent) // #nosec G115 -- the bits
	}
	return sums
}()

// count returns the number of passages that have the cell.
func (s codeSum) count() int { return int(s >> sumBits) }

// mean returns the mean code of the passages that have the cell, which must be some.
func (s codeSum) mean() float32 {
	return float32(int(s&(1<<sumBits-1))+s.count()*absent) / float32(s.count())
}

// recordedQuery is a passage prepared for comparison.
type recordedQuery struct {
	// Cells present.
	at []int
	// Means of these cells, as codes.
	code []float32
	// Deviations of recordedNoise in a step of the code.
	scale []float32
	keys  int
	// Steps of recordedGain in the variance between two passages of the person.
	steps float32
	// Gain of each cell present by the byte of another passage's code.
	gains [][1 << 8]float32
	// Sums of the cells present over consecutive known passages, one row for each beginning with zero.
	sums []codeSum
}

// queries pools the memory of queries: each frame makes up to three.
var queries = sync.Pool{New: func() any { return &recordedQuery{} }}

// release wipes the query, which derives from a person's typing, and returns its memory to queries.
func (q *recordedQuery) release() {
	clear(q.code)
	clear(q.gains)
	clear(q.sums[:cap(q.sums)])
	q.gains = q.gains[:0]
	queries.Put(q)
}

// newQuery merges passages and prepares them for comparison. The caller must call release.
func newQuery(bg *Background, p Passages) *recordedQuery {
	q, _ := queries.Get().(*recordedQuery)
	*q = recordedQuery{at: q.at[:0], code: q.code[:0], scale: q.scale[:0], steps: gainSteps, gains: q.gains, sums: q.sums}
	n := p.Len()
	for k := range n {
		q.keys += p.keys(k)
	}
	for i, c := range features.Cells(features.Keystroke) {
		sum := codeSum(0)
		for k := range n {
			sum += codeSums[p.codes(k)[i]]
		}
		if sum == 0 {
			continue
		}
		q.at = append(q.at, i)
		q.code = append(q.code, sum.mean())
		q.scale = append(q.scale, float32((c.Max-c.Min)/codeLevels/math.Sqrt(recordedNoise*bg.Sig2[i])))
	}
	return q
}

// newest merges the newest passages and prepares them for comparison with the known ones.
func (p Passages) newest(n int, bg *Background, known Passages) *recordedQuery {
	q := newQuery(bg, p[(p.Len()-n)*passageSize:])
	q.measure(known)
	return q
}

// measure estimates how much the person's passages differ, relative to those of all people, from a sample of the passages, in runs of
// equally many keys. If a person's passages are very similar, a copy must be even more similar to be detected.
func (q *recordedQuery) measure(p Passages) {
	n := p.Len()
	total, cells := spreadPrior*min(1, chunkKeys/float32(q.keys)), float32(spreadPrior)
	step := max(n/spreadSamples, 1)
	for from := 0; from < n; from += step {
		to, _ := p.run(from, q.keys)
		q.add(p, from, to)
		first, last := q.row(0), q.row(to-from)
		for k, code := range q.code {
			if sum := last[k] - first[k]; sum != 0 {
				d := (code - sum.mean()) * q.scale[k]
				total += min(d*d, spreadCap) / spreadExpected
				cells++
			}
		}
	}
	q.steps = gainSteps / min(max(total/cells, spreadLeast), spreadMost)
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

// add sums the cells present over the passages from (inclusive) to to (exclusive): row i has the sums before passage from+i.
func (q *recordedQuery) add(p Passages, from, to int) {
	cells := len(q.at)
	q.sums = slices.Grow(q.sums[:0], (to-from+1)*cells)[:(to-from+1)*cells]
	clear(q.row(0))
	for i := from; i < to; i++ {
		codes, before, after := p.codes(i), q.row(i-from), q.row(i-from+1)
		for k, cell := range q.at {
			after[k] = before[k] + codeSums[codes[cell]]
		}
	}
}

func (q *recordedQuery) row(i int) []codeSum { return q.sums[i*len(q.at) : (i+1)*len(q.at)] }

// gain returns what a cell adds to the ratio if the other's mean code differs by so much.
func (q *recordedQuery) gain(k int, difference float32) float32 {
	d := difference * q.scale[k]
	return recordedGain[min(int(d*d*q.steps), len(recordedGain)-1)]
}

// tabulate sets gains, for a query of one passage: its codes are whole numbers, so that a gain depends on a distance in codes.
func (q *recordedQuery) tabulate() {
	q.gains = slices.Grow(q.gains[:0], len(q.at))[:len(q.at)]
	for k, code := range q.code {
		own, gains := int(code), &q.gains[k]
		for distance := range max(own-codeLeast, math.MaxInt8-own) + 1 {
			gain := q.gain(k, float32(distance))
			if above := own + distance; above <= math.MaxInt8 {
				gains[uint8(int8(above))] = gain // #nosec G115 -- the bits
			}
			if below := own - distance; below >= codeLeast {
				gains[uint8(int8(below))] = gain // #nosec G115 -- the bits
			}
		}
		gains[none] = 0
	}
}

// none is the byte of an absent cell.
const none = uint8(absent & math.MaxUint8)

// The comparison of two passages ends early if the first cells that both have differ too much. Two limits suffice: most passages end
// at the first one. The limits are of sums in the order of the schema: with another order, other passages would be found.
const (
	early, earlyLeast = 16, -12
	later, laterLeast = 32, -16
)

// ratioOne computes ratio for one passage by the table of gains. It is called for every known passage with every frame, so it must be
// fast.
func (q *recordedQuery) ratioOne(codes []byte) float32 {
	sum, both, k := float32(0), 0, 0
	for ; k < len(q.gains) && both < early; k++ {
		code := codes[q.at[k]]
		sum += q.gains[k][code]
		if code != none {
			both++
		}
	}
	if both == early && sum < earlyLeast {
		return sum
	}
	for ; k < len(q.gains) && both < later; k++ {
		code := codes[q.at[k]]
		sum += q.gains[k][code]
		if code != none {
			both++
		}
	}
	if both == later && sum < laterLeast {
		return sum
	}
	for ; k < len(q.gains); k++ {
		sum += q.gains[k][codes[q.at[k]]]
	}
	return sum
}

// exceeds reports whether the log-likelihood ratio of the query and the merged passages between two rows of the sums is above limit.
// It ends early if the limit is out of reach.
func (q *recordedQuery) exceeds(from, to []codeSum, limit float32) bool {
	const rounding = .01
	sum, both := float32(0), 0
	reach := limit - rounding - float32(len(q.at))*recordedGain[0] // of the sum, if all other cells have the greatest gain
	for k, code := range q.code {
		reach += recordedGain[0]
		codes := to[k] - from[k]
		if codes == 0 {
			continue
		}
		sum += q.gain(k, code-codes.mean())
		if both++; sum < reach || both == early && sum < earlyLeast || both == later && sum < laterLeast {
			return false
		}
	}
	return sum > limit
}

// recorded reports whether the newest passage of a session, or several of them together, are a copy of known passages.
func (p Passages) recorded(bg *Background, known Passages) bool {
	n := p.Len()
	if known.Len() == 0 {
		return false
	}
	last := p.newest(1, bg, known)
	defer last.release()
	last.tabulate()
	var best nearest
	for i := range known.Len() {
		ratio := last.ratioOne(known.codes(i))
		if ratio > recordedLLR {
			return true
		}
		if ratio > recutNearLLR {
			best.add(i, ratio)
		}
	}
	near := best.places()
	if len(near) == 0 || n < 2 {
		return false
	}
	own := p.ownAmong(known)
	if last.keys < chunkKeys {
		two := p.newest(2, bg, known)
		defer two.release()
		if two.recut(known, near, &own, recordedLLR) {
			return true
		}
	}
	if n < recutPassages {
		return false
	}
	several := p.newest(recutPassages, bg, known)
	defer several.release()
	return several.recut(known, near, &own, recutLLR)
}

// nearest holds the known passages with the greatest ratios.
type nearest struct {
	n     int
	at    [recutNearMost]int
	ratio [recutNearMost]float32
}

// add keeps the recutNearMost entries with the greatest ratios, in descending order.
func (b *nearest) add(at int, ratio float32) {
	if b.n == recutNearMost {
		if ratio <= b.ratio[b.n-1] {
			return
		}
		b.n--
	}
	i := b.n
	for ; i > 0 && b.ratio[i-1] < ratio; i-- {
		b.at[i], b.ratio[i] = b.at[i-1], b.ratio[i-1]
	}
	b.at[i], b.ratio[i] = at, ratio
	b.n++
}

// places returns their indices, the newest first.
func (b *nearest) places() []int {
	out := b.at[:b.n]
	slices.SortFunc(out, func(x, y int) int { return y - x })
	return out
}

// ownPassages marks a session's own passages among the newest known ones, which begin with first.
type ownPassages struct {
	first int
	is    [ownAmongNewest]bool
}

// has reports whether known passage i is the session's own.
func (o *ownPassages) has(i int) bool { return i >= o.first && o.is[i-o.first] }

// ownAmong finds a session's own newest passages among the known ones, which must not be compared with themselves.
func (p Passages) ownAmong(known Passages) ownPassages {
	own, size := ownPassages{first: max(0, known.Len()-ownAmongNewest)}, passageSize
	for i := own.first; i < known.Len(); i++ {
		for k := range p.Len() {
			if bytes.Equal(known[i*size:(i+1)*size], p[k*size:(k+1)*size]) {
				own.is[i-own.first] = true
			}
		}
	}
	return own
}

// recut reports whether the ratio of the query and a run of known passages of about as many keys near one of the given ones is above
// limit.
func (q *recordedQuery) recut(known Passages, near []int, own *ownPassages, limit float32) bool {
	next := known.Len() // starts from here on are done: near goes from the newest to the oldest
	for _, at := range near {
		first := min(at, next-1)
		next = min(next, max(at-recutReach, 0))
		if first < next {
			continue
		}
		q.add(known, next, q.reach(known, first))
		for from := first; from >= next; from-- {
			keys := 0
			for to := from + 1; to <= known.Len() && !own.has(to-1); to++ {
				keys += known.keys(to - 1)
				if float64(keys) > recutLongest*float64(q.keys) {
					break
				}
				if float64(keys) >= recutShortest*float64(q.keys) && q.exceeds(q.row(from-next), q.row(to-next), limit) {
					return true
				}
			}
		}
	}
	return false
}

// reach returns the end of the longest run that begins with from. Runs that begin earlier end no later.
func (q *recordedQuery) reach(known Passages, from int) int {
	keys, to := 0, from
	for ; to < known.Len(); to++ {
		if keys += known.keys(to); float64(keys) > recutLongest*float64(q.keys) {
			break
		}
	}
	return to
}
