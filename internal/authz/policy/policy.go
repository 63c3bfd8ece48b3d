// Package policy decides: it maps the requirements of a policy version and the facts about a subject to allow, challenge, hold
// or deny, with a reason for each requirement.
//
// The package is pure and total: no clock, no randomness, no I/O, no panic, and always one of the four effects. It may not
// import the store, the scorer or the API. The caller gathers the facts before and stores the decision after, so that every
// stored decision can be decided again from its record.
package policy

// EnvironmentKind is the kind of an environment: sandbox for tests, live for production.
type EnvironmentKind string

// The kinds of environment.
const (
	Sandbox EnvironmentKind = "sandbox"
	Live    EnvironmentKind = "live"
)

// Mode is an action's mode. It determines the consequences of a decision, never the decision itself.
type Mode string

// The modes of an action.
const (
	ModeTest    Mode = "test"
	ModeShadow  Mode = "shadow"
	ModeEnforce Mode = "enforce"
)

// Effect is one of the four decisions, and what failing one requirement leads to.
type Effect string

// The effects, from the loosest to the strictest; the strictest effect among failed requirements is the decision.
const (
	Allow     Effect = "allow"
	Challenge Effect = "challenge"
	Hold      Effect = "hold"
	Deny      Effect = "deny"
)

// Severity orders effects: 0 allow, 1 challenge, 2 hold, 3 deny. An unknown effect counts as deny, to fail closed.
func (e Effect) Severity() int {
	switch e {
	case Allow:
		return 0
	case Challenge:
		return 1
	case Hold:
		return 2
	default:
		return 3
	}
}

// Coverage is how much of the observable behaviour was observed.
type Coverage string

// The degrees of coverage, from least to most.
const (
	CoverageNone       Coverage = "none"
	CoverageSparse     Coverage = "sparse"
	CoveragePartial    Coverage = "partial"
	CoverageSufficient Coverage = "sufficient"
)

// Rank orders coverage from 0 (none) to 3 (sufficient); an unknown value ranks -1.
func (c Coverage) Rank() int {
	switch c {
	case CoverageNone:
		return 0
	case CoverageSparse:
		return 1
	case CoveragePartial:
		return 2
	case CoverageSufficient:
		return 3
	default:
		return -1
	}
}

// Method is a way to complete a challenge.
type Method string

// The methods. SandboxConfirm exists in sandbox environments only.
const (
	Passkey        Method = "passkey"
	SandboxConfirm Method = "sandbox_confirm"
)

// Usable returns the methods with which a subject that has this many passkeys could complete a challenge, whether or not a policy
// permits them.
func Usable(passkeys int, kind EnvironmentKind) []Method {
	var out []Method
	if passkeys > 0 {
		out = append(out, Passkey)
	}
	if kind == Sandbox {
		out = append(out, SandboxConfirm)
	}
	return out
}

// Names that challenge_compensates and approval_compensates may list besides the two claims that a user can confirm by a challenge.
// explicit_approval is for approval_compensates only: a challenge is how it is given.
const (
	CompensatesCoverage  = "coverage"
	CompensatesFreshness = "freshness"
	CompensatesApproval  = "explicit_approval"
)
