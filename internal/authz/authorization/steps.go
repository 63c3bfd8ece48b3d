package authorization

import (
	"time"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// addSteps adds what the hold requires in each step, and when it expires: after life, or after the time of all of its steps if that is longer.
// With a calendar all times count working time. A hold whose policy names no steps has no rows of steps.
func (d *decision) addSteps(life time.Duration, c *localtime.Calendar) {
	h, steps := d.row.Hold, d.requirements.Steps()
	h.DueAt = c.After(h.OpenedAt, life)
	if d.requirements.Review.Stepped() {
		for i, s := range steps {
			d.row.Steps = append(d.row.Steps, stepRow(*h, i, s))
		}
		openFirst(h, d.row.Steps, c)
	}
	h.RemindAt = c.Half(h.OpenedAt, h.DueAt)
	for i, s := range steps {
		for _, e := range s.Entries {
			if e.Group == "" && e.Approver == "" { // an entry for any reviewer is part of the number of the step
				continue
			}
			row := teamRow(*h, i, s.Step, e, c)
			if person, named := d.response.people[e.Approver]; named {
				row.Candidate = &person
			}
			d.row.Teams = append(d.row.Teams, row)
		}
	}
	h.TeamsRequired = len(d.row.Steps) + len(d.row.Teams)
}

// openFirst opens the first step with its hold.
func openFirst(h *models.Hold, steps []models.HoldStep, c *localtime.Calendar) {
	var all time.Duration
	for _, s := range steps {
		all += time.Duration(s.WithinSeconds) * time.Second
	}
	ends := h.DueAt
	if last := c.After(h.OpenedAt, all); last.After(ends) {
		ends = last
	}
	first := &steps[0]
	due := pg.StepDue(*first, h.OpenedAt, ends, c)
	first.OpenedAt, first.DueAt = &h.OpenedAt, &due
	h.EndsAt, h.DueAt = &ends, pg.HoldDue(*first, due, ends)
}

func stepRow(h models.Hold, position int, s policy.HoldStep) models.HoldStep {
	row := models.HoldStep{
		AuthorizationID: h.AuthorizationID, TenantID: h.TenantID, EnvironmentID: h.EnvironmentID, Step: position, Name: s.Name, Approvals: s.Approvals,
		WithinSeconds: s.WithinSeconds,
	}
	if s.OnTimeout.Group != "" {
		row.TimeoutTeam = &s.OnTimeout.Group
	}
	return row
}

// teamRow returns what a step requires of a team. The team of a timeout is one that each of the entries escalates to. An escalation counts from the
// opening of the step; one that would come after the hold is due never takes effect.
func teamRow(h models.Hold, position int, s policy.Step, e policy.ReviewEntry, c *localtime.Calendar) models.HoldTeam {
	row := models.HoldTeam{
		AuthorizationID: h.AuthorizationID, TenantID: h.TenantID, EnvironmentID: h.EnvironmentID, Team: e.Group, Step: position, Approvals: e.Needs(),
	}
	if e.Approver != "" {
		row.Team, row.FallbackTeam = models.ApproverPrefix+e.Approver, &e.Fallback
	}
	escalate := e.Escalate
	if s.OnTimeout.Group != "" && s.OnTimeout.Group != e.Group {
		escalate = &policy.Escalation{AfterSeconds: s.WithinSeconds, Group: s.OnTimeout.Group}
	}
	if escalate == nil {
		return row
	}
	row.EscalateTeam = &escalate.Group
	// The time is stored and not the delay: a later policy must not move the escalation of a hold that waits already.
	if position == 0 {
		at := c.After(h.OpenedAt, time.Duration(escalate.AfterSeconds)*time.Second)
		row.EscalateAt = &at
	} else {
		row.EscalateAfter = &escalate.AfterSeconds
	}
	return row
}
