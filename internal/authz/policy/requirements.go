package policy

import "slices"

// Defaults of PolicyRequirements (SPEC.md section 2).
const (
	DefaultCoverageMin          = CoveragePartial
	DefaultFreshnessMaxMS int64 = 60_000
	DefaultMaxChallenges        = 2
)

// SelfReview says whether the credential that asked may review its own hold.
type SelfReview string

// The values of self_review. Omitted means allowed.
const (
	SelfReviewAllowed SelfReview = "allowed"
	SelfReviewBarred  SelfReview = "barred"
)

// Requirements is PolicyRequirements. Its zero value, and the zero value of each field, means "omitted": no field has a
// zero that the contract lets a caller ask for (explicit_approval_required is false by default). A list that is nil was
// omitted, one that is empty was given as []. Resolve fills in the defaults.
type Requirements struct {
	Claims                   map[string]Status `json:"claims,omitzero"`                // minimum status per claim
	CoverageMin              Coverage          `json:"coverage_min,omitzero"`          // default partial
	FreshnessMaxMS           int64             `json:"freshness_max_ms,omitzero"`      // milliseconds, 1000..3600000, default 60000
	InsufficientEvidence     Effect            `json:"insufficient_evidence,omitzero"` // challenge (default), hold or deny
	MaxChallenges            int               `json:"max_challenges,omitzero"`        // 1..5, default 2, counted over the chain of parents
	ExplicitApprovalRequired bool              `json:"explicit_approval_required"`     // default false
	ChallengeMethods         []Method          `json:"challenge_methods,omitzero"`     // default passkey, and sandbox_confirm in a sandbox
	ChallengeCompensates     []string          `json:"challenge_compensates,omitzero"` // default all four
	DenyOn                   []string          `json:"deny_on,omitzero"`               // reason codes that force deny
	HoldOn                   []string          `json:"hold_on,omitzero"`               // reason codes that force hold

	// Extensions of the contract. Resolve leaves them as they are: what was omitted stays out of the content hash.
	ApprovalsRequired int        `json:"approvals_required,omitzero"` // distinct reviewers who must approve a hold, 1..5, default 1
	SelfReview        SelfReview `json:"self_review,omitzero"`        // default allowed
}

// Resolve returns the requirements with every omitted field set to its default for the kind of environment. It is
// idempotent. A policy version stores the resolved form, so that a later change of a default changes no version.
func (r Requirements) Resolve(kind EnvironmentKind) Requirements {
	if r.Claims == nil {
		r.Claims = map[string]Status{}
	}
	if r.CoverageMin == "" {
		r.CoverageMin = DefaultCoverageMin
	}
	if r.FreshnessMaxMS == 0 {
		r.FreshnessMaxMS = DefaultFreshnessMaxMS
	}
	if r.InsufficientEvidence == "" {
		r.InsufficientEvidence = Challenge
	}
	if r.MaxChallenges == 0 {
		r.MaxChallenges = DefaultMaxChallenges
	}
	if r.ChallengeMethods == nil {
		r.ChallengeMethods = defaultMethods(kind)
	}
	if r.ChallengeCompensates == nil {
		r.ChallengeCompensates = []string{OperatorContinuity, HumanPresence, CompensatesCoverage, CompensatesFreshness}
	}
	if r.DenyOn == nil {
		r.DenyOn = []string{}
	}
	if r.HoldOn == nil {
		r.HoldOn = []string{}
	}
	return r
}

// ReliesOnEvidence reports whether the requirements ask anything of the evidence. With coverage_min none and no claim
// minimum they do not, and then neither coverage nor freshness nor insufficiency can fail them.
func (r Requirements) ReliesOnEvidence() bool {
	return r.CoverageMin != CoverageNone || len(r.Claims) > 0
}

// Approvals is how many distinct reviewers must approve a hold.
func (r Requirements) Approvals() int { return max(r.ApprovalsRequired, 1) }

// BarsSelfReview reports whether the credential that asked may not review its own hold. What the contract does not know
// bars.
func (r Requirements) BarsSelfReview() bool {
	return r.SelfReview != "" && r.SelfReview != SelfReviewAllowed
}

// whenInsufficient is the effect of too little evidence. What the contract does not know, or would let pass, denies.
func (r Requirements) whenInsufficient() Effect {
	if r.InsufficientEvidence == Challenge || r.InsufficientEvidence == Hold {
		return r.InsufficientEvidence
	}
	return Deny
}

// methods returns the methods the requirements permit in an environment of that kind; a live environment has no
// sandbox_confirm whatever a stored policy says.
func (r Requirements) methods(kind EnvironmentKind) []Method {
	out := make([]Method, 0, len(r.ChallengeMethods))
	for _, m := range r.ChallengeMethods {
		known := m == Passkey || (m == SandboxConfirm && kind == Sandbox)
		if known && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func defaultMethods(kind EnvironmentKind) []Method {
	if kind == Sandbox {
		return []Method{Passkey, SandboxConfirm}
	}
	return []Method{Passkey}
}
