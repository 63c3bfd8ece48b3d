package policy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Bounds of a standing approval.
const (
	MaxStandingUses     = 10_000
	MaxStandingDuration = 366 * 24 * time.Hour
)

// StandingSource is who gives a standing approval.
type StandingSource string

// The sources.
const (
	StandingByPasskey StandingSource = "passkey" // the subject, by a challenge
	StandingByReview  StandingSource = "review"  // reviewers, by a hold
)

// StandingAgent says whether a standing approval names the agent that may use it.
type StandingAgent string

// The values of agent. Omitted means any.
const (
	StandingNamed StandingAgent = "named"
	StandingAny   StandingAgent = "any"
)

// Standing permits standing approvals of the action: an approval given once that satisfies what the policy asks in each of several requests.
type Standing struct {
	By                 []StandingSource `json:"by"`
	MaxUses            int              `json:"max_uses"` // the most that one may allow, 1..MaxStandingUses
	MaxAmount          *StandingAmount  `json:"max_amount,omitempty"`
	MaxDurationSeconds int64            `json:"max_duration_seconds"` // 60..MaxStandingDuration
	Resource           StandingResource `json:"resource,omitzero"`    // omitted: the one resource that is approved
	Agent              StandingAgent    `json:"agent,omitzero"`
}

// StandingAmount bounds the sum of the amounts of a standing approval, which then states a limit of its own.
type StandingAmount struct {
	Field string `json:"field"` // a property of the context that the schema marks as a sum
	Limit string `json:"limit"` // an exact decimal, in the currency of the standing approval
}

// StandingResource says on which resources a standing approval allows the action. The zero value is the one resource that is approved.
type StandingResource struct {
	Any    bool
	Prefix string // of the ids
}

// MarshalJSON writes same, any or the prefix.
func (r StandingResource) MarshalJSON() ([]byte, error) {
	switch {
	case r.Any:
		return json.Marshal("any")
	case r.Prefix != "":
		return json.Marshal(map[string]string{"prefix": r.Prefix})
	}
	return json.Marshal("same")
}

// UnmarshalJSON reads what MarshalJSON writes; the contract checks the form before.
func (r *StandingResource) UnmarshalJSON(raw []byte) error {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		*r = StandingResource{Any: word == "any"}
		return nil
	}
	var form struct {
		Prefix string `json:"prefix"`
	}
	err := json.Unmarshal(raw, &form)
	*r = StandingResource{Prefix: form.Prefix}
	return err
}

// Covers reports whether a standing approval that was given for the resource with an id allows another.
func (r StandingResource) Covers(given, id string) bool {
	switch {
	case r.Any:
		return true
	case r.Prefix != "":
		return strings.HasPrefix(id, r.Prefix)
	}
	return id == given
}

// String returns what is permitted as tests of policies show it.
func (s Standing) String() string {
	by := make([]string, len(s.By))
	for i, source := range s.By {
		by[i] = string(source)
	}
	return fmt.Sprintf("by %s, %d times within %s", strings.Join(by, " or "), s.MaxUses, time.Duration(s.MaxDurationSeconds)*time.Second)
}

