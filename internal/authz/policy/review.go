package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxReviewers is the maximum of approvals_required, and of the approvals of one step. MaxSteps is the maximum number of steps.
const (
	MaxReviewers = 5
	MaxSteps     = 5
)

// ReviewEntry requires approvals of a hold: by members of a team, by one person, or by any reviewer. Every entry of a step must be met,
// each approval by a different person.
type ReviewEntry struct {
	Group     string      `json:"group,omitempty"`    // the key of a team of the environment; empty for any reviewer, or if Approver is given
	Approvals int         `json:"approvals,omitzero"` // 1..MaxReviewers; omitted is 1
	Escalate  *Escalation `json:"escalate,omitempty"`
	// Approver names the one person who approves: ManagerOfRequester, or a property of the context, such as context.cost_centre_owner. Members of
	// Fallback approve if no such person may. Both or neither are given, and only in a step.
	Approver string `json:"approver,omitempty"`
	Fallback string `json:"fallback,omitempty"`
}

// ManagerOfRequester is the approver who manages the person who requests.
const ManagerOfRequester = "manager_of_requester"

// Needs returns how many approvals the entry requires.
func (e ReviewEntry) Needs() int { return max(e.Approvals, 1) }

// key identifies what two entries of a step must share to be one.
func (e ReviewEntry) key() string {
	if e.Approver != "" {
		return "@" + e.Approver // no key of a team
	}
	return e.Group
}

// Escalation lets the members of a second team give the approvals of the first as well, once the step has waited. It never
// approves and never removes a requirement.
type Escalation struct {
	AfterSeconds int64  `json:"after_seconds"` // from the opening of the step, 60..2592000
	Group        string `json:"group"`
}

// Groups returns the keys of the teams that the requirements and their rules name, each once. The caller checks that they exist:
// this package reads no store.
func (r Requirements) Groups() []string {
	var out []string
	add := func(named Review) {
		for _, step := range named {
			out = append(out, step.OnTimeout.Group)
			for _, e := range step.Entries {
				out = append(out, e.Group, e.Fallback)
				if e.Escalate != nil {
					out = append(out, e.Escalate.Group)
				}
			}
		}
	}
	add(r.Review)
	if r.BreakGlass != nil {
		out = append(out, r.BreakGlass.Group)
	}
	for _, rule := range r.Rules {
		add(rule.Requirements.Review)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(key string) bool { return key == "" })
}

// Approvers returns the approvers that the requirements and their rules name, each once.
func (r Requirements) Approvers() []string {
	var out []string
	add := func(review Review) {
		for _, step := range review {
			for _, e := range step.Entries {
				if e.Approver != "" && !slices.Contains(out, e.Approver) {
					out = append(out, e.Approver)
				}
			}
		}
	}
	add(r.Review)
	for _, rule := range r.Rules {
		add(rule.Requirements.Review)
	}
	return out
}

// mergeEntries returns the stricter of each entry, in the order of their keys: the higher number, and the escalation
// only if both have it. A rule that names a team without an escalation ends the escalation of the policy.
func mergeEntries(base, more []ReviewEntry) []ReviewEntry {
	out := slices.Clone(base)
	for _, e := range more {
		i := slices.IndexFunc(out, func(o ReviewEntry) bool { return o.key() == e.key() })
		if i < 0 {
			out = append(out, e)
			continue
		}
		out[i].Approvals = max(out[i].Approvals, e.Approvals)
		out[i].Escalate = laterEscalation(out[i].Escalate, e.Escalate)
		// The policy's own comes first: which of two teams is the stricter fallback is not known.
		out[i].Fallback = cmp.Or(out[i].Fallback, e.Fallback)
	}
	// Sorted, so that the order in which rules match has no effect on explanations.
	slices.SortFunc(out, func(a, b ReviewEntry) int { return cmp.Compare(a.key(), b.key()) })
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

// reqReview is the name of the approvals in an explanation.
const reqReview = "review"

// explainReview appends the approvals that a hold waits for or was approved by. The entry has no effect of its own: the requirements
// that hold the request have. An allowed or denied request waits for no one and has no entry.
func (e *evaluation) explainReview() {
	review := e.in.Requirements.Review
	if len(review) == 0 || e.worst() != Hold && !e.in.HoldApproved {
		return
	}
	e.results = append(e.results, RequirementResult{
		Requirement: reqReview, Wanted: review.String() + e.in.Requirements.Hours.words(), Found: foundReview(e.in), Passed: true, Effect: Allow,
	})
	e.codes = append(e.codes, nil)
}

// words returns what the explanation of a review says about hours; empty for all hours.
func (h Hours) words() string {
	if h != HoursWorking {
		return ""
	}
	return "; times count working hours"
}

func foundReview(in Input) string {
	switch {
	case in.BreakGlass:
		return "approved by one person alone (break-glass)"
	case in.HoldApproved:
		return "approved by the reviewers"
	default:
		return "not reviewed yet"
	}
}

// String returns the entry as explanations show it.
func (e ReviewEntry) String() string {
	out := fmt.Sprintf("%d of any reviewer", e.Needs())
	if e.Group != "" {
		out = fmt.Sprintf("%d of team %s", e.Needs(), e.Group)
	}
	if e.Approver != "" {
		out = fmt.Sprintf("%s, or 1 of team %s", e.Approver, e.Fallback)
	}
	if e.Escalate != nil {
		out += fmt.Sprintf(", after %s of team %s as well", time.Duration(e.Escalate.AfterSeconds)*time.Second, e.Escalate.Group)
	}
	return out
}

// joinEntries returns entries as explanations show them.
func joinEntries(entries []ReviewEntry) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.String()
	}
	return strings.Join(parts, "; ")
}
