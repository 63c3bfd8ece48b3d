package scoring

import (
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Activity that cannot be compared with a template lowers trust. The limits were chosen on recordings: see "When the typing stops"
// in docs/accuracy.md. Times are in milliseconds, ratios are natural log-likelihood ratios.
const (
	// After so much unattributed activity, confirmed becomes likely.
	activityLikelyMS = 45_000
	// After so much, likely becomes uncertain.
	activityUncertainMS = 150_000
	// The most activity that one frame accounts for beyond its own duration.
	activityGapMS = 30_000
	carryKeys     = sparseKeys
	// Filled cells; fewer are one key pressed repeatedly.
	carryCells = 20
	// Typing above this ratio, in a window that is trusted with it, attributes the activity before it.
	matchLLR = -2
	// The same for pointer use.
	pointerMatchLLR = 6
)

// activity records when the evidence of a session arrived, by the tests that can use it. Times are Unix milliseconds of arrival,
// 0 if none has arrived.
type activity struct {
	// Activity so far that no template could attribute: a clock that runs only during such activity.
	SpanMS int64 `json:"span_ms"`
	// Arrival of the newest frame that the presence tests could use.
	PresenceMS int64 `json:"presence_ms,omitempty"`
	// Arrival of the newest frame that was compared with others.
	ComparedMS int64 `json:"compared_ms,omitempty"`
}

// observeActivity updates the activity with a frame. It must be called before the state's own times are updated.
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

// accountsFor returns how much activity in ms a frame stands for: its own duration, or the time since the previous frame by the
// service's or the client's clock, whichever is longest. A client gains nothing by claiming a shorter or longer time.
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

// carries reports whether a block of one frame is sufficient by itself to indicate who the operator is. A few keys between two
// movements of the wheel are not.
func carries(mod features.Modality, b features.Block) bool {
	return (mod != features.Keystroke || b.Events >= carryKeys) && b.Cells.Filled() >= carryCells
}

// unattributed returns the activity in ms since evidence of the window last matched.
func (s State) unattributed(w window) int64 { return s.Activity.SpanMS - w.MatchedMS }

// vouches reports whether evidence matches by itself and is more than one key pressed repeatedly.
func vouches(mod features.Modality, cells features.Vector, ratio float64) bool {
	if mod == features.Keystroke {
		return ratio > matchLLR && cells.Filled() >= carryCells
	}
	return ratio > pointerMatchLLR
}

// vouched returns the window after a frame of keys that is shorter than a chunk or was added to an incomplete one. Such a frame can
// match by itself: people type a line, read, and type another.
func (w window) vouched(bg *Background, t *Template, b features.Block, at moment) window {
	if bg == nil || t == nil || t.Modality != features.Keystroke || !carries(t.Modality, b) || w.MatchedMS >= at.spanMS {
		return w
	}
	if vouches(t.Modality, b.Cells, bg.shortRatio(t.posterior, b.Cells)) {
		w.MatchedMS = at.spanMS
	}
	return w
}

// began records when the chunk's evidence began: at its first frame, and again at a frame with three times as much evidence. Old
// leftovers must not be attributed by new evidence, or the other way round.
func (c *chunk) began(mod features.Modality, b features.Block, at moment) {
	had, brought := float64(c.Keys), float64(b.Events)
	if mod != features.Keystroke {
		had, brought = c.ActiveMS, b.ActiveMS
	}
	if brought >= 3*had {
		c.BeganMS, c.BeganSpanMS = at.ms, at.spanMS
	}
}

// moment is a point in a session: the time in Unix milliseconds, and the unattributed activity until then in ms.
type moment struct{ ms, spanMS int64 }

// aged returns the window as of a time. Evidence older than windowMS is removed, and a ratio in favor of the person is reduced by
// the share of its evidence that remains. It needs no template.
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

// amount returns how much evidence the window contains, in the unit by which its chunks are cut (keys, or ms of pointer use).
func (w window) amount(mod features.Modality) float64 {
	if mod == features.Keystroke {
		return float64(w.keys())
	}
	return w.activeMS()
}

func (s State) aged(nowMS int64) State {
	s.Keystroke, s.Pointer = s.Keystroke.aged(features.Keystroke, nowMS), s.Pointer.aged(features.Pointer, nowMS)
	return s
}

// ageAt returns the age in ms of evidence that arrived at ms; nil if none did.
func ageAt(now time.Time, ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	age := max(now.UnixMilli()-ms, 0)
	return &age
}
