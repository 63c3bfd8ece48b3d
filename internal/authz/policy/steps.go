package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Review are the approvals that a hold requires, in steps: a step opens when the previous step is satisfied. A list of entries is the
// short form of one step without a name.
type Review []Step

// Step is one step of a review. Its approvals are given by different people.
type Step struct {
	Name    string        `json:"name"` // lower snake_case, unique in the policy; empty for the short form
	Entries []ReviewEntry `json:"entries"`
	// WithinSeconds is the time for the step from its opening, 60..2592000; zero: as long as the hold waits.
	WithinSeconds int64     `json:"within_seconds,omitzero"`
	OnTimeout     OnTimeout `json:"on_timeout,omitzero"`
}

// OnTimeout says how the hold goes on if a step is not satisfied in time. The zero value expires the hold. With a team, its members may give the
// missing approvals as well.
type OnTimeout struct{ Group string }

// expire is the form of the zero OnTimeout.
const expire = "expire"

// MarshalJSON returns "expire" or {"group": ...}.
func (o OnTimeout) MarshalJSON() ([]byte, error) {
	if o.Group == "" {
		return json.Marshal(expire)
	}
	return json.Marshal(map[string]string{"group": o.Group})
}

// UnmarshalJSON reads what MarshalJSON returns.
func (o *OnTimeout) UnmarshalJSON(raw []byte) error {
	var word string
	if json.Unmarshal(raw, &word) == nil && word == expire {
		*o = OnTimeout{}
		return nil
	}
	var group struct {
		Group string `json:"group"`
	}
	err := json.Unmarshal(raw, &group)
	o.Group = group.Group
	return err
}

// OneStep returns the review of one step without a name; nil for no entries.
func OneStep(entries ...ReviewEntry) Review {
	if len(entries) == 0 {
		return nil
	}
	return Review{{Entries: entries}}
}

// Stepped reports whether the review has steps with names.
func (r Review) Stepped() bool { return len(r) > 0 && r[0].Name != "" }

// OneOf returns the team of a review that requires one approval of it and nothing else.
func (r Review) OneOf() (team string, ok bool) {
	if len(r) != 1 || r.Stepped() || len(r[0].Entries) != 1 {
		return "", false
	}
	e := r[0].Entries[0]
	return e.Group, e.Approvals == 1 && e.Escalate == nil
}

// MarshalJSON returns the short form for a step without a name.
func (r Review) MarshalJSON() ([]byte, error) {
	if !r.Stepped() {
		entries := []ReviewEntry{}
		for _, s := range r {
			entries = append(entries, s.Entries...)
		}
		return json.Marshal(entries)
	}
	return json.Marshal(map[string][]Step{"steps": r})
}

// UnmarshalJSON reads either form.
func (r *Review) UnmarshalJSON(raw []byte) error {
	var entries []ReviewEntry
	if json.Unmarshal(raw, &entries) == nil {
		*r = OneStep(entries...)
		return nil
	}
	var form struct {
		Steps []Step `json:"steps"`
	}
	err := json.Unmarshal(raw, &form)
	*r = form.Steps
	return err
}

// Needs returns how many approvals the entries of the step require. Each is a different person's, so the numbers add up.
func (s Step) Needs() int {
	n := 0
	for _, e := range s.Entries {
		n += e.Needs()
	}
	return n
}

// Needs returns how many approvals all steps require.
func (r Review) Needs() int {
	n := 0
	for _, s := range r {
		n += s.Needs()
	}
	return n
}

// String returns the review as explanations show it.
func (r Review) String() string {
	if !r.Stepped() {
		var all []ReviewEntry
		for _, s := range r {
			all = append(all, s.Entries...)
		}
		return joinEntries(all)
	}
	parts := make([]string, len(r))
	for i, s := range r {
		parts[i] = s.String()
	}
	return strings.Join(parts, ", then ")
}

// String returns the step as explanations show it.
func (s Step) String() string {
	out := "step " + s.Name + ": " + joinEntries(s.Entries)
	within := time.Duration(s.WithinSeconds) * time.Second
	switch {
	case s.OnTimeout.Group != "":
		out += fmt.Sprintf(", after %s of team %s as well", within, s.OnTimeout.Group)
	case s.WithinSeconds > 0:
		out += fmt.Sprintf(", within %s", within)
	}
	return out
}

