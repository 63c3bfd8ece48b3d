package authorization

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"

	"github.com/countersign-dev/countersign/models"
)

// tallies returns the counts of decisions to read with the facts, in the order of counts.
func tallies(set *rules.Set, counts []rules.Count, now time.Time) []DecisionTally {
	out := make([]DecisionTally, len(counts))
	for i, c := range counts {
		out[i] = DecisionTally{Signal: c.Signal(), Action: c.Action, Decisions: c.Outcomes(), Since: c.Since(now), Most: set.Most(c), Unapproved: c.Unapproved}
	}
	return out
}

// vars returns what the rules know before the facts are read.
func (r *request) vars(force *action.InForce) rules.Vars {
	return rules.Vars{
		Context: r.Context, Resource: rules.Resource{Type: r.Resource.Type, ID: r.Resource.ID},
		Action: actionVars(force, force.Action.Mode), Audience: r.Audience, Environment: policy.EnvironmentKind(r.principal.Kind),
		Subject: rules.Subject{ID: r.Subject},
	}
}

func actionVars(force *action.InForce, mode models.ActionMode) rules.Action {
	return rules.Action{Key: force.Action.Key, Mode: string(mode), RiskClass: force.Action.RiskClass}
}

// counted returns the tallies that were read as the counts that rules know.
func counted(counts []rules.Count, tallied []int) map[rules.Count]int {
	out := make(map[rules.Count]int, len(tallied))
	for i, n := range tallied {
		if n != unknownTally {
			out[counts[i]] = n
		}
	}
	return out
}

func (s *Service) matched(ctx context.Context, in decisionInput, profile assurance.Profile, now time.Time) []policy.MatchedRule {
	set := in.force.Rules
	if set.Empty() {
		return nil
	}
	v := rules.Vars{
		Resource: rules.Resource{Type: in.base.ResourceType}, Action: actionVars(in.force, in.base.Mode), Audience: in.base.Audience,
		Environment: in.kind,
	}
	if in.request != nil {
		v = in.request.vars(in.force)
	}
	subject := in.facts.Subject
	v.Listed = in.lookup.Results()
	v.Assurance, v.Now, v.Counts = profile.Facts(), now, counted(in.counts, in.facts.Tallies)
	v.Aggregates = numbered(in.aggregates, in.facts.Numbers)
	v.Subject = rules.Subject{
		ID: subject.ExternalID, Enrollment: string(subject.Enrollment), CreatedAt: subject.CreatedAt, Passkeys: in.facts.Passkeys,
		RecentlyRecovered: subject.Capped(now),
	}
	if in.request == nil {
		if v.Again = in.again; in.again == rules.Recounted {
			v.Context, v.Resource.ID = in.kept.Request()
		}
		return described(set.MatchAgain(ctx, v, in.earlier), in.force.Display)
	}
	return described(set.Match(ctx, v), in.force.Display)
}

// described adds the labels of the details that a rule read. Values of the request are never part of an explanation: shown
// details are stored sealed, and others not at all.
func described(matches []rules.Match, plan display.Plan) []policy.MatchedRule {
	out := make([]policy.MatchedRule, len(matches))
	for i, m := range matches {
		out[i] = policy.MatchedRule{Rule: m.Rule, Found: m.Found, Totals: m.Totals, Failed: m.Failed}
		for _, path := range m.Context {
			out[i].Shown = append(out[i].Shown, plan.Labels(path)...)
		}
		if m.ResourceID {
			out[i].Shown = append(out[i].Shown, plan.ResourceLabels()...)
		}
	}
	return out
}

// earlierRules returns the rules that applied to a stored decision, from its explanation.
func earlierRules(explanation []byte) ([]rules.Earlier, error) {
	var results []policy.RequirementResult
	if err := json.Unmarshal(explanation, &results); err != nil {
		return nil, err
	}
	var out []rules.Earlier
	for _, r := range results {
		if name, is := strings.CutPrefix(r.Requirement, policy.RulePrefix); is {
			out = append(out, rules.Earlier{Name: name, Failed: rules.Unevaluated(r.Found)})
		}
	}
	return out, nil
}

// withShown adds the values of shown details and totals to a stored explanation, which has their labels. Without any it is returned
// as it was stored.
func withShown(explanation []byte, details []display.Detail) (json.RawMessage, error) {
	if len(details) == 0 || !bytes.Contains(explanation, []byte(`"shown"`)) {
		return explanation, nil
	}
	var results []policy.RequirementResult
	if err := json.Unmarshal(explanation, &results); err != nil {
		return nil, err
	}
	for _, r := range results {
		rule := strings.TrimPrefix(r.Requirement, policy.RulePrefix)
		for i, shown := range r.Shown {
			at := slices.IndexFunc(details, func(d display.Detail) bool { return d.Label == shown.Label || d.Label == totalOf(rule, shown.Label) })
			if at >= 0 {
				r.Shown[i].Value = details[at].Value
			}
		}
	}
	return json.Marshal(results)
}

// totalOf is the label by which a total is sealed: rules compare the same one with different limits.
func totalOf(rule, label string) string { return rule + ": " + label }
