package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Rule adds requirements to the requests that its condition matches. The package never evaluates the condition:
// internal/authz/rules does, and Decide receives the rules that matched.
type Rule struct {
	Name         string   `json:"name"`         // unique in its policy, lower snake_case
	When         string   `json:"when"`         // a CEL expression of type bool
	Requirements Stricter `json:"requirements"` // at least one, merged by Merge
	Reason       string   `json:"reason"`       // shown in the explanation
	// Reserve has the sums of the condition hold while decisions are made at the same time: what is allowed, or may still be, counts.
	Reserve bool `json:"reserve,omitzero"`
}

// Stricter is the partial Requirements of a rule. An omitted field has no effect, and Rules is never set.
type Stricter Requirements

// MarshalJSON leaves out explicit_approval_required if it is false, as every other omitted field: unlike the requirements of a
// policy, those of a rule are stored as they were given.
func (s Stricter) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Requirements
		ExplicitApprovalRequired bool `json:"explicit_approval_required,omitzero"`
	}{Requirements(s), s.ExplicitApprovalRequired})
}

// empty reports whether nothing is required.
func (s Stricter) empty() bool {
	return len(s.Claims) == 0 && s.CoverageMin == "" && s.FreshnessMaxMS == 0 && s.InsufficientEvidence == "" && s.MaxChallenges == 0 &&
		!s.ExplicitApprovalRequired && s.ChallengeMethods == nil && s.ChallengeCompensates == nil && len(s.DenyOn) == 0 &&
		len(s.HoldOn) == 0 && s.ApprovalsRequired == 0 && s.SelfReview == "" && len(s.Review) == 0 && s.ApprovalCompensates == nil
}

// MatchedRule is a rule that applies to the request of a decision.
type MatchedRule struct {
	Rule
	Found  string       // the values that the condition read, without any that may not be stored
	Shown  []string     // labels of the details that it read; their values are stored sealed, apart from the explanation
	Totals []ShownValue // the sums of shown amounts that it read; they are sealed likewise
	Failed bool         // it could not be evaluated and applies for that reason
}

// Merge returns the base with the requirements of rules added. Of each field the stricter value wins: no rule can make a policy
// looser, and the order of the rules has no effect. The base must be resolved.
func Merge(base Requirements, rules ...Stricter) Requirements {
	out := base
	var denyOn, holdOn []string
	orders := []Review{base.Review}
	for _, r := range rules {
		out.Claims = mergeClaims(out.Claims, r.Claims)
		out.CoverageMin = stricter(out.CoverageMin, r.CoverageMin, coverageStrictness)
		out.FreshnessMaxMS = smaller(out.FreshnessMaxMS, r.FreshnessMaxMS)
		out.InsufficientEvidence = stricter(out.InsufficientEvidence, r.InsufficientEvidence, Effect.Severity)
		out.MaxChallenges = smaller(out.MaxChallenges, r.MaxChallenges)
		out.ExplicitApprovalRequired = out.ExplicitApprovalRequired || r.ExplicitApprovalRequired
		out.ChallengeMethods = common(out.ChallengeMethods, r.ChallengeMethods)
		out.ChallengeCompensates = common(out.ChallengeCompensates, r.ChallengeCompensates)
		out.ApprovalCompensates = common(out.ApprovalCompensates, r.ApprovalCompensates)
		out.ApprovalsRequired = max(out.ApprovalsRequired, r.ApprovalsRequired)
		out.SelfReview = stricter(out.SelfReview, r.SelfReview, selfReviewStrictness)
		out.Review = mergeReview(out.Review, r.Review)
		orders = append(orders, r.Review)
		denyOn, holdOn = append(denyOn, r.DenyOn...), append(holdOn, r.HoldOn...)
	}
	if len(out.Review) > 1 {
		out.Review = inOrder(out.Review, orders...)
	}
	out.DenyOn, out.HoldOn = withMore(base.DenyOn, denyOn), withMore(base.HoldOn, holdOn)
	return out
}

// mergeClaims returns the stricter minimum of each claim.
func mergeClaims(base, more map[string]Status) map[string]Status {
	if len(more) == 0 {
		return base
	}
	out := make(map[string]Status, len(base)+len(more))
	for claim, minimum := range base {
		out[claim] = minimum
	}
	for claim, minimum := range more {
		// A status that the claim cannot have is the strictest, because nothing meets it.
		out[claim] = stricter(out[claim], minimum, func(s Status) int { return -slices.Index(claimRules[claim].order, s) })
	}
	return out
}

