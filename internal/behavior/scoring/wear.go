package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// wear lowers a trusted status by the activity since evidence last matched: a person who sat down since and does not type is
// not the enrolled one on the word of what was typed before. Typing that matches undoes it.
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

// continuityAge is the age of the newest evidence that carries the claim: of what decided it, or of what could have. Keys
// decide before the pointer does; scrolling, rhythm and a pointer without a template never do.
func (a *assessment) continuityAge(e evidence) *int64 {
	switch {
	case e.byPointerAlone && e.pointed:
		return ageAt(a.now, a.state.Pointer.FreshMS)
	case e.keyed:
		return ageAt(a.now, a.state.Keystroke.FreshMS)
	}
	return ageAt(a.now, a.newestScored())
}

// newestScored is when evidence last arrived that there is a template for; 0 where none has.
func (a *assessment) newestScored() int64 {
	return max(a.scored(features.Keystroke, a.state.Keystroke), a.scored(features.Pointer, a.state.Pointer))
}

func (a *assessment) scored(mod features.Modality, w window) int64 {
	if !w.Scored || a.model.current(a.templates, mod, a.state.Device) == nil {
		return 0
	}
	return w.FreshMS
}
