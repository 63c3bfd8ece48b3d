package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// wear lowers a trusted status by the activity since evidence last matched: someone else may have sat down who does not type.
// Typing that matches restores it.
func (a *assessment) wear(e *evidence, status Status) Status {
	if status != Confirmed && status != Likely || a.opt.TypingOnly {
		return status
	}
	pointed := a.state.unattributed(a.state.Pointer) < activityUncertainMS
	since := a.state.unattributed(a.state.Keystroke)
	switch {
	case e.byPointerAlone && pointed, !e.byPointerAlone && since < activityLikelyMS:
		return status
	case !e.byPointerAlone && pointed && e.pointerCarries():
		e.byPointerAlone = true // it is still the person by the pointer, which never confirms
		e.limits.add(ReasonPointerOnly)
		return Likely
	}
	e.reasons.add(ReasonUnattributed)
	if e.byPointerAlone || since >= activityUncertainMS {
		return Uncertain
	}
	return Likely
}

// continuityAge returns the age of the newest evidence that carries the claim: of what decided it, or could have. Keys take precedence
// over the pointer; scrolling, rhythm and a pointer without a template never count.
func (a *assessment) continuityAge(e evidence) *int64 {
	switch {
	case e.byPointerAlone && e.pointed:
		return ageAt(a.now, a.state.Pointer.FreshMS)
	case e.keyed:
		return ageAt(a.now, a.state.Keystroke.FreshMS)
	}
	return ageAt(a.now, a.newestScored())
}

// newestScored returns when evidence with a template last arrived; 0 for none.
func (a *assessment) newestScored() int64 {
	return max(a.scored(features.Keystroke, a.state.Keystroke), a.scored(features.Pointer, a.state.Pointer))
}

// scored returns when evidence of a window last arrived in Unix milliseconds, if a template for it exists; otherwise 0.
func (a *assessment) scored(mod features.Modality, w window) int64 {
	if !w.Scored || a.model.current(a.templates, mod, a.state.Device) == nil {
		return 0
	}
	return w.FreshMS
}
