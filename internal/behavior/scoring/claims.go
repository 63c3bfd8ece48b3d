package scoring

import (
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// AssessOptions are facts about the subject other than evidence.
type AssessOptions struct {
	// After a recovery without an anchor: no claim above likely.
	CapLikely bool
	// TypingOnly judges what was typed, whatever was done without typing since: for learning from it, not for trusting who is
	// there now.
	TypingOnly bool
}

// Assess computes the profile of a session's state as of now. It uses the fields of the templates but not their data: frames were
// scored when they were added. It does not change the state, and equal arguments yield an equal profile.
func (m *Model) Assess(s State, ts Templates, now time.Time, opt AssessOptions) Profile {
	s = s.aged(now.UnixMilli())
	a := assessment{model: m, state: s, templates: ts, opt: opt, now: now, limits: set{}}
	a.presence = judgePresence(s)
	a.replayed = s.Replay.Exact+s.Replay.Elsewhere > 0 || s.Replay.Near > 0
	a.fresh = ageAt(now, s.LastMS)
	p := Profile{
		EvidenceWindows: s.Frames, ActiveSeconds: s.activeSeconds(), ModalitiesPresent: s.modalities(), FreshnessMS: a.fresh,
		ModelVersion: m.Version(), RuleVersion: RuleVersion, FeatureSchemaVersion: features.SchemaVersion, Coverage: s.Coverage(),
	}
	continuity := a.continuity()
	p.Claims = []Claim{continuity, a.human(), a.automation(), a.replay(), a.change(continuity), a.mandate()}
	p.InsufficientEvidence = continuity.Status == Insufficient
	a.generalLimits()
	p.Limitations = a.limits.list()
	return p
}

// assessment is the state of one call of Assess.
type assessment struct {
	model *Model
	// The state as of the assessment.
	state     State
	templates Templates
	opt       AssessOptions
	now       time.Time
	presence  presenceVerdict
	replayed  bool
	// Age in ms of the newest frame of any content.
	fresh  *int64
	limits set
}

// claim builds a claim whose evidence has the age fresh in ms; nil if there is none.
func (a *assessment) claim(name string, status Status, cov Coverage, fresh *int64, reasons []string, limits ...string) Claim {
	return Claim{Claim: name, Status: status, Coverage: cov, EvidenceRefs: []string{}, Limitations: append([]string{}, limits...),
		ReasonCodes: append([]string{}, reasons...), FreshnessMS: fresh}
}

// older reports whether an age exceeds a limit in ms; evidence that never arrived is older than any limit.
func older(age *int64, limit int64) bool { return age == nil || *age > limit }

// evidence holds the inputs of the continuity rule.
type evidence struct {
	keys      int
	pointerMS float64
	// Whether there is a usable template and a score.
	keyed, pointed bool
	long, short    float64
	hasShort       bool
	revocations    int
	// Whether the typing of the session once matched: then one unusual passage does not refuse the person.
	matched bool
	pointer float64
	// Of the backgrounds, for the thresholds of long and pointer.
	margin, pointerMargin float64
	// Whether the decision is by the pointer alone.
	byPointerAlone bool
	// Whether the claim is at most likely.
	cap             bool
	limits, reasons set
	coverage        Coverage
}

// gather collects the evidence of the windows, with the template's weaknesses.
func (a *assessment) gather() evidence {
	s := a.state
	e := evidence{keys: s.Keystroke.keys(), pointerMS: s.Pointer.activeMS(), limits: set{}, reasons: set{}, coverage: CoverageNone}
	if t := a.model.current(a.templates, features.Keystroke, s.Device); t != nil && s.Keystroke.Scored && e.keys > 0 {
		bg := a.model.backgrounds[features.Keystroke]
		e.margin = bg.margin()
		if bg.fewPeople() {
			e.cap = true
			e.limits.add(ReasonFewPeople)
		}
		e.keyed, e.long, e.revocations = true, s.Keystroke.Long, s.Keystroke.revocations()
		e.short, e.hasShort = s.Keystroke.short()
		e.matched = s.Keystroke.WasOperator
		e.coverage = s.keyCoverage()
		e.weigh(t)
	}
	if t := a.model.current(a.templates, features.Pointer, s.Device); t != nil && s.Pointer.Scored && e.pointerMS > 0 {
		e.pointed, e.pointer, e.pointerMargin = true, s.Pointer.Long, a.model.backgrounds[features.Pointer].margin()
		e.coverage = better(e.coverage, pointerCoverage(e.pointerMS))
		if !e.keyed {
			e.weigh(t)
		}
	}
	return e
}

// weigh adds the limitations and caps that follow from the template.
func (e *evidence) weigh(t *Template) {
	e.cap = e.cap || t.Provisional
	e.limits.add(t.Limitations...)
}

// continuity makes the claim that the enrolled person operates the session.
func (a *assessment) continuity() Claim {
	e := a.gather()
	status := a.continuityStatus(&e)
	doubts := a.doubts()
	e.limits.add(doubts...)
	if a.presence.suspected {
		e.limits.add(ReasonAutomationHint) // a program that knows the person's times is the one thing that looks like this
	}
	e.cap = e.cap || len(doubts) > 0 || a.presence.suspected
	if status == Confirmed && (e.cap || a.opt.CapLikely) {
		status = Likely
	}
	status = a.wear(&e, status)
	if a.opt.CapLikely {
		e.limits.add(ReasonRecoveryCap)
	}
	if status == Confirmed || status == Likely {
		status = a.veto(&e, status)
	}
	a.limits.add(e.limits.list()...)
	c := a.claim(ClaimContinuity, status, e.coverage, a.continuityAge(e), e.reasons.list(), e.limits.list()...)
	c.EvidenceRefs = union(a.state.Keystroke.refs(), a.state.Pointer.refs())
	return c
}

// veto lowers confirmed and likely to uncertain if automation or replay was detected, or an imitation is suspected.
func (a *assessment) veto(e *evidence, status Status) Status {
	if len(a.presence.detected) > 0 {
		e.reasons.add(ReasonVetoAutomation)
		status = Uncertain
	}
	if a.presence.imitation {
		e.reasons.add(ReasonImitation)
		status = Uncertain
	}
	if a.replayed {
		e.reasons.add(ReasonVetoReplay)
		status = Uncertain
	}
	return status
}

// continuityStatus applies the rules in order: no keys on a phone, no template, too little evidence, keys, then the pointer.
func (a *assessment) continuityStatus(e *evidence) Status {
	switch {
	case a.state.byFinger():
		e.reasons.add(ReasonTouchNotScored)
		return Insufficient
	case a.state.Frames == 0:
		e.reasons.add(ReasonNoEvidence)
		a.explainMissingTemplate(e)
		return Insufficient
	case !e.keyed && !e.pointed:
		if a.newestScored() > 0 {
			e.reasons.add(ReasonStale)
		} else {
			a.explainMissingTemplate(e)
		}
		return Insufficient
	case !e.coverage.atLeast(CoveragePartial):
		e.reasons.add(ReasonTooLittle)
		return Insufficient
	}
	if e.keyed && a.state.Keystroke.seenKeys() >= likelyKeys {
		return e.byKeys()
	}
	return e.byPointer()
}

// explainMissingTemplate adds the reason why nothing can be scored.
func (a *assessment) explainMissingTemplate(e *evidence) {
	switch {
	case len(a.templates) == 0:
		e.reasons.add(ReasonNotEnrolled)
	case a.templates.Find(features.Keystroke, a.state.Device) == nil && a.templates.Find(features.Pointer, a.state.Device) == nil:
		e.reasons.add(ReasonNoTemplateDevice)
	case a.otherModel():
		e.reasons.add(ReasonTemplateModel)
	default:
		e.reasons.add(ReasonTooLittle)
	}
}

// otherModel reports whether a template exists that was trained with a different background.
func (a *assessment) otherModel() bool {
	for _, t := range a.templates {
		if bg := a.model.backgrounds[t.Modality]; t.Device == a.state.Device && (bg == nil || bg.Version != t.ModelVersion) {
			return true
		}
	}
	return false
}

// byKeys applies the keystroke rule to the ratio of the long window, that of the last chunk, and the pointer's bounded share.
func (e *evidence) byKeys() Status {
	total := e.long + e.pointerShare()
	recent := !e.hasShort || e.short > revokeLLR
	switch {
	case e.revocations >= 2, e.revocations == 1 && !e.matched && !recent:
		e.reasons.add(ReasonShortMismatch)
		return NotConfirmed
	case e.keys >= confirmKeys && total < rejectLLR+e.margin:
		e.reasons.add(ReasonMismatch)
		return NotConfirmed
	case total > confirmLLR+e.margin && e.long > likelyLLR+e.margin && e.keys >= confirmKeys && recent:
		e.reasons.add(ReasonMatch)
		return Confirmed
	case total > likelyLLR+e.margin && e.long > 0 && e.keys >= likelyKeys && recent:
		e.reasons.add(ReasonWeakMatch)
		return Likely
	}
	if !recent {
		e.reasons.add(ReasonShortMismatch)
	}
	e.reasons.add(ReasonUndecided)
	return Uncertain
}

// pointerShare returns what the pointer adds to the keystroke ratio: fusionWeight times its ratio, because its background was
// trained on few people, between -fusionLoss and fusionGain, because the pointer never decides alone.
func (e *evidence) pointerShare() float64 {
	if !e.pointed || e.pointerMS < partialPointer {
		return 0
	}
	return math.Min(math.Max(fusionWeight*e.pointer, -fusionLoss), fusionGain)
}

// pointerCarries reports whether the pointer alone makes the claim likely.
func (e *evidence) pointerCarries() bool {
	threshold := float64(pointerLikelyShortLLR)
	if e.pointerMS >= sufficientActive {
		threshold = pointerLikelyLongLLR
	}
	return e.pointed && e.pointerMS >= pointerLikelyMS && e.pointer > threshold+e.pointerMargin
}

// byPointer applies the pointer rule, which never confirms.
func (e *evidence) byPointer() Status {
	e.byPointerAlone = true
	e.limits.add(ReasonPointerOnly)
	switch {
	case !e.pointed:
		e.reasons.add(ReasonTooLittle)
		return Insufficient
	case e.pointerCarries():
		e.reasons.add(ReasonWeakMatch)
		return Likely
	case e.pointerMS >= pointerLikelyMS && e.pointer < pointerRejectLLR:
		e.reasons.add(ReasonMismatch)
		return NotConfirmed
	}
	e.reasons.add(ReasonUndecided)
	return Uncertain
}
