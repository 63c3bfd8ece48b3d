package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// part is one step of a hold, with the teams that it requires.
type part struct {
	name      string
	approvals int
	within    time.Duration
	teams     []wants
}

// holdIn inserts a hold with steps.
func (b *bundle) holdIn(repeat bool, parts ...part) models.Hold {
	required, rows := 0, len(parts)
	for _, p := range parts {
		required, rows = required+p.approvals, rows+len(p.teams)
	}
	h := b.Hold(life, required)
	due := life
	if parts[0].within > 0 {
		due = parts[0].within
	}
	for i, p := range parts {
		var opened, until *time.Time
		if at := now.Add(due); i == 0 {
			opened, until = &now, &at
		}
		b.Exec(`insert into hold_steps (authorization_id, tenant_id, environment_id, step, name, approvals, within_seconds, opened_at, due_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, i, p.name, p.approvals, int64(p.within.Seconds()), opened, until)
		for _, w := range p.teams {
			b.Exec("insert into hold_teams (authorization_id, tenant_id, environment_id, step, team, approvals) values ($1, $2, $3, $4, $5, $6)",
				h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, i, w.team, w.approvals)
		}
	}
	b.Exec("update holds set teams_required = $2, ends_at = $3, due_at = $4, repeat_approvers = $5 where authorization_id = $1",
		h.AuthorizationID, rows, now.Add(life), now.Add(due), repeat)
	return h
}

func teamThenLead() []part {
	return []part{
		{name: "team", approvals: 1, within: time.Hour, teams: []wants{{team: "finance", approvals: 1}}},
		{name: "lead", approvals: 1, within: 2 * time.Hour, teams: []wants{{team: "leads", approvals: 1}}},
	}
}

func TestStepsOpenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	b.team("leads", "crd_bob")
	h := b.holdIn(false, teamThenLead()...)
	b.outsider(t, b.Principal("crd_bob"), h)
	b.clock.Advance(30 * time.Minute)
	out := b.approves(t, h, "crd_ann")
	require.Equal(t, models.HoldPending, out.Status)
	require.Equal(t, b.clock.Now().Add(2*time.Hour), out.DueAt, "the time of the second step begins with it")
	require.Equal(t, []int{1, 1}, []int{b.Events("hold.step_approved"), b.Events("hold.step_opened")})
	p, err := b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.NoError(t, err)
	require.Equal(t, []string{hold.StageApproved, hold.StageOpen}, []string{p.Pending.Steps[0].State, p.Pending.Steps[1].State}, "a repetition changes nothing")
	s, err := b.service.Standing(t.Context(), b.Principal("crd_bob"), h.AuthorizationID)
	require.NoError(t, err)
	require.Equal(t, "lead", s.Step)
	require.Empty(t, s.Obstacle)
	out = b.approves(t, h, "crd_bob")
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, 2, out.Approvals)
}

func TestStepExpiresTheHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	b.team("leads", "crd_bob")
	h := b.holdIn(false, teamThenLead()...)
	b.approves(t, h, "crd_ann")
	b.clock.Advance(2 * time.Hour)
	b.refused(t, "crd_bob", h.AuthorizationID, hold.Approve, problem.ReviewExpired)
	out, err := b.service.Expire(t.Context(), hold.Move{ID: h.AuthorizationID, Environment: h.EnvironmentID, At: b.clock.Now()})
	require.NoError(t, err)
	require.Equal(t, models.HoldExpired, out.Status)
}

func TestOnePersonApprovesOneStep(t *testing.T) {
	t.Parallel()
	for name, repeat := range map[string]bool{"usually": false, "unless the policy allows more": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.team("finance", "crd_ann")
			b.team("leads")
			b.member("leads", "credential:crd_ann")
			h := b.holdIn(repeat, teamThenLead()...)
			b.approves(t, h, "crd_ann")
			p, err := b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
			require.NoError(t, err)
			require.NotNil(t, p.Pending, "a repeated request does not approve the next step")
			p, err = b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve, Step: "lead"})
			if !repeat {
				require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
				return
			}
			require.NoError(t, err)
			out, err := b.service.Review(t.Context(), b.moved(t, p, h.AuthorizationID))
			require.NoError(t, err)
			require.Equal(t, models.HoldApproved, out.Status)
		})
	}
}

// An approval that was given for a step does not count for a later one that opened meanwhile.
func TestApprovalIsForTheStepThatWasOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann", "crd_bob")
	b.team("leads")
	b.member("leads", "credential:crd_bob")
	h := b.holdIn(false, teamThenLead()...)
	late := b.prepare(t, "crd_bob", h.AuthorizationID, hold.Approve)
	b.approves(t, h, "crd_ann")
	_, err := b.service.Review(t.Context(), late)
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	_, err = b.service.PrepareReview(t.Context(), b.Principal("crd_bob"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve, Step: "team"})
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_bob").Status)
}

// The times of a step of working hours are computed once, as it opens, by the calendar of then: a later calendar moves none.
func TestStepCountsWorkingHoursOfTheCalendarAsItOpens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hours     []string
		due, then time.Time // of the step, and of its escalation after 45 minutes
	}{
		"an hour a day": {
			[]string{"mon-fri 10:00-11:00"}, // in Kolkata, half an hour off
			time.Date(2026, 3, 3, 5, 30, 0, 0, time.UTC), time.Date(2026, 3, 2, 5, 15, 0, 0, time.UTC),
		},
		"no calendar, all hours": {nil, now.Add(2 * time.Hour), now.Add(45 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.team("finance", "crd_ann")
			b.team("leads", "crd_bob")
			calendar := func(hours ...string) {
				t.Helper()
				_, err := tenancy.New(b.Store, nil, b.clock, func(string) {}).UpdateSettings(t.Context(), b.Scope,
					tenancy.Settings{"working_zone": "Asia/Kolkata", "working_hours": hours}, "test", "")
				require.NoError(t, err)
			}
			calendar(c.hours...)
			h := b.holdIn(false, teamThenLead()...)
			b.Exec("update holds set working_hours = true where authorization_id = $1", h.AuthorizationID)
			b.Exec("update hold_teams set escalate_team = 'finance', escalate_after = 2700 where authorization_id = $1 and step = 1", h.AuthorizationID)
			out := b.approves(t, h, "crd_ann")
			require.Equal(t, c.due, out.DueAt)
			require.Equal(t, c.then, out.EscalateAt)
			calendar("sun 00:00-00:01")
			s, err := b.service.Standing(t.Context(), b.Principal("crd_bob"), h.AuthorizationID)
			require.NoError(t, err)
			require.Equal(t, apitime.Time(c.then), *s.Teams[0].EscalatesAt)
			require.Equal(t, apitime.Time(c.due), *s.Stages[1].DueAt)
		})
	}
}
