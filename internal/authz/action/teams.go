package action

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// checkApprovers refuses requirements that name an approver by a property which the schema does not mark as one.
func checkApprovers(r policy.Requirements, schema []byte) error {
	named := slices.DeleteFunc(r.Approvers(), func(by string) bool { return by == policy.ManagerOfRequester })
	if len(named) == 0 {
		return nil
	}
	plan, err := people.Parse(schema)
	if err != nil {
		return err
	}
	var fields []problem.Field
	for _, by := range named {
		if plan.HasApprover(by) {
			continue
		}
		msg := fmt.Sprintf("review names the approver %q, and no property of context_schema of this name has %q: true; mark it, or correct the name", by, people.ApproverAnnotation)
		for _, loc := range placesOf(r, by) {
			fields = append(fields, problem.Field{Loc: append([]any{"body", "requirements"}, loc...), Msg: msg, Type: "unknown_approver"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return problem.InvalidFields(fields[:min(len(fields), maxFaults)])
}

// checkTeams refuses requirements that name a team which the environment does not have. The teams stay locked until the
// transaction ends, so that none is deleted before the version is stored or active.
func checkTeams(ctx context.Context, q *pg.Q, scope pg.Scope, r policy.Requirements) error {
	groups := r.Groups()
	if len(groups) == 0 {
		return nil
	}
	// One query for the policy and all of its rules.
	found, err := team.ByName(ctx, q, scope, groups)
	if err != nil {
		return err
	}
	var fields []problem.Field
	for _, group := range groups {
		if slices.ContainsFunc(found, func(t models.Team) bool { return t.Key == group }) {
			continue
		}
		msg := fmt.Sprintf("review names the team %q, which the environment does not have; create the team first, or correct its key", group)
		for _, loc := range placesOf(r, group) {
			fields = append(fields, problem.Field{Loc: append([]any{"body", "requirements"}, loc...), Msg: msg, Type: "unknown_team"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return problem.InvalidFields(fields[:min(len(fields), maxFaults)])
}

// placesOf returns where requirements name a team or an approver, relative to them, so that the response points at every place to correct.
func placesOf(r policy.Requirements, group string) [][]any {
	var out [][]any
	search := func(prefix []any, review policy.Review) {
		for n, step := range review {
			place := append(slices.Clone(prefix), "review")
			if review.Stepped() {
				place = append(place, "steps", n)
				if step.OnTimeout.Group == group {
					out = append(out, append(slices.Clone(place), "on_timeout", "group"))
				}
				place = append(place, "entries")
			}
			for i, e := range step.Entries {
				at := append(slices.Clone(place), i)
				if e.Group == group {
					out = append(out, append(slices.Clone(at), "group"))
				}
				if e.Fallback == group {
					out = append(out, append(slices.Clone(at), "fallback"))
				}
				if e.Approver == group {
					out = append(out, append(slices.Clone(at), "approver"))
				}
				if e.Escalate != nil && e.Escalate.Group == group {
					out = append(out, append(slices.Clone(at), "escalate", "group"))
				}
			}
		}
	}
	search(nil, r.Review)
	if r.BreakGlass != nil && r.BreakGlass.Group == group {
		out = append(out, []any{"break_glass", "group"})
	}
	for i, rule := range r.Rules {
		search([]any{"rules", i, "requirements"}, rule.Requirements.Review)
	}
	return out
}

// checkHours refuses requirements that count working hours in an environment without a calendar.
func checkHours(ctx context.Context, q *pg.Q, scope pg.Scope, r policy.Requirements) error {
	if r.Hours != policy.HoursWorking {
		return nil
	}
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil || tenancy.Calendar(env.Settings) != nil {
		return err
	}
	return problem.Invalid([]any{"body", "requirements", "hours"},
		"hours is working, and the environment has no calendar; set working_zone and working_hours in its settings first, or leave out hours", "no_calendar")
}

// needsMet refuses to activate a version that names a team which was deleted since the version was created, or counts working hours without a calendar: its
// holds could not be approved by anyone and would expire, or would expire earlier than their author meant.
func needsMet(ctx context.Context, q *pg.Q, scope pg.Scope, v models.PolicyVersion) error {
	contract, err := Contract(v)
	if err != nil {
		return err
	}
	if err = checkTeams(ctx, q, scope, contract.Requirements); err == nil {
		err = checkHours(ctx, q, scope, contract.Requirements)
	}
	if p := problem.As(err); p != nil && len(p.Fields) > 0 {
		return problem.Newf(problem.Conflict, "Policy version %d cannot be activated: %s.", v.Version, p.Fields[0].Msg)
	}
	return err
}
