package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// plainQuery is the comparison with known passages as its definition states it, without tables or running sums.
type plainQuery struct {
	at          []int
	code, scale []float32
	keys        int
	spread      float32
}

// plainNewest merges the newest passages and prepares them for comparison with the known ones.
func plainNewest(n int, bg *Background, p, known Passages) *plainQuery {
	p = p[(p.Len()-n)*passageSize:]
	q := &plainQuery{spread: 1}
	for k := range n {
		q.keys += p.keys(k)
	}
	for i, c := range features.Cells(features.Keystroke) {
		if sum, count := p.sum(0, n, i); count > 0 {
			q.at = append(q.at, i)
			q.code = append(q.code, float32(sum)/float32(count))
			q.scale = append(q.scale, float32((c.Max-c.Min)/codeLevels/math.Sqrt(recordedNoise*bg.Sig2[i])))
		}
	}
	q.measure(known)
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
func (q *plainQuery) measure(p Passages) {
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

// ratio returns the log-likelihood ratio of the query and the merged passages from (inclusive) to to (exclusive). It returns early
// if the result cannot reach the threshold.
func (q *plainQuery) ratio(p Passages, from, to int) float32 {
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

// plainRecorded reports whether the newest passage of a session, or several of them together, are a copy of known passages.
func (p Passages) plainRecorded(bg *Background, known Passages) bool {
	n := p.Len()
	if known.Len() == 0 {
		return false
	}
	last := plainNewest(1, bg, p, known)
	var best nearest
	for i := range known.Len() {
		ratio := last.ratio(known, i, i+1)
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
		two := plainNewest(2, bg, p, known)
		if two.recut(known, near, &own) > recordedLLR {
			return true
		}
	}
	if n < recutPassages {
		return false
	}
	several := plainNewest(recutPassages, bg, p, known)
	return several.recut(known, near, &own) > recutLLR
}

// recut returns the greatest ratio of the query and a run of known passages of about as many keys near one of the given ones.
func (q *plainQuery) recut(known Passages, near []int, own *ownPassages) float32 {
	best := float32(math.Inf(-1))
	next := known.Len() // starts from here on are done: near goes from the newest to the oldest
	for _, at := range near {
		first := min(at, next-1)
		next = min(next, max(at-recutReach, 0))
		for from := first; from >= next; from-- {
			keys := 0
			for to := from + 1; to <= known.Len() && !own.has(to-1); to++ {
				keys += known.keys(to - 1)
				if float64(keys) > recutLongest*float64(q.keys) {
					break
				}
				if float64(keys) >= recutShortest*float64(q.keys) {
					best = max(best, q.ratio(known, from, to))
				}
			}
		}
	}
	return best
}