// stricter returns the stricter of two values; an omitted one is empty. Of two that are equally strict it returns the one that
// sorts last, so that the order of rules has no effect.
func stricter[T ~string](a, b T, strictness func(T) int) T {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	case strictness(a) != strictness(b):
		if strictness(a) > strictness(b) {
			return a
		}
		return b
	default:
		return max(a, b)
	}
}

// coverageStrictness orders minimums of coverage. An unknown one is the strictest: nothing meets it.
func coverageStrictness(c Coverage) int {
	if c.Rank() < 0 {
		return CoverageSufficient.Rank() + 1
	}
	return c.Rank()
}

// selfReviewStrictness orders values of self_review. An unknown one bars, as in BarsSelfReview.
func selfReviewStrictness(s SelfReview) int {
	if s == SelfReviewAllowed {
		return 0
	}
	return 1
}

// smaller returns the smaller of two limits; zero was omitted.
func smaller[T int | int64](a, b T) T {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// common returns the elements of a that b has as well; a nil list was omitted, and an empty one permits nothing.
func common[T comparable](a, b []T) []T {
	if b == nil {
		return a
	}
	if a == nil {
		return b
	}
	out := []T{}
	for _, v := range a {
		if slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}

// withMore returns the codes of a list, followed by those of more in alphabetical order, each once.
func withMore(list, more []string) []string {
	out := slices.Clone(list)
	slices.Sort(more)
	for _, code := range more {
		out = appendNew(out, code)
	}
	return out
}

// Effective returns the requirements that apply, resolved: those of the policy and of the matched rules.
func (in Input) Effective() Requirements {
	return withRules(in.Requirements.Resolve(in.Environment), in.Rules)
}

func withRules(base Requirements, matched []MatchedRule) Requirements {
	if len(matched) == 0 {
		return base
	}
	demands := make([]Stricter, len(matched))
	for i, r := range matched {
		demands[i] = r.Requirements
	}
	return Merge(base, demands...)
}

// applyRules decides with the requirements of the matched rules. Should the policy without rules decide more strictly, its
// decision stands: a stricter requirement can hide a reason code on which the policy denies.
func applyRules(in Input) *evaluation {
	matched := in.Rules
	in.Rules = nil
	full := withRules(in.Requirements, matched)
	in.Requirements.Review = full.Review // a hold requires the teams of the rules, whichever decision stands
	base := evaluate(in, matched)
	in.Requirements = full
	merged := evaluate(in, matched)
	if base.worst().Severity() > merged.worst().Severity() {
		return base
	}
	return merged
}

// RulePrefix begins the name of a rule in an explanation.
const RulePrefix = "rules."

// explainRules appends the rules that matched. A rule has no effect of its own: the requirements that it added have.
func (e *evaluation) explainRules(matched []MatchedRule) {
	for _, r := range matched {
		result := RequirementResult{Requirement: RulePrefix + r.Name, Wanted: r.Reason, Found: r.Found, Passed: true, Effect: Allow}
		for _, label := range r.Shown {
			result.Shown = append(result.Shown, ShownValue{Label: label})
		}
		for _, total := range r.Totals {
			result.Shown = append(result.Shown, ShownValue{Label: total.Label})
		}
		e.results = append(e.results, result)
		e.codes = append(e.codes, nil)
	}
}

// ListPrefix begins the name of a list in an explanation.
const ListPrefix = "lists."

// maxEntries is how many entries of a list an explanation names.
const maxEntries = 5

// ListRead is the part of a list that a decision read: its version, and the ids of the entries that the request's values are in.
type ListRead struct {
	Name    string
	Version int
	Entries []string
}

// explainLists appends the lists that rules read, whether or not a rule matched.
func (e *evaluation) explainLists(read []ListRead) {
	for _, l := range read {
		found := fmt.Sprintf("version %d: no entry", l.Version)
		if n := len(l.Entries); n > 0 {
			found = fmt.Sprintf("version %d: %s", l.Version, strings.Join(l.Entries[:min(n, maxEntries)], ", "))
			if n > maxEntries {
				found += fmt.Sprintf(" and %d more", n-maxEntries)
			}
		}
		e.results = append(e.results, RequirementResult{Requirement: ListPrefix + l.Name, Wanted: "what rules read of the list", Found: found, Passed: true, Effect: Allow})
		e.codes = append(e.codes, nil)
	}
}

// ruleCodes returns the codes of matched rules. hold_on and deny_on can list them.
func ruleCodes(matched []MatchedRule) []string {
	var codes []string
	for _, r := range matched {
		codes = appendNew(codes, reason.RuleMatched)
		if r.Failed {
			codes = appendNew(codes, reason.RuleFailed)
		}
	}
	return codes
}