var standingLimit = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,4})?$`)

// ParseStandingAmount returns an amount above zero, at most 15 digits before the point and 4 after it; false for any other text.
func ParseStandingAmount(text string) (*big.Rat, bool) {
	if !standingLimit.MatchString(text) {
		return nil, false
	}
	amount, _ := new(big.Rat).SetString(text)
	return amount, amount.Sign() > 0
}

// checkStanding checks what the schema of the contract cannot.
func checkStanding(s *Standing) []Violation {
	if s == nil {
		return nil
	}
	var out []Violation
	if len(s.By) == 0 {
		out = append(out, Violation{[]any{"standing", "by"}, "name who may give a standing approval", "too_short"})
	}
	for i, by := range s.By {
		if slices.Contains(s.By[:i], by) {
			out = append(out, Violation{[]any{"standing", "by", i}, fmt.Sprintf("%q is listed twice", by), "value_error"})
		}
	}
	if a := s.MaxAmount; a != nil {
		if _, ok := ParseStandingAmount(a.Limit); !ok {
			out = append(out, Violation{[]any{"standing", "max_amount", "limit"}, "the limit must be a decimal above 0 such as 1250.50, with at most 15 digits before the point and 4 after it", "value_error"})
		}
	}
	if why := displaytext.Fault(s.Resource.Prefix); why != "" {
		out = append(out, Violation{[]any{"standing", "resource", "prefix"}, "a prefix must not contain " + why, "value_error"})
	}
	return out
}

// GivenStanding is the standing approval that a request uses.
type GivenStanding struct {
	Source StandingSource
}

// reqStanding is the name of the requirement of a request that asks for a standing approval.
const reqStanding = "standing_approval"

// checkAsked requires the approval that a request for a standing approval asks for. A reviewer does not give it for the subject, nor the subject for
// a reviewer.
func (e *evaluation) checkAsked() {
	result := RequirementResult{Requirement: reqStanding, Passed: true, Effect: Allow}
	var codes []string
	switch e.in.StandingAsked {
	case "":
		return
	case StandingByPasskey:
		approved := e.completed()
		e.challenge = e.challenge || approved
		result.Wanted, result.Found = "approved by the subject", pick(approved, "approved by "+string(e.in.ChallengeCompleted), "not approved")
		if !approved {
			result.Passed, result.Effect, codes = false, Challenge, []string{reason.ExplicitApprovalRequired}
		}
	default:
		result.Wanted, result.Found = "approved by reviewers", pick(e.in.HoldApproved, "approved", "not approved")
		if !e.in.HoldApproved {
			result.Passed, result.Effect, codes = false, Hold, []string{reason.StandingAsked}
		}
	}
	e.results, e.codes = append(e.results, result), append(e.codes, codes)
}

// stands reports whether the standing approval that the request uses satisfies a requirement: the subject's own the approval by the subject, and
// one by reviewers the hold that the policy itself asks for, and what an approved hold replaces of the subject's approval. Nothing that evidence shows
// against the person is satisfied, and nothing that denies.
func (e *evaluation) stands(r requirement) bool {
	s := e.in.Standing
	if s == nil || e.forged() || r.effect.Severity() >= Deny.Severity() {
		return false
	}
	if r.name == reqApproval {
		return s.Source == StandingByPasskey || e.in.Requirements.approvalCompensates(CompensatesApproval)
	}
	return s.Source == StandingByReview && r.effect == Hold && slices.Contains([]string{reqHoldOn, reqEvidence, reqCoverage, reqFreshness}, r.name)
}

// StandingApplies reports whether a decision may be made by a standing approval from a source: its policy permits them, the decision waits for someone,
// and no rule asks more of the reviewers than those of the standing approval were asked.
func (in Input) StandingApplies(d Decision, source StandingSource) bool {
	base, full := in.Requirements.Resolve(in.Environment), in.Effective()
	if base.Standing == nil || d.Effect != Challenge && d.Effect != Hold || in.StandingAsked != "" {
		return false
	}
	return source == StandingByPasskey || full.Approvals() == base.Approvals() && full.Review.String() == base.Review.String() &&
		full.BarsSelfReview() == base.BarsSelfReview()
}

// StandsAs reports whether a standing approval by a source, given under these resolved requirements, would have been given under others in the same way.
func (r Requirements) StandsAs(other Requirements, source StandingSource) bool {
	return reflect.DeepEqual(r.Standing, other.Standing) && (source == StandingByPasskey ||
		r.Approvals() == other.Approvals() && r.Review.String() == other.Review.String() && r.BarsSelfReview() == other.BarsSelfReview())
}

// StandingSources returns the sources of those standing approvals by which a request that waits would be allowed.
func StandingSources(in Input, d Decision) []StandingSource {
	var out []StandingSource
	if in.Requirements.Standing == nil {
		return nil
	}
	for _, source := range in.Requirements.Standing.By {
		if !in.StandingApplies(d, source) {
			continue
		}
		in.Standing = &GivenStanding{source}
		if Decide(in).Effect == Allow {
			out = append(out, source)
		}
		in.Standing = nil
	}
	return out
}
