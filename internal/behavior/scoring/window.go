package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// chunk is the shortest evidence scored alone: frames merged until they have chunkKeys keys or chunkActiveMS of pointer use.
type chunk struct {
	cells    features.Vector
	Keys     int      `json:"keys"`
	ActiveMS float64  `json:"active_ms"`
	EndMS    int64    `json:"end_ms"`
	Refs     []string `json:"refs,omitempty"`

	// When its evidence began to arrive.
	BeganMS int64 `json:"began_ms"`
	// How much unattributed activity there had been then.
	BeganSpanMS int64 `json:"began_span_ms"`
}

// window is the recent evidence of one modality with its ratios.
type window struct {
	chunks []chunk
	// Chunks set aside by restarts.
	Aside []aside `json:"aside,omitempty"`
	// Ratios of the last complete chunks, newest last, less their margin.
	Shorts []float64 `json:"shorts,omitempty"`
	Long   float64   `json:"long"`
	Scored bool      `json:"scored"`
	// The oldest chunk is one that did not match.
	Restarted bool `json:"restarted,omitempty"`
	// The window once matched the enrolled person.
	WasOperator bool `json:"was_operator"`
	// When evidence that can carry a claim last arrived.
	FreshMS int64 `json:"fresh_ms,omitempty"`
	// How much unattributed activity there had been before the newest chunk that matched.
	MatchedMS int64 `json:"matched_ms"`
}

// aside is a chunk that a restart removed from the window; it still counts as evidence seen.
type aside struct {
	Keys  int   `json:"keys"`
	EndMS int64 `json:"end_ms"`
}

// maxRefs is the number of frames listed per chunk in evidence_refs.
const maxRefs = 4

// complete reports whether a chunk has enough evidence to be scored alone.
func complete(mod features.Modality, c chunk) bool {
	if mod == features.Keystroke {
		return c.Keys >= chunkKeys
	}
	return c.ActiveMS >= chunkActiveMS
}

func (w window) keys() int {
	total := 0
	for _, c := range w.chunks {
		total += c.Keys
	}
	return total
}

// seenKeys returns the keys of the recent evidence, including chunks set aside by a restart.
func (w window) seenKeys() int {
	total := w.keys()
	for _, a := range w.Aside {
		total += a.Keys
	}
	return min(total, windowKeys)
}

// setAside removes the first n chunks from the window.
func (w window) setAside(n int) window {
	out := append(make([]aside, 0, maxChunks+n), w.Aside...)
	for _, c := range w.chunks[:n] {
		out = append(out, aside{c.Keys, c.EndMS})
	}
	w.Aside = lastN(out, maxChunks)
	w.chunks = w.chunks[n:]
	return w
}

// activeMS returns the active time in the window, in ms.
func (w window) activeMS() float64 {
	total := 0.0
	for _, c := range w.chunks {
		total += c.ActiveMS
	}
	return total
}

// merged returns the window's chunks as one vector.
func (w window) merged(dim int) features.Vector {
	out := features.NewVector(dim)
	w.mergeInto(out)
	return out
}

// mergeInto adds the window's chunks to a vector.
func (w window) mergeInto(out features.Vector) {
	for _, c := range w.chunks {
		merge(out, c.cells)
	}
}

// ratio returns the log-likelihood ratio of the window's chunks as one.
func (w window) ratio(bg *Background, p posterior) float64 {
	all := temporary(bg.Dim())
	defer temporaries.Put(all)
	w.mergeInto(*all)
	return llr(bg, p, *all)
}

// filled returns the number of distinct cells in the window.
func (w window) filled() int {
	if len(w.chunks) == 0 {
		return 0
	}
	kinds := 0
	for i := range w.chunks[0].cells.N {
		for _, c := range w.chunks {
			if c.cells.N[i] > 0 {
				kinds++
				break
			}
		}
	}
	return kinds
}

// refs returns the ids of frames in the window, at most maxRefs per chunk.
func (w window) refs() []string {
	n := 0
	for _, c := range w.chunks {
		n += len(c.Refs)
	}
	out := make([]string, 0, n)
	for _, c := range w.chunks {
		out = append(out, c.Refs...)
	}
	return out
}

