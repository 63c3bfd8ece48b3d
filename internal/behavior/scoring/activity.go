package scoring

import (
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Activity that cannot be held against a template wears trust down. The limits were chosen on recordings: see "When the typing
// stops" in docs/accuracy.md.
const (
	activityLikelyMS    = 45_000  // of unattributed activity: confirmed becomes likely
	activityUncertainMS = 150_000 // and likely becomes uncertain
	activityGapMS       = 30_000  // most that one frame accounts for beyond its own duration
	carryKeys           = sparseKeys
	carryCells          = 20 // filled cells; fewer is one key pressed again and again
	matchLLR            = -2 // keys above it, in a window that is trusted with them, vouch for the activity before them
	pointerMatchLLR     = 6  // the same of pointer use
)

// activity is when what of a session arrived, by what it can carry. Times are Unix milliseconds of arrival, 0 where nothing
// of the kind has come.
type activity struct {
	SpanMS     int64 `json:"span_ms"`               // activity so far that no template could judge: a clock that runs only then
	PresenceMS int64 `json:"presence_ms,omitempty"` // the newest frame the presence tests read
	ComparedMS int64 `json:"compared_ms,omitempty"` // the newest frame compared with others
}

// observeActivity takes a frame into account. It is called before the state learns of the frame's times.
func (m *Model) observeActivity(s State, in Input, ts Templates, now int64) activity {
	a := s.Activity
	if in.Frame.Distinctive() {
		a.ComparedMS = now
	}
	span := s.accountsFor(in, now)
	if b, ok := in.Frame.Block(features.Keystroke); ok && carries(features.Keystroke, b) && m.usable(ts, features.Keystroke, s.Device) != nil {
		span = max(span-activityGapMS, 0) // the keystroke window judges it, but a line in ten minutes is not ten minutes of typing
	}
	a.SpanMS += span
	return a
}

// accountsFor is how much activity a frame stands for: its own duration, or the time since the frame before by the service's
// clock or by the client's, whichever is longest. A client gains nothing by claiming less than passed, nor by claiming more.
func (s State) accountsFor(in Input, now int64) int64 {
	gap := int64(0)
	if s.LastMS > 0 {
		gap = now - s.LastMS
	}
	end := in.WindowEnd
	if end.IsZero() {
		end = in.Timestamp
	}
	if s.LastEndMS > 0 {
		gap = max(gap, int64(math.Min(float64(end.UnixMilli())-s.LastEndMS, activityGapMS)))
	}
	return max(in.Duration.Milliseconds(), min(gap, activityGapMS), 0)
}

// carries reports whether a block of one frame is enough to say something of who it is by itself. A handful of keys between
// two strokes of the wheel is not.
func carries(mod features.Modality, b features.Block) bool {
	return (mod != features.Keystroke || b.Events >= carryKeys) && b.Cells.Filled() >= carryCells
}

// unattributed is how much activity there was since evidence of the window last matched.
func (s State) unattributed(w window) int64 { return s.Activity.SpanMS - w.MatchedMS }

// vouches reports whether evidence matches on its own, and is more than one key pressed again and again.
func vouches(mod features.Modality, cells features.Vector, ratio float64) bool {
	if mod == features.Keystroke {
		return ratio > matchLLR && cells.Filled() >= carryCells
	}
	return ratio > pointerMatchLLR
}

// vouched is the window after a frame of keys that is less than a chunk or was added to what was left of one. Such a frame
// vouches by itself: people type a line, read, and type another.
func (w window) vouched(bg *Background, t *Template, b features.Block, at moment) window {
	if bg == nil || t == nil || t.Modality != features.Keystroke || !carries(t.Modality, b) || w.MatchedMS >= at.spanMS {
		return w
	}
	if vouches(t.Modality, b.Cells, llr(bg, t.posterior, b.Cells)) {
		w.MatchedMS = at.spanMS
	}
	return w
}

// began notes when the chunk's evidence began, at its first frame, and anew at one that brings three times what was there:
// what is left over of before must not be vouched for by what comes now, nor the other way round.
func (c *chunk) began(mod features.Modality, b features.Block, at moment) {
	had, brought := float64(c.Keys), float64(b.Events)
	if mod != features.Keystroke {
		had, brought = c.ActiveMS, b.ActiveMS
	}
	if brought >= 3*had {
		c.BeganMS, c.BeganSpanMS = at.ms, at.spanMS
	}
}

// moment is a point in a session: when it was, and how much unattributed activity there had been.
type moment struct{ ms, spanMS int64 }

// aged is the window as it stands at a time: what is older than windowMS is gone, and a ratio in favour of the person counts
// only as far as the evidence it was made of is still there. It takes no template.
func (w window) aged(mod features.Modality, nowMS int64) window {
	gone := 0
	for gone < len(w.chunks) && nowMS-w.chunks[gone].EndMS > windowMS {
		gone++
	}
	for len(w.Aside) > 0 && nowMS-w.Aside[0].EndMS > windowMS {
		w.Aside = w.Aside[1:]
	}
	if gone == 0 {
		return w
	}
	before := w.amount(mod)
	w.chunks = w.chunks[gone:]
	w.Restarted = false // its chunk was the oldest
	if w.Long > 0 && before > 0 {
		w.Long *= w.amount(mod) / before
	}
	return w
}

// amount is how much evidence the window stands on, in the unit its chunks are cut by.
func (w window) amount(mod features.Modality) float64 {
	if mod == features.Keystroke {
		return float64(w.keys())
	}
	return w.activeMS()
}

// aged is the state as it stands at a time.
func (s State) aged(nowMS int64) State {
	s.Keystroke, s.Pointer = s.Keystroke.aged(features.Keystroke, nowMS), s.Pointer.aged(features.Pointer, nowMS)
	return s
}

// ageAt is how old something is that arrived at ms, nil where nothing did.
func ageAt(now time.Time, ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	age := max(now.UnixMilli()-ms, 0)
	return &age
}
