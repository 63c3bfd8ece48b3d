package console

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
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

// unmetOf describes the requirements that were not met, in the order of the policy.
func unmetOf(results []policy.RequirementResult, decision policy.Effect) unmet {
	var out unmet
	for _, r := range results {
		rule, isRule := strings.CutPrefix(r.Requirement, policy.RulePrefix)
		switch {
		case isRule:
			out.Stated = append(out.Stated, stated{Reason: r.Wanted, Rule: rule, Values: r.Shown, Found: r.Found})
		case r.Passed:
			out.Met++
		case isList(r) && r.Found == reason.RuleMatched:
			// The rules that applied say it, in the words of their author.
		case r.Effect == decision:
			out.Decisive = append(out.Decisive, sentence(r))
		default:
			out.Others = append(out.Others, sentence(r))
		}
	}
	return out
}

// sentence says what a requirement wanted and what was found.
func sentence(r policy.RequirementResult) string {
	wanted, found := inWords(r.Wanted), inWords(r.Found)
	name, isClaim := strings.CutPrefix(r.Requirement, "claims.")
	if isClaim {
		return capital(plain(name)) + " must be " + wanted + ". It is " + found + "."
	}
	switch r.Requirement {
	case "coverage":
		return "Coverage must be " + wanted + ". It is " + found + "."
	case "insufficient_evidence":
		return "The evidence must be " + wanted + ". It is " + found + "."
	case "freshness":
		return "The evidence must be " + wanted + " old. Found: " + found + "."
	case "explicit_approval":
		return "The action must be " + wanted + ". It is " + found + "."
	case "challenge_method":
		return "The subject must be able to complete a challenge by " + wanted + ". Available: " + found + "."
	case "max_challenges":
		return "The request must have had " + wanted + " challenges. It had " + found + "."
	case "hold_on":
		return "The policy holds requests with: " + found + "."
	case "deny_on":
		return "The policy denies requests with: " + found + "."
	case "subject", "action":
		return "The " + r.Requirement + " must be " + wanted + ". It is " + found + "."
	default:
		return capital(plain(r.Requirement)) + " must be " + wanted + ". Found: " + found + "."
	}
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
		return span(time.Duration(n) * time.Millisecond)
	})
	return strings.ReplaceAll(text, "_", " ")
}

// capital writes the first letter large.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
