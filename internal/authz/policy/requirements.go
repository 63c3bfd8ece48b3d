package policy

import "slices"

// Defaults of PolicyRequirements in the contract.
const (
	DefaultCoverageMin          = CoveragePartial
	DefaultFreshnessMaxMS int64 = 60_000
	DefaultMaxChallenges        = 2
)

// SelfReview determines whether the requesting credential may review its own hold.
type SelfReview string

// The values of self_review. Omitted means allowed.
const (
	SelfReviewAllowed SelfReview = "allowed"
	SelfReviewBarred  SelfReview = "barred"
)

// Hours says which hours the times of a hold count.
type Hours string

// The values of hours. Omitted means all.
const (
	HoursAll     Hours = "all"
	HoursWorking Hours = "working" // those of the environment's calendar
)

// Requirements is PolicyRequirements. Its zero value, and the zero value of each field, means "omitted": the
// contract permits no zero value in any field (explicit_approval_required is false by default). A nil list was omitted, an
// empty one was given as []. Resolve fills in the defaults.
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

	// Extensions of the contract. Resolve does not fill them in, so that omitted ones stay out of the content hash.
	ApprovalsRequired int        `json:"approvals_required,omitzero"` // distinct reviewers who must approve a hold, 1..5, default 1
	SelfReview        SelfReview `json:"self_review,omitzero"`        // default allowed
	Rules             []Rule     `json:"rules,omitempty"`             // at most MaxRules
	// Review says whose approvals a hold requires, in at most MaxSteps steps of at most MaxReviewers approvals.
	Review Review `json:"review,omitempty"`
	// RepeatApprovers lets one person approve in several steps. A rule has none.
	RepeatApprovers bool `json:"repeat_approvers,omitzero"`
	// Hours says which hours all times of a hold count: those of steps and escalations, and how long it waits. A rule has none.
	Hours Hours `json:"hours,omitzero"`
	// BreakGlass says who may approve a hold alone; nil for no one. A rule has none.
	BreakGlass *BreakGlass `json:"break_glass,omitempty"`
	// Standing permits standing approvals; nil permits none. A rule has none.
	Standing *Standing `json:"standing,omitempty"`
	// ApprovalCompensates are the requirements, of those that a challenge can satisfy, that an approved hold satisfies as well; nil is
	// all. Those that it leaves out require the challenge too, before or after the hold.
	ApprovalCompensates []string `json:"approval_compensates,omitzero"`
	// PasskeyAAGUIDs are the models of authenticators whose passkeys complete a challenge, in lower case; empty permits all. A rule
	// has none: the challenge is completed under the policy alone.
	PasskeyAAGUIDs []string `json:"passkey_aaguids,omitempty"`
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

// ReliesOnEvidence reports whether the requirements depend on evidence. With coverage_min none and no claim minimum they do not,
// and neither coverage nor freshness nor sufficiency is checked.
func (r Requirements) ReliesOnEvidence() bool {
	return r.CoverageMin != CoverageNone || len(r.Claims) > 0
}

// Approvals returns how many approvals a hold requires, those of all steps and teams included.
func (r Requirements) Approvals() int { return max(r.ApprovalsRequired, r.Review.Needs(), 1) }

// BarsSelfReview reports whether the requesting credential must not review its own hold. An unknown value bars, to fail closed.
func (r Requirements) BarsSelfReview() bool {
	return r.SelfReview != "" && r.SelfReview != SelfReviewAllowed
}

// approvalCompensates reports whether an approved hold satisfies the requirement of this name. It does unless a challenge can satisfy
// it as well and approval_compensates leaves it out.
func (r Requirements) approvalCompensates(name string) bool {
	return name == "" || r.ApprovalCompensates == nil || slices.Contains(r.ApprovalCompensates, name)
}

func (r Requirements) challengeSatisfies(name string) bool {
	return name == CompensatesApproval || name != "" && slices.Contains(r.ChallengeCompensates, name)
}

// whenInsufficient returns the effect of insufficient evidence. An unknown value, or allow, denies, to fail closed.
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
