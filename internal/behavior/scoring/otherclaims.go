package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// presenceCoverage returns the coverage of the evidence that the presence tests can use.
func (a *assessment) presenceCoverage() Coverage {
	switch n := a.presence.frames; {
	case n == 0:
		return CoverageNone
	case n == 1:
		return CoverageSparse
	case n == 2:
		return CoveragePartial
	}
	return CoverageSufficient
}

// human makes the claim that a person, not a program, produced the evidence. Without evidence it is uncertain.
func (a *assessment) human() Claim {
	cov, age := a.presenceCoverage(), ageAt(a.now, a.state.Activity.PresenceMS)
	switch {
	case !a.presence.tested || older(a.fresh, expiredMS):
		return a.claim(ClaimPresence, Uncertain, CoverageNone, age, []string{ReasonTooLittle})
	case len(a.presence.detected) > 0:
		return a.claim(ClaimPresence, NotConfirmed, cov, age, a.presence.detected)
	case older(age, expiredMS):
		return a.claim(ClaimPresence, Uncertain, CoverageNone, age, []string{ReasonTooLittle})
	case a.replayed:
		return a.claim(ClaimPresence, Uncertain, cov, age, []string{ReasonVetoReplay})
	case a.presence.suspected:
		return a.claim(ClaimPresence, Uncertain, cov, age, []string{ReasonAutomationHint})
	case a.presence.human && cov.atLeast(CoveragePartial) && !older(age, staleMS) && !a.opt.CapLikely:
		return a.claim(ClaimPresence, Confirmed, cov, age, []string{ReasonHuman})
	}
	return a.claim(ClaimPresence, Likely, cov, age, []string{ReasonHuman})
}

// automation makes the claim that a program produced the evidence. A detection remains until the whole session is old.
func (a *assessment) automation() Claim {
	age := ageAt(a.now, a.state.Activity.PresenceMS)
	switch {
	case !a.presence.tested || older(a.fresh, expiredMS):
		return a.claim(ClaimAutomation, NotDetected, CoverageNone, age, []string{ReasonTooLittle})
	case len(a.presence.detected) > 0:
		return a.claim(ClaimAutomation, Detected, a.presenceCoverage(), age, a.presence.detected)
	case older(age, expiredMS):
		return a.claim(ClaimAutomation, NotDetected, CoverageNone, age, []string{ReasonTooLittle})
	case a.presence.suspected:
		return a.claim(ClaimAutomation, NotDetected, a.presenceCoverage(), age, []string{ReasonAutomationHint})
	}
	return a.claim(ClaimAutomation, NotDetected, a.presenceCoverage(), age, nil)
}

// replay makes the claim that evidence was recorded earlier.
func (a *assessment) replay() Claim {
	r := a.state.Replay
	codes := set{}
	if r.Exact > 0 {
		codes.add(ReasonReplayExact)
	}
	if r.Near > 0 {
		codes.add(ReasonReplayNear)
	}
	if r.Elsewhere > 0 {
		codes.add(ReasonReplayElsewhere)
	}
	cov, age := a.state.Coverage(), ageAt(a.now, a.state.Activity.ComparedMS)
	if a.replayed {
		return a.claim(ClaimReplay, Detected, cov, age, codes.list())
	}
	if a.state.Frames == 0 {
		return a.claim(ClaimReplay, NotDetected, CoverageNone, age, []string{ReasonNoEvidence})
	}
	return a.claim(ClaimReplay, NotDetected, cov, age, []string{ReasonNoReplay})
}

// change is experimental: the session matched the person before and does not now.
func (a *assessment) change(continuity Claim) Claim {
	w := a.state.Keystroke
	switch {
	case !w.Scored || continuity.Status == Insufficient:
		return a.claim(ClaimChange, Insufficient, continuity.Coverage, continuity.FreshnessMS, []string{ReasonTooLittle}, ReasonExperimental)
	case w.WasOperator && w.revocations() > 0:
		return a.claim(ClaimChange, Detected, continuity.Coverage, continuity.FreshnessMS, []string{ReasonOperatorChange}, ReasonExperimental)
	}
	return a.claim(ClaimChange, NotDetected, continuity.Coverage, continuity.FreshnessMS, nil, ReasonExperimental)
}

// mandate reports that agent mandates are not supported.
func (a *assessment) mandate() Claim {
	return a.claim(ClaimMandate, Unsupported, CoverageNone, nil, []string{ReasonMandates})
}

// doubts returns the reasons why the background may not apply to this session. With any of them continuity is at most likely: the
// thresholds of the ratio were measured without them.
func (a *assessment) doubts() []string {
	s := a.state
	codes := set{}
	if s.Device == Mobile || s.Device == Tablet {
		codes.add(ReasonOtherPopulation)
	}
	if s.ClockMS >= coarseClockMS {
		codes.add(ReasonCoarseClock)
	}
	if s.Keystroke.keys() >= partialKeys && s.Keystroke.filled() < minFilledCells {
		codes.add(ReasonFewCells)
	}
	return codes.list()
}

// byFinger reports whether the device is used by touch, as far as is known: a phone or a tablet without a frame of keys or a mouse.
func (s State) byFinger() bool {
	return (s.Device == Mobile || s.Device == Tablet) && s.Amounts[features.Keystroke]+s.Amounts[features.Pointer] == 0
}

// generalLimits adds the limitations of the whole profile.
func (a *assessment) generalLimits() {
	s := a.state
	a.limits.add(s.Oddities...)
	if s.byFinger() {
		a.limits.add(ReasonTouchNotScored)
	}
	if s.Device == UnknownDevice {
		a.limits.add(ReasonDeviceUnknown)
	}
	if bg := a.model.backgrounds[features.Keystroke]; s.Amounts[features.Keystroke] > 0 && bg != nil && !bg.Card.Local {
		a.limits.add(ReasonNotLocal)
	}
	if s.Frames > 0 && s.Amounts[features.Keystroke]+s.Amounts[features.Pointer] == 0 {
		a.limits.add(ReasonNotScored)
	}
}