// mergeReview returns the steps of both, the stricter of those with the same name. It keeps the order of either, and orders steps that neither
// orders by name, so that the order in which rules match has no effect.
func mergeReview(base, more Review) Review {
	if len(more) == 0 {
		return base
	}
	all := slices.Clone(base)
	for _, s := range more {
		i := slices.IndexFunc(all, func(o Step) bool { return o.Name == s.Name })
		if i < 0 {
			s.Entries = mergeEntries(nil, s.Entries)
			all = append(all, s)
			continue
		}
		all[i] = stricterStep(all[i], s)
	}
	return all
}

// stricterStep merges two steps with one name: entries as mergeEntries does, the shorter time, and the team of on_timeout only if both name it.
func stricterStep(a, b Step) Step {
	out := Step{Name: a.Name, Entries: mergeEntries(a.Entries, b.Entries), WithinSeconds: smaller(a.WithinSeconds, b.WithinSeconds)}
	if a.OnTimeout == b.OnTimeout {
		out.OnTimeout = a.OnTimeout
	}
	return out
}

// inOrder returns the steps so that each of the given orders is kept, as far as they agree, and the first by name wherever none decides.
func inOrder(steps Review, orders ...Review) Review {
	var out Review
	left := slices.SortedFunc(slices.Values(steps), func(a, b Step) int { return strings.Compare(a.Name, b.Name) })
	placed := func(name string) bool { return slices.ContainsFunc(out, func(s Step) bool { return s.Name == name }) }
	for len(left) > 0 {
		next := max(slices.IndexFunc(left, func(s Step) bool { return firstOf(orders, s.Name, placed) }), 0)
		out, left = append(out, left[next]), slices.Delete(left, next, next+1)
	}
	return out
}

// firstOf reports whether every step before the named one, in each order that has it, is placed.
func firstOf(orders []Review, name string, placed func(string) bool) bool {
	for _, order := range orders {
		at := slices.IndexFunc(order, func(s Step) bool { return s.Name == name })
		for _, before := range order[:max(at, 0)] {
			if !placed(before.Name) {
				return false
			}
		}
	}
	return true
}

// Steps returns the steps of a hold with the number of approvals of each, at least one step with one approval. approvals_required counts all
// approvals: what the entries leave is for any reviewer, in the last step.
func (r Requirements) Steps() []HoldStep {
	steps := r.Review
	if len(steps) == 0 {
		steps = Review{{}}
	}
	out := make([]HoldStep, len(steps))
	for i, s := range steps {
		out[i] = HoldStep{s, s.Needs()}
	}
	out[len(out)-1].Approvals += r.Approvals() - r.Review.Needs()
	return out
}

// HoldStep is a step of a hold. Approvals are those of its entries, and further ones of any reviewer.
type HoldStep struct {
	Step
	Approvals int
}

// checkReview checks what the schema cannot about the review of requirements.
func checkReview(review Review) []Violation {
	var out []Violation
	names := map[string]bool{}
	for i, s := range review {
		at := []any{"review"}
		if review.Stepped() {
			at = append(at, "steps", i, "entries")
		}
		if names[s.Name] {
			out = append(out, Violation{[]any{"review", "steps", i, "name"}, fmt.Sprintf("%q names two steps; each needs a name of its own", s.Name), "duplicate_name"})
		}
		names[s.Name] = true
		if s.OnTimeout.Group != "" && s.WithinSeconds == 0 {
			out = append(out, Violation{[]any{"review", "steps", i, "on_timeout"}, "a team on a timeout needs within_seconds, the time after which it may approve as well", "missing"})
		}
		out = append(out, checkEntries(s, at)...)
	}
	return out
}

// checkEntries checks the entries of a step, which are at a place of the requirements.
func checkEntries(s Step, at []any) []Violation {
	var out []Violation
	wrong := func(kind, msg string, place ...any) {
		out = append(out, Violation{append(slices.Clone(at), place...), msg, kind})
	}
	seen := map[string]bool{}
	for i, e := range s.Entries {
		switch {
		case seen[e.key()] && e.Approver != "":
			wrong("duplicate_name", fmt.Sprintf("%q is listed twice, and one person approves once", e.Approver), i, "approver")
		case seen[e.key()] && e.Group == "":
			wrong("duplicate_name", "two entries are for any reviewer; give one with the sum of their approvals", i)
		case seen[e.key()]:
			wrong("duplicate_name", fmt.Sprintf("%q is listed twice; give one entry for each team", e.Group), i, "group")
		}
		seen[e.key()] = true
		for _, v := range checkApprover(e) {
			wrong(v.Type, v.Msg, append([]any{i}, v.Loc...)...)
		}
		switch {
		case e.Escalate == nil:
		case e.key() == "":
			wrong("value_error", "an entry for any reviewer has no one to escalate to; leave out escalate", i, "escalate")
		case e.Escalate.Group == e.Group:
			wrong("value_error", "an escalation must name a team other than the one that it escalates from", i, "escalate", "group")
		case s.OnTimeout.Group != "":
			wrong("value_error", "the step has a team in on_timeout, which may approve after within_seconds; leave out one of the two", i, "escalate")
		}
	}
	return out
}

