package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// checkStanding checks the two requirements that no policy can waive.
func (e *evaluation) checkStanding() {
	e.add(requirement{
		name: reqSubject, wanted: "active", found: pick(e.in.SubjectRevoked, "revoked", "active"),
		met: !e.in.SubjectRevoked, effect: Deny, code: reason.SubjectRevoked,
	})
	e.add(requirement{
		name: reqAction, wanted: "active", found: pick(e.in.ActionArchived, "archived", "active"),
		met: !e.in.ActionArchived, effect: Deny, code: reason.ActionArchived,
	})
}

// checkEvidence checks sufficiency, coverage and freshness, if the requirements rely on evidence at all.
func (e *evaluation) checkEvidence() {
	r, a := e.in.Requirements, e.in.Assurance
	if !r.ReliesOnEvidence() {
		return
	}
	e.add(requirement{
		name: reqEvidence, wanted: "sufficient", found: pick(a.InsufficientEvidence, "insufficient", "sufficient"),
		met: !a.InsufficientEvidence, effect: r.whenInsufficient(),
		code: reason.InsufficientEvidence, compensation: CompensatesCoverage,
	})
	e.add(requirement{
		name: reqCoverage, wanted: "at least " + string(r.CoverageMin), found: string(a.Coverage),
		met:    a.Coverage.Rank() >= r.CoverageMin.Rank() && r.CoverageMin.Rank() >= 0,
		effect: r.whenInsufficient(),
		code:   reason.CoverageBelowMinimum, compensation: CompensatesCoverage,
	})
	e.add(e.freshness())
}

// checkClaims checks the claim minimums in the order of their names, so that explanations are reproducible.
func (e *evaluation) checkClaims() {
	r := e.in.Requirements
	for _, name := range r.claimNames() {
		e.add(e.claim(name, r.Claims[name]))
	}
}

// claimNames returns the names of the claims with a minimum, sorted.
func (r Requirements) claimNames() []string {
	if len(r.Claims) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(r.Claims))
}

func (e *evaluation) claim(name string, minimum Status) requirement {
	rule := claimRules[name]
	found := e.status(name, minimum, rule)
	out := requirement{
		name: reqClaim + name, wanted: "at least " + string(minimum), found: string(found),
		met: rule.meets(found, minimum), effect: Hold, code: rule.code,
	}
	e.behaviour = e.behaviour || out.met && rule.compensable && trusted(found) && e.in.Requirements.fresh(e.age(name))
	switch {
	case len(rule.order) == 0: // unknown or unsupported: no evidence can meet it
		out.code = reason.ClaimNotMet
	case found == StatusInsufficient:
		out.effect = e.in.Requirements.whenInsufficient()
		out.code, out.further = reason.InsufficientEvidence, []string{rule.code}
	case rule.compensable:
		out.effect = Challenge
	}
	if rule.compensable {
		out.compensation = name
	}
	return out
}

// status returns the claim's status in the profile; a claim that is missing counts as insufficient evidence. Of a duplicate
// claim, which no assessor makes, the one that fails the minimum counts.
func (e *evaluation) status(name string, minimum Status, rule claimRule) Status {
	found := StatusInsufficient
	for _, c := range e.in.Assurance.Claims {
		if c.Name != name {
			continue
		}
		found = c.Status
		if !rule.meets(found, minimum) {
			break
		}
	}
	return found
}

// checkSignal requires a challenge of a subject about whom a security event was received, whatever the policy says. An approved hold is as good, unless
// the policy wants the subject's own approval.
func (e *evaluation) checkSignal() {
	if !e.in.SubjectSuspected {
		return
	}
	confirmed := e.completed()
	e.challenge = e.challenge || confirmed
	e.add(requirement{
		name: reqSignal, wanted: "confirmed by the subject after a security event",
		found: pick(confirmed, "confirmed by "+string(e.in.ChallengeCompleted), "not confirmed"),
		met:   confirmed, effect: Challenge, code: reason.SecurityEvent, compensation: CompensatesApproval,
	})
}

