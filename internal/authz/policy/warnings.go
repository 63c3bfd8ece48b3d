package policy

import (
	"slices"
	"strconv"
	"strings"
)

// Warning is a hint about a policy that is valid, but may not decide as its author expects.
type Warning struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Loc     []string `json:"loc"` // relative to the requirements; an index is text
}

// Codes of warnings.
const (
	WarnReplay     = "replay_without_effect"
	WarnAutomation = "automation_without_effect"
	WarnApproval   = "approval_replaces_passkey"
	WarnStanding   = "standing_without_effect"
)

// detection is forged evidence that an assessor reports by a claim, whether or not a policy requires the claim.
type detection struct {
	warning, noun, claim string
	codes                []string // reason codes of the claim once it is detected
	veto                 string   // reason code of the claims about the user that it rules out
}

var detections = []detection{
	{WarnReplay, "A detected replay", EvidenceReplay, []string{"replay_exact", "replay_near_duplicate", "replay_other_session"}, "vetoed_by_replay"},
	{WarnAutomation, "Detected automation", Automation, []string{"automation_typing_pattern", "automation_pointer_pattern", "automation_range"}, "vetoed_by_automation"},
}

// Warnings returns the hints about resolved requirements, in a fixed order. Requirements that rely on no evidence get none about
// forged evidence: what the evidence shows is not to decide there.
func Warnings(r Requirements) []Warning {
	var out []Warning
	for _, d := range detections {
		if !r.ReliesOnEvidence() || r.Claims[d.claim] == NotDetected || slices.ContainsFunc(slices.Concat(r.DenyOn, r.HoldOn), d.has) {
			continue
		}
		last := len(d.codes) - 1
		out = append(out, Warning{
			Code: d.warning, Loc: []string{"deny_on"},
			Message: d.noun + " neither denies nor holds: name " + strings.Join(d.codes[:last], ", ") + " or " + d.codes[last] +
				" in deny_on or hold_on, or require " + string(NotDetected) + " of the claim " + d.claim + ".",
		})
	}
	if r.ApprovalCompensates == nil && (r.ExplicitApprovalRequired || slices.ContainsFunc(r.Rules, replaceable)) {
		out = append(out, Warning{
			Code: WarnApproval, Loc: []string{"approval_compensates"},
			Message: "If a request is held, a reviewer's approval is enough, and the user need not confirm it. To require both, set approval_compensates " +
				"without explicit_approval; to keep it as it is, list explicit_approval there.",
		})
	}
	if r.Standing != nil {
		for i, by := range r.Standing.By {
			if !r.standingServes(by) {
				out = append(out, Warning{
					Code: WarnStanding, Loc: []string{"standing", "by", strconv.Itoa(i)},
					Message: "A standing approval by " + string(by) + " allows nothing: neither the policy nor a rule requires what it satisfies.",
				})
			}
		}
	}
	return out
}

// replaceable reports whether a rule asks for an approval by the user that a reviewer's approval replaces.
func replaceable(r Rule) bool {
	return r.Requirements.ExplicitApprovalRequired && r.Requirements.ApprovalCompensates == nil
}

func (d detection) has(code string) bool { return code == d.veto || slices.Contains(d.codes, code) }

// standingServes reports whether the policy or a rule requires what a standing approval by a source satisfies.
func (r Requirements) standingServes(by StandingSource) bool {
	serves := func(r Requirements) bool {
		if by == StandingByPasskey {
			return r.ExplicitApprovalRequired
		}
		return len(r.HoldOn) > 0 || r.InsufficientEvidence == Hold || r.ExplicitApprovalRequired && r.approvalCompensates(CompensatesApproval)
	}
	return serves(r) || slices.ContainsFunc(r.Rules, func(rule Rule) bool { return serves(Requirements(rule.Requirements)) })
}