// checkApprover checks an entry that names a person, or a fallback; places are relative to the entry.
func checkApprover(e ReviewEntry) []Violation {
	switch {
	case e.Approver == "" && e.Fallback != "":
		return []Violation{{[]any{"fallback"}, "a fallback stands in for an approver; give approver, or leave out fallback", "value_error"}}
	case e.Approver == "":
		return nil
	case e.Group != "":
		return []Violation{{[]any{"approver"}, "an entry is for a team or for one person; give the other in an entry of its own", "value_error"}}
	case e.Fallback == "":
		return []Violation{{[]any{"fallback"}, "an approver may be unknown or lose their authority; name the team that approves then", "missing"}}
	case e.Approvals > 1:
		return []Violation{{[]any{"approvals"}, "one person approves once; leave out approvals", "value_error"}}
	default:
		return nil
	}
}

// checkReviewers refuses policies whose review and rules together could require more reviewers than a hold can have. All rules are
// assumed to match at once, because a rule can only add approvals.
func checkReviewers(r Requirements) []Violation {
	reviews, wrong := []Review{r.Review}, func(kind, format string, args ...any) []Violation {
		return []Violation{{[]any{"review"}, fmt.Sprintf(format, args...), kind}}
	}
	demands := make([]Stricter, len(r.Rules))
	for i, rule := range r.Rules {
		demands[i] = rule.Requirements
		reviews = append(reviews, rule.Requirements.Review)
	}
	stepped := slices.ContainsFunc(reviews, Review.Stepped)
	if stepped && slices.ContainsFunc(reviews, func(v Review) bool { return len(v) > 0 && !v.Stepped() }) {
		return wrong("value_error", "the policy and its rules mix lists and steps; give every review as steps")
	}
	all := Merge(Requirements{Review: r.Review}, demands...).Review
	if len(all) > MaxSteps {
		return wrong("too_many_steps", "the review and all rules could require %d steps together; the limit is %d", len(all), MaxSteps)
	}
	for _, s := range all {
		if n := s.Needs(); n > MaxReviewers && s.Name == "" {
			return wrong("too_many_reviewers", "the teams of review and of all rules could require %d approvals together; the limit is %d", n, MaxReviewers)
		} else if n > MaxReviewers {
			return wrong("too_many_reviewers", "the step %q could require %d approvals, with those of all rules; the limit of a step is %d", s.Name, n, MaxReviewers)
		}
	}
	if name, ok := outOfOrder(all, reviews); ok {
		return wrong("step_order", "the policy and its rules list the step %q in different orders; list steps in the same order everywhere", name)
	}
	if !stepped {
		return nil
	}
	return checkApprovalsRequired(r)
}

// outOfOrder returns a step that stands elsewhere than in one of the orders.
func outOfOrder(all Review, orders []Review) (string, bool) {
	for _, order := range orders {
		last := -1
		for _, s := range order {
			at := slices.IndexFunc(all, func(o Step) bool { return o.Name == s.Name })
			if at < last {
				return s.Name, true
			}
			last = at
		}
	}
	return "", false
}

// checkApprovalsRequired refuses approvals_required above the sum of the steps: no step would say who gives the rest. The steps are fewest
// with one review alone, beside that of the policy.
func checkApprovalsRequired(r Requirements) []Violation {
	sources := []Stricter{{ApprovalsRequired: r.ApprovalsRequired}}
	for _, rule := range r.Rules {
		sources = append(sources, rule.Requirements)
	}
	for i, source := range sources {
		for _, least := range sources {
			steps := Merge(Requirements{Review: r.Review}, source, least).Review
			if len(steps) == 0 || source.ApprovalsRequired <= steps.Needs() {
				continue
			}
			loc := []any{"approvals_required"}
			if i > 0 {
				loc = append([]any{"rules", i - 1, "requirements"}, loc...)
			}
			msg := fmt.Sprintf("approvals_required is %d and the steps have %d approvals together; add the rest as entries of a step", source.ApprovalsRequired, steps.Needs())
			return []Violation{{loc, msg, "value_error"}}
		}
	}
	return nil
}
