package scoring

import (
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

// shortDigest returns the first 64 bits of a frame's digest, which suffice to find a repetition within a session.
func shortDigest(f features.Frame) uint64 {
	sum := f.Sum()
	return binary.BigEndian.Uint64(sum[:])
}