// short returns the ratio of the last complete chunk.
func (w window) short() (float64, bool) {
	if len(w.Shorts) == 0 {
		return 0, false
	}
	return w.Shorts[len(w.Shorts)-1], true
}

// revocations counts how many of the last complete chunks are below revokeLLR.
func (w window) revocations() int {
	n := 0
	for _, s := range w.Shorts {
		if s < revokeLLR {
			n++
		}
	}
	return n
}

// push merges a block into the window and reports whether it completed a chunk. The receiver is not modified: chunks are copied before
// they are written.
func (w window) push(mod features.Modality, b features.Block, at moment, ref string) (window, bool) {
	chunks := append(make([]chunk, 0, maxChunks+1), w.chunks...)
	last := len(chunks) - 1
	if last < 0 || complete(mod, chunks[last]) {
		chunks, last = append(chunks, chunk{}), last+1
	}
	c := chunks[last]
	c.began(mod, b, at)
	c.cells = mergeAll(len(b.Cells.N), c.cells, b.Cells)
	c.ActiveMS += b.ActiveMS
	c.EndMS = at.ms
	if mod == features.Keystroke {
		c.Keys += b.Events
	}
	if ref != "" {
		c.Refs = append(append(make([]string, 0, maxRefs+1), c.Refs...), ref)
		c.Refs = c.Refs[max(0, len(c.Refs)-maxRefs):]
	}
	chunks[last] = c
	w.chunks = trim(mod, chunks)
	w.Restarted = w.Restarted && len(w.chunks) == len(chunks) // its chunk is the oldest, the first to be trimmed
	if complete(mod, c) {
		w.FreshMS = max(w.FreshMS, c.BeganMS)
		return w, true
	}
	return w, false
}

// trim limits a window's size. Chunks that are too old are removed earlier, by aged.
func trim(mod features.Modality, chunks []chunk) []chunk {
	w := window{chunks: chunks}
	for len(w.chunks) > 1 {
		oldest := w.chunks[0]
		tooMany := len(w.chunks) > maxChunks || mod == features.Keystroke && w.keys() > windowKeys
		tooLong := mod != features.Keystroke && w.activeMS()-oldest.ActiveMS >= windowActiveMS
		if !tooMany && !tooLong {
			break
		}
		w.chunks = w.chunks[1:]
	}
	return w.chunks
}

// score scores the window against a template after a push. A keystroke chunk that does not match by itself restarts the window:
// earlier evidence says nothing about who types now.
func (w window) score(bg *Background, t *Template, completed bool) window {
	if bg == nil || t == nil {
		w.Scored = false
		return w
	}
	if completed {
		newest := w.chunks[len(w.chunks)-1]
		s := bg.shortRatio(t.posterior, newest.cells)
		if vouches(t.Modality, newest.cells, s) {
			w.MatchedMS = max(w.MatchedMS, newest.BeganSpanMS)
		}
		w.Shorts = append(append(make([]float64, 0, recentVerdicts+1), w.Shorts...), s)
		w.Shorts = w.Shorts[max(0, len(w.Shorts)-recentVerdicts):]
		if s < revokeLLR && t.Modality == features.Keystroke {
			w = w.setAside(len(w.chunks) - 1)
			w.Restarted = true
		}
	}
	w = w.forgive(bg, t)
	w.Long = w.ratio(bg, t.posterior)
	w.Scored = true
	if w.Long > likelyLLR+bg.margin() && w.keys() >= likelyKeys {
		w.WasOperator = true
	}
	return w
}

// forgive removes the chunk at which a window was restarted, as soon as the evidence after it would confirm a session by itself. One
// unusual passage must not count against the person all day.
func (w window) forgive(bg *Background, t *Template) window {
	if !w.Restarted || len(w.chunks) < 2 {
		return w
	}
	after := window{chunks: w.chunks[1:]}
	if after.keys() >= confirmKeys && after.ratio(bg, t.posterior) > confirmLLR+bg.margin() {
		w = w.setAside(1)
		w.Restarted = false
	}
	return w
}
