package policy

import (
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Status is the status of a claim.
type Status string

// The statuses of the contract. claimRules defines which of them a claim can have, and their order.
const (
	Confirmed          Status = "confirmed"
	Likely             Status = "likely"
	Uncertain          Status = "uncertain"
	NotConfirmed       Status = "not_confirmed"
	Detected           Status = "detected"
	NotDetected        Status = "not_detected"
	NotPresent         Status = "not_present"
	StatusInsufficient Status = "insufficient_evidence"
	StatusUnsupported  Status = "unsupported"
)

// The claims an assurance profile makes.
const (
	OperatorContinuity = "operator_continuity"
	HumanPresence      = "human_presence"
	Automation         = "automation"
	EvidenceReplay     = "evidence_replay"
	OperatorChange     = "operator_change" // experimental
	AgentMandate       = "agent_mandate"   // unsupported
)

// claimRule defines how one claim is checked.
type claimRule struct {
	order       []Status // best first; a status meets a minimum at or after its own position
	compensable bool     // challenge_compensates can list it: the user can confirm it by a challenge
	code        reason.Code
	stale       reason.Code // code if its evidence is older than freshness_max_ms, or missing
}

// claimRules has one entry per claim; docs and GET /api/v1/meta list them.
var claimRules = map[string]claimRule{
	OperatorContinuity: {[]Status{Confirmed, Likely, Uncertain, NotConfirmed}, true, reason.OperatorContinuityNotMet, reason.OperatorContinuityTooOld},
	HumanPresence:      {[]Status{Confirmed, Likely, Uncertain, NotConfirmed}, true, reason.HumanPresenceNotMet, reason.HumanPresenceTooOld},
	Automation:         {[]Status{NotDetected, Detected}, false, reason.AutomationNotMet, reason.AutomationTooOld},
	EvidenceReplay:     {[]Status{NotDetected, Detected}, false, reason.EvidenceReplayNotMet, reason.EvidenceReplayTooOld},
	OperatorChange:     {[]Status{NotDetected, Detected}, false, reason.OperatorChangeNotMet, reason.OperatorChangeTooOld},
	AgentMandate:       {nil, false, reason.ClaimNotMet, ""},
}

// ClaimNames returns the names of all claims, sorted, for GET /api/v1/meta.
func ClaimNames() []string { return slices.Sorted(maps.Keys(claimRules)) }

// MinimumStatuses returns the statuses that a policy may require of a claim, best first; none for a claim that is unknown or
// unsupported.
func MinimumStatuses(claim string) []Status { return slices.Clone(claimRules[claim].order) }

// trusted reports whether a status of a claim about the user supports the user.
func trusted(s Status) bool { return s == Confirmed || s == Likely }

// meets reports whether the status found satisfies the minimum wanted. A status outside the claim's order meets nothing, and
// nothing meets a minimum outside it.
func (r claimRule) meets(found, wanted Status) bool {
	f, w := slices.Index(r.order, found), slices.Index(r.order, wanted)
	return f >= 0 && w >= 0 && f <= w
}
