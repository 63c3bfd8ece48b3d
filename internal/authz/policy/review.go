package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxReviewers is the maximum of approvals_required, and of the approvals of all teams together.
const MaxReviewers = 5

// TeamReview requires approvals of a hold by members of a team. Every entry of a policy must be met, each approval by a different
// person.
type TeamReview struct {
	Group     string      `json:"group"`     // the key of a team of the environment
	Approvals int         `json:"approvals"` // 1..MaxReviewers
	Escalate  *Escalation `json:"escalate,omitempty"`
}

// Escalation lets the members of a second team give the approvals of the first as well, once the hold has waited. It never
// approves and never removes a requirement.
type Escalation struct {
	AfterSeconds int64  `json:"after_seconds"` // from the opening of the hold, 60..2592000
	Group        string `json:"group"`
}

// Groups returns the keys of the teams that the requirements and their rules name, each once. The caller checks that they exist:
// this package reads no store.
func (r Requirements) Groups() []string {
	var out []string
	add := func(entries []TeamReview) {
		for _, t := range entries {
			out = append(out, t.Group)
			if t.Escalate != nil {
				out = append(out, t.Escalate.Group)
			}
		}
	}
	add(r.Review)
	for _, rule := range r.Rules {
		add(rule.Requirements.Review)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// teamApprovals returns how many approvals the teams give together. Each is a different person's, so the numbers add up.
func teamApprovals(entries []TeamReview) int {
	n := 0
	for _, t := range entries {
		n += t.Approvals
	}
	return n
}

// mergeReview returns the stricter requirement of each team, in the order of their keys: the higher number, and the escalation
// only if both have it. A rule that names a team without an escalation ends the escalation of the policy.
func mergeReview(base, more []TeamReview) []TeamReview {
	if len(more) == 0 {
		return base
	}
	out := slices.Clone(base)
	for _, t := range more {
		i := slices.IndexFunc(out, func(o TeamReview) bool { return o.Group == t.Group })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].Approvals = max(out[i].Approvals, t.Approvals)
		out[i].Escalate = laterEscalation(out[i].Escalate, t.Escalate)
	}
	// Sorted, so that the order in which rules match has no effect on explanations.
	slices.SortFunc(out, func(a, b TeamReview) int { return cmp.Compare(a.Group, b.Group) })
	return out
}

// laterEscalation returns the later of two escalations to the same team, and none otherwise: without one, fewer people may approve,
// which is the stricter.
func laterEscalation(a, b *Escalation) *Escalation {
	if a == nil || b == nil || a.Group != b.Group {
		return nil
	}
	if a.AfterSeconds >= b.AfterSeconds {
		return a
	}
	return b
}

// checkReview checks what the schema cannot about the teams of requirements.
func checkReview(entries []TeamReview) []Violation {
	var out []Violation
	seen := map[string]bool{}
	for i, t := range entries {
		if seen[t.Group] {
			out = append(out, Violation{[]any{"review", i, "group"}, fmt.Sprintf("%q is listed twice; give one entry for each team", t.Group), "duplicate_name"})
		}
		seen[t.Group] = true
		if t.Escalate != nil && t.Escalate.Group == t.Group {
			out = append(out, Violation{[]any{"review", i, "escalate", "group"}, "an escalation must name a team other than the one that it escalates from", "value_error"})
		}
	}
	return out
}

// checkReviewers refuses policies whose teams and rules together could require more reviewers than a hold can have. All rules are
// assumed to match at once, because a rule can only add approvals.
func checkReviewers(r Requirements) []Violation {
	demands := make([]Stricter, len(r.Rules))
	for i, rule := range r.Rules {
		demands[i] = rule.Requirements
	}
	all := Merge(Requirements{Review: r.Review}, demands...)
	n := teamApprovals(all.Review)
	if n <= MaxReviewers {
		return nil
	}
	msg := fmt.Sprintf("the teams of review and of all rules could require %d approvals together; the limit is %d", n, MaxReviewers)
	return []Violation{{[]any{"review"}, msg, "too_many_reviewers"}}
}

// reqReview is the name of the teams in an explanation.
const reqReview = "review"

// explainReview appends the teams that a hold waits for or was approved by. The entry has no effect of its own: the requirements
// that hold the request have. An allowed or denied request waits for no team and has no entry.
func (e *evaluation) explainReview() {
	entries := e.in.Requirements.Review
	if len(entries) == 0 || e.worst() != Hold && !e.in.HoldApproved {
		return
	}
	parts := make([]string, len(entries))
	for i, t := range entries {
		parts[i] = t.String()
	}
	e.results = append(e.results, RequirementResult{
		Requirement: reqReview, Wanted: strings.Join(parts, "; "), Found: pick(e.in.HoldApproved, "approved by the reviewers", "not reviewed yet"),
		Passed: true, Effect: Allow,
	})
	e.codes = append(e.codes, nil)
}

// String returns the entry as explanations show it.
func (t TeamReview) String() string {
	out := fmt.Sprintf("%d of team %s", t.Approvals, t.Group)
	if t.Escalate != nil {
		out += fmt.Sprintf(", after %s of team %s as well", time.Duration(t.Escalate.AfterSeconds)*time.Second, t.Escalate.Group)
	}
	return out
}
