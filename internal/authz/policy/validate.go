package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Violation is one broken rule, in the parts of an item of a 422 response. Loc is relative to the
// requirements object, such as ["claims", "operator_continuity"] or ["deny_on", 0].
type Violation struct {
	Loc  []any
	Msg  string
	Type string
}

// Validate checks what the schema of PolicyRequirements cannot: names and codes against the catalogues, and rules that
// depend on the kind of environment. It returns every violation, in the order of the fields; none means valid.
func Validate(r Requirements, kind EnvironmentKind) []Violation {
	var out []Violation
	for _, claim := range slices.Sorted(maps.Keys(r.Claims)) {
		if v, bad := checkMinimum(claim, r.Claims[claim]); bad {
			out = append(out, v)
		}
	}
	for i, m := range r.ChallengeMethods {
		if m == SandboxConfirm && kind != Sandbox {
			out = append(out, Violation{
				Loc:  []any{"challenge_methods", i},
				Msg:  "sandbox_confirm exists in sandbox environments only",
				Type: "method_not_available",
			})
		}
	}
	for i, id := range r.PasskeyAAGUIDs {
		if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id || parsed == uuid.Nil {
			msg := fmt.Sprintf("%q is not an AAGUID in lower case such as ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4", id)
			out = append(out, Violation{[]any{"passkey_aaguids", i}, msg, "value_error"})
		}
	}
	out = append(out, checkCodes("deny_on", r.DenyOn)...)
	out = append(out, checkCodes("hold_on", r.HoldOn)...)
	out = append(out, checkReview(r.Review)...)
	out = append(out, checkReviewers(r)...)
	out = append(out, checkStanding(r.Standing)...)
	return append(out, checkRules(r.Rules, kind)...)
}

// MaxRules is the maximum number of rules of a policy.
const MaxRules = 32

// checkRules checks everything about rules but their conditions.
func checkRules(rules []Rule, kind EnvironmentKind) []Violation {
	var out []Violation
	seen := map[string]bool{}
	for i, rule := range rules {
		if seen[rule.Name] {
			out = append(out, Violation{[]any{"rules", i, "name"}, fmt.Sprintf("%q names two rules; each needs a name of its own", rule.Name), "duplicate_name"})
		}
		seen[rule.Name] = true
		if why := displaytext.Fault(rule.Reason); why != "" {
			out = append(out, Violation{[]any{"rules", i, "reason"}, "a reason must not contain " + why, "value_error"})
		}
		if rule.Requirements.empty() {
			out = append(out, Violation{[]any{"rules", i, "requirements"}, "a rule must add at least one requirement", "missing"})
		}
		for _, v := range Validate(Requirements(rule.Requirements), kind) {
			v.Loc = append([]any{"rules", i, "requirements"}, v.Loc...)
			out = append(out, v)
		}
	}
	return out
}

// checkMinimum checks one claim minimum against the claim's rule.
func checkMinimum(claim string, minimum Status) (v Violation, bad bool) {
	loc := []any{"claims", claim}
	rule, known := claimRules[claim]
	switch {
	case !known:
		return Violation{loc, "unknown claim; use one of " + strings.Join(ClaimNames(), ", "), "unknown_claim"}, true
	case len(rule.order) == 0:
		return Violation{loc, "this claim is unsupported, so no minimum can be set on it", "unsupported_claim"}, true
	case !slices.Contains(rule.order, minimum):
		return Violation{loc, fmt.Sprintf("%q cannot be the minimum of this claim; use one of %s", minimum, join(rule.order)), "status_not_reachable"}, true
	default:
		return Violation{}, false
	}
}

// checkCodes checks the codes of a list against the catalogue.
func checkCodes(field string, codes []string) []Violation {
	var out []Violation
	for i, code := range codes {
		if !reason.Known(code) {
			out = append(out, Violation{[]any{field, i}, fmt.Sprintf("%q is not a reason code; GET /api/v1/meta lists them", code), "unknown_reason_code"})
		}
	}
	return out
}

func join(statuses []Status) string {
	parts := make([]string, len(statuses))
	for i, s := range statuses {
		parts[i] = string(s)
	}
	return strings.Join(parts, ", ")
}