// checkApproval requires the subject's approval of this action, which only a completed challenge gives.
func (e *evaluation) checkApproval() {
	if !e.in.Requirements.ExplicitApprovalRequired {
		return
	}
	approved := e.completed()
	e.challenge = e.challenge || approved
	wanted := "approved by the subject"
	if !e.in.Requirements.approvalCompensates(CompensatesApproval) {
		wanted += ", whatever a reviewer approves"
	}
	e.add(requirement{
		name: reqApproval, wanted: wanted,
		found: pick(approved, "approved by "+string(e.in.ChallengeCompleted), "not approved"),
		met:   approved, effect: Challenge, code: reason.ExplicitApprovalRequired, compensation: CompensatesApproval,
	})
}

// checkChallenge turns an impossible challenge into a hold, and into a denial after an approved hold. It runs whenever a challenge is due, even if another requirement has
// a stricter effect, so that the codes that deny_on matches never depend on other requirements.
func (e *evaluation) checkChallenge() {
	due := slices.ContainsFunc(e.results, func(r RequirementResult) bool { return r.Effect == Challenge })
	if !due {
		return
	}
	for _, m := range e.permitted {
		if slices.Contains(e.in.UsableMethods, m) {
			e.usable = append(e.usable, m)
		}
	}
	impossible := Hold
	if e.in.HoldApproved {
		impossible = Deny
	}
	e.add(requirement{
		name: reqMethod, wanted: "one of " + joinMethods(e.permitted), found: joinMethods(e.usable),
		met: len(e.usable) > 0, effect: impossible, code: reason.NoChallengeMethod,
	})
	e.add(requirement{
		name:   reqChallenges,
		wanted: "fewer than " + strconv.Itoa(e.in.Requirements.MaxChallenges), found: strconv.Itoa(e.in.ChallengesUsed),
		met: e.in.ChallengesUsed < e.in.Requirements.MaxChallenges, effect: impossible, code: reason.MaxChallengesReached,
	})
}

// insertLists checks deny_on and hold_on and puts their results at position at. hold_on comes first, so that a policy
// can deny on hold_on_matched.
func (e *evaluation) insertLists(at int) {
	var present []string
	if len(e.in.Requirements.HoldOn)+len(e.in.Requirements.DenyOn) > 0 {
		present = e.presentCodes()
	}
	hold := matched(e.in.Requirements.HoldOn, present)
	e.insert(at, listRequirement(reqHoldOn, Hold, reason.HoldOnMatched, e.in.Requirements.HoldOn, hold))
	deny := matched(e.in.Requirements.DenyOn, append(present, e.codes[at]...))
	e.insert(at, listRequirement(reqDenyOn, Deny, reason.DenyOnMatched, e.in.Requirements.DenyOn, deny))
}

// insert adds a check at a position.
func (e *evaluation) insert(at int, r requirement) {
	e.add(r)
	last := len(e.results) - 1
	result, codes := e.results[last], e.codes[last]
	e.results = slices.Insert(e.results[:last], at, result)
	e.codes = slices.Insert(e.codes[:last], at, codes)
}

// presentCodes returns the codes that deny_on and hold_on match.
func (e *evaluation) presentCodes() []string {
	present := slices.Clone(e.in.Assurance.ReasonCodes)
	for _, c := range e.in.Assurance.Claims {
		present = append(present, c.ReasonCodes...)
	}
	for _, codes := range e.codes {
		present = append(present, codes...)
	}
	if e.challenge {
		present = append(present, reason.ChallengeSatisfied)
	}
	return append(present, e.ruleCodes...)
}

// listRequirement is the check of deny_on or hold_on.
func listRequirement(name string, effect Effect, code string, listed, matches []string) requirement {
	wanted := "no code listed"
	if len(listed) > 0 {
		wanted = "none of " + strings.Join(listed, ", ")
	}
	return requirement{
		name: name, wanted: wanted, found: orNone(matches),
		met: len(matches) == 0, effect: effect, code: code, further: matches,
	}
}

// matched returns the listed codes that are present, in the order of the list.
func matched(listed, present []string) []string {
	var out []string
	for _, code := range listed {
		if slices.Contains(present, code) {
			out = appendNew(out, code)
		}
	}
	return out
}

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// milliseconds formats a duration for an explanation, behind other words.
func milliseconds(before string, ms int64) string {
	var some [48]byte
	return string(append(strconv.AppendInt(append(some[:0], before...), ms, 10), " ms"...))
}

// orNone joins items for an explanation.
func orNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}

func joinMethods(methods []Method) string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = string(m)
	}
	return orNone(names)
}
