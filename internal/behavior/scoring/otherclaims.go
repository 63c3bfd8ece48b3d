package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// presenceCoverage is how much the presence tests stand on.
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

// human is the claim that a person, not a program, produced the evidence. Without any evidence it is uncertain.
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

// automation is the claim that a program made the evidence. What was detected stays so until the whole session is old.
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

func (a *assessment) mandate() Claim {
	return a.claim(ClaimMandate, Unsupported, CoverageNone, nil, []string{ReasonMandates})
}

// doubts name what makes the background a poor guide to this session. With any of them no claim of continuity is more
// than likely: the ratio's scale was measured without them.
func (a *assessment) doubts() []string {
	s := a.state
	codes := set{}
	if s.Device == Mobile || s.Device == Tablet {
		codes.add(ReasonOtherPopulation)
	}
	if s.ClockMS >= coarseClockMS {
		codes.add(ReasonCoarseClock)
	}
	if s.TableKeys >= partialKeys && s.TableCov < tableCoverage {
		codes.add(ReasonOtherLanguage)
	}
	if s.Keystroke.keys() >= partialKeys && s.Keystroke.filled() < minFilledCells {
		codes.add(ReasonFewCells)
	}
	return codes.list()
}

// generalLimits names what weakens the whole profile.
func (a *assessment) generalLimits() {
	s := a.state
	a.limits.add(s.Oddities...)
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
