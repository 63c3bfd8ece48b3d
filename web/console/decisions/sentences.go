package decisions

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/web/console/show"
)

// unmet are the requirements that a decision did not meet, in words.
type unmet struct {
	Decisive []string // led to the decision
	Others   []string // not met either, with a less severe effect
	Stated   []stated // the rules of the policy that applied to the request
	Met      int
}

// stated is a rule that applied: the reason in the words of the policy's author, with the values that it read.
type stated struct {
	Reason, Rule string
	Values       []policy.ShownValue
	Found        string // what the condition found, in the words of the record
}

// NotMet counts the requirements that were not met.
func (u unmet) NotMet() int { return len(u.Decisive) + len(u.Others) }

// unmetOf describes the requirements that were not met, in the order of the policy. If there is too little evidence, that is the only sentence: what the
// evidence would have had to show is among the others.
func unmetOf(results []policy.RequirementResult, decision policy.Effect) unmet {
	var out unmet
	scarce := slices.ContainsFunc(results, func(r policy.RequirementResult) bool {
		return r.Requirement == insufficientEvidence && !r.Passed && r.Effect == decision
	})
	for _, r := range results {
		rule, isRule := strings.CutPrefix(r.Requirement, policy.RulePrefix)
		switch {
		case isRule:
			out.Stated = append(out.Stated, stated{Reason: r.Wanted, Rule: rule, Values: r.Shown, Found: r.Found})
		case r.Passed:
			out.Met++
		case isList(r) && r.Found == reason.RuleMatched:
			// The rules that applied say it, in the words of their author.
		case r.Effect == decision && (!scarce || !ofEvidence(r)):
			out.Decisive = append(out.Decisive, sentence(r))
		default:
			out.Others = append(out.Others, sentence(r))
		}
	}
	return out
}

const insufficientEvidence = "insufficient_evidence"

// ofEvidence reports whether a requirement is about what the evidence shows, if there is enough.
func ofEvidence(r policy.RequirementResult) bool {
	return r.Requirement == "coverage" || r.Requirement == "freshness" || strings.HasPrefix(r.Requirement, "claims.") && r.Found == string(policy.StatusInsufficient)
}

// sentence says what was found and what a requirement wanted.
func sentence(r policy.RequirementResult) string {
	wanted, found := inWords(r.Wanted), inWords(r.Found)
	if claim, isClaim := strings.CutPrefix(r.Requirement, "claims."); isClaim {
		said := claimTexts[claim][policy.Status(r.Found)]
		if said == "" {
			said = show.Capital(show.Plain(claim)) + ": " + found + "."
		}
		return said + " The policy asks for " + wanted + "."
	}
	switch r.Requirement {
	case "coverage":
		return "Coverage of the session is " + found + ". The policy asks for " + wanted + "."
	case insufficientEvidence:
		return "There is too little evidence to know who is acting."
	case "freshness":
		return "The policy asks for evidence that is " + wanted + " old. Found: " + found + "."
	case "explicit_approval":
		return "The policy asks the user to confirm this very action. It is " + found + "."
	case "challenge_method":
		return "The user can complete none of the challenges that the policy accepts: " + strings.TrimPrefix(wanted, "one of ") + "."
	case "max_challenges":
		return "The user was challenged " + found + " times. The policy asks for " + wanted + "."
	case "hold_on":
		return "The policy holds requests with: " + found + "."
	case "deny_on":
		return "The policy denies requests with: " + found + "."
	case "subject":
		return "The user is " + found + "."
	case "action":
		return "The action is " + found + "."
	default:
		return show.Capital(show.Plain(r.Requirement)) + " is " + found + ". The policy asks for " + wanted + "."
	}
}

// WhyOf says in words why a request is held, from the codes of its decision.
func WhyOf(codes []string) string {
	if slices.Contains(codes, insufficientEvidence) {
		return "Too little evidence to know who is acting"
	}
	var words []string
	for _, c := range codes {
		if c == reason.HoldOnMatched || c == reason.DenyOnMatched || strings.HasSuffix(c, "_too_old") {
			continue // another code says more
		}
		words = append(words, cmp.Or(show.CodeSentences[c], show.Plain(c)))
	}
	return show.Capital(strings.Join(words, ", "))
}

// isList reports whether a requirement is a list of codes.
func isList(r policy.RequirementResult) bool {
	return r.Requirement == "hold_on" || r.Requirement == "deny_on"
}

var milliseconds = regexp.MustCompile(`\d+ ms\b`)

// inWords writes durations in their largest unit and the identifiers of claims and codes as words.
func inWords(text string) string {
	text = milliseconds.ReplaceAllStringFunc(text, func(ms string) string {
		n, err := strconv.ParseInt(strings.TrimSuffix(ms, " ms"), 10, 64)
		if err != nil || n < 1000 {
			return ms
		}
		return show.Span(time.Duration(n) * time.Millisecond)
	})
	return strings.ReplaceAll(text, "_", " ")
}
