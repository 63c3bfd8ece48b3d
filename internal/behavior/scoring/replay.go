package scoring

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// fingerprint is a keystroke frame in steps of 1/20 standard deviation, one byte per cell: sufficient to recognize the frame when it
// is replayed, with or without jitter.
type fingerprint []int8

const (
	absent    = math.MinInt8
	printStep = 20
)

// newFingerprint converts the means of a frame to steps of the population's standard deviation, limited to the range of a
// byte. Cells without events are absent.
func newFingerprint(bg *Background, v features.Vector) fingerprint {
	out := make(fingerprint, len(v.N))
	for i, n := range v.N {
		out[i] = absent
		if n > 0 {
			z := math.Round((v.M[i] - bg.Mu[i]) / bg.sd[i] * printStep)
			out[i] = int8(math.Min(math.Max(z, -127), 127))
		}
	}
	return out
}

// distance returns the mean absolute difference in standard deviations over the cells that both frames have; +Inf if they share too
// few cells to be the same recording.
func (p fingerprint) distance(q fingerprint) float64 {
	if len(p) != len(q) {
		return math.Inf(1)
	}
	both, either, sum := 0, 0, 0
	for i := range p {
		hasP, hasQ := p[i] != absent, q[i] != absent
		if hasP || hasQ {
			either++
		}
		if hasP && hasQ {
			both++
			d := int(p[i]) - int(q[i])
			sum += max(d, -d)
		}
	}
	if both < replayCells || float64(both) < replayOverlap*float64(either) {
		return math.Inf(1)
	}
	return float64(sum) / float64(both) / printStep
}

// merge returns the fingerprint of two stretches of typing together, weighted by their keys.
func (p fingerprint) merge(q fingerprint, pKeys, qKeys int) fingerprint {
	out := slices.Clone(p)
	total := max(pKeys+qKeys, 1)
	for i, z := range q {
		switch {
		case z == absent:
		case out[i] == absent:
			out[i] = z
		default:
			out[i] = int8((int(out[i])*pKeys + int(z)*qKeys) / total) // #nosec G115 -- between the two
		}
	}
	return out
}

// mean returns the mean that a present cell of a fingerprint stands for.
func (p fingerprint) mean(bg *Background, cell int) float64 {
	return bg.Mu[cell] + float64(p[cell])/printStep*bg.sd[cell]
}

// nearest returns the smallest distance to any of the prints.
func (p fingerprint) nearest(prints []fingerprint) float64 {
	best := math.Inf(1)
	for _, q := range prints {
		best = math.Min(best, p.distance(q))
	}
	return best
}

// observeReplay compares the frame with the session, the templates and the known passages, and returns the passage that the frame
// completed.
func (m *Model) observeReplay(s *State, in Input, ts Templates, odd set) (kind string, done Passages) {
	if in.Frame.Distinctive() {
		if kind = s.Replay.observeExact(in); kind != "" {
			odd.add(kind)
			return kind, nil
		}
	}
	bg := m.backgrounds[features.Keystroke]
	b, ok := in.Frame.Block(features.Keystroke)
	if bg == nil || !ok || b.Cells.Filled() == 0 {
		return "", nil
	}
	if !s.Replay.grow(newFingerprint(bg, b.Cells), b.Events) {
		return "", nil
	}
	tail, sizes := s.Replay.prints, s.Replay.Sizes
	last := len(tail) - 1
	near := tail[last].nearest(tail[:last])
	for i := range ts {
		near = math.Min(near, tail[last].nearest(ts[i].gallery))
	}
	first := max(0, len(tail)-recutPassages)
	done = make(Passages, 0, (len(tail)-first)*passageSize)
	for i := first; i <= last; i++ {
		done = appendPassage(done, bg, tail[i], sizes[i])
	}
	if near < replayDistance || done.recorded(bg, in.Known) {
		s.Replay.Near++
		odd.add(ReasonReplayNear)
		return ReasonReplayNear, nil
	}
	return "", done[len(done)-passageSize:]
}

// observeExact reports whether the same features were seen before.
func (r *replayState) observeExact(in Input) string {
	if in.SeenElsewhere {
		r.Elsewhere++
		return ReasonReplayElsewhere
	}
	digest := shortDigest(in.Frame)
	if in.SeenBefore || slices.Contains(r.Digests, digest) {
		r.Exact++
		return ReasonReplayExact
	}
	r.Digests = lastN(append(append([]uint64(nil), r.Digests...), digest), recentDigests)
	return ""
}

// grow adds a frame to the session's passages and reports whether one is complete. It does not modify the passages passed in.
func (r *replayState) grow(p fingerprint, keys int) bool {
	n := len(r.prints)
	prints, sizes := slices.Clone(r.prints), slices.Clone(r.Sizes)
	if n > 0 && sizes[n-1] < passageKeys {
		prints[n-1] = prints[n-1].merge(p, sizes[n-1], keys)
		sizes[n-1] += keys
	} else {
		prints, sizes = append(prints, p), append(sizes, keys)
	}
	r.prints, r.Sizes = lastN(prints, recentPrints), lastN(sizes, recentPrints)
	return r.Sizes[len(r.Sizes)-1] >= passageKeys
}

// recorded reports whether the newest passage of a session, or several of them together, are a copy of known passages.
func (p Passages) recorded(bg *Background, known Passages) bool {
	n := p.Len()
	if known.Len() == 0 {
		return false
	}
	last := p.newest(1, bg, known)
	defer queries.Put(last)
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
		defer queries.Put(two)
		if two.recut(known, near, own) > recordedLLR {
			return true
		}
	}
	if n < recutPassages {
		return false
	}
	several := p.newest(recutPassages, bg, known)
	defer queries.Put(several)
	return several.recut(known, near, own) > recutLLR
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

// ownAmong finds a session's own newest passages among the known ones, which must not be compared with themselves.
func (p Passages) ownAmong(known Passages) map[int]bool {
	own, size := map[int]bool{}, passageSize
	for i := max(0, known.Len()-ownAmongNewest); i < known.Len(); i++ {
		for k := range p.Len() {
			if bytes.Equal(known[i*size:(i+1)*size], p[k*size:(k+1)*size]) {
				own[i] = true
			}
		}
	}
	return own
}

// newest merges the newest passages and prepares them for comparison with the known ones.
func (p Passages) newest(n int, bg *Background, known Passages) *recordedQuery {
	q := newQuery(bg, p[(p.Len()-n)*passageSize:])
	q.measure(known)
	return q
}

// recut returns the greatest ratio of the query and a run of known passages of about as many keys near one of the given ones.
func (q *recordedQuery) recut(known Passages, near []int, own map[int]bool) float32 {
	best := float32(math.Inf(-1))
	next := known.Len() // starts from here on are done: near goes from the newest to the oldest
	for _, at := range near {
		first := min(at, next-1)
		next = min(next, max(at-recutReach, 0))
		for from := first; from >= next; from-- {
			keys := 0
			for to := from + 1; to <= known.Len() && !own[to-1]; to++ {
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

// shortDigest returns the first 64 bits of a frame's digest, which suffice to find a repetition within a session.
func shortDigest(f features.Frame) uint64 {
	sum := f.Sum()
	return binary.BigEndian.Uint64(sum[:])
}
