package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// manages records who manages a person.
func (b *bundle) manages(manager, person string) {
	b.Exec("insert into person_positions (person_id, tenant_id, manager_id, changed_at) values ($1, $2, $3, $4)", person, b.Scope.Tenant, manager, now)
}

func TestApproverOfAStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, p := range []string{"prs_ann", "prs_bob", "prs_cat", "prs_eve"} {
		b.person(p)
	}
	b.Exec("delete from person_roles where person_id = 'prs_eve'")
	b.manages("prs_bob", "prs_ann")
	b.manages("prs_cat", "prs_bob")
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		by        string
		candidate *string
		requester string
		barred    bool
		person    string
		why       string
	}{
		"named":                          {by: "context.owner", candidate: text("prs_bob"), person: "prs_bob"},
		"manager":                        {by: policy.ManagerOfRequester, requester: "prs_ann", person: "prs_bob"},
		"left out":                       {by: "context.owner", why: reason.ApproverNotNamed},
		"unknown":                        {by: "context.owner", candidate: text(""), why: reason.ApproverUnknown},
		"unknown requester":              {by: policy.ManagerOfRequester, why: reason.RequesterUnknown},
		"no manager":                     {by: policy.ManagerOfRequester, requester: "prs_cat", why: reason.ApproverUnknown},
		"the requester":                  {by: "context.owner", candidate: text("prs_ann"), requester: "prs_ann", why: reason.ApproverIsRequester},
		"reports to the requester":       {by: "context.owner", candidate: text("prs_ann"), requester: "prs_cat", barred: true, why: reason.ApproverReportsToRequester},
		"reports, and it is not barred":  {by: "context.owner", candidate: text("prs_ann"), requester: "prs_cat", person: "prs_ann"},
		"above the requester":            {by: "context.owner", candidate: text("prs_cat"), requester: "prs_ann", barred: true, person: "prs_cat"},
		"no reviewer of the environment": {by: "context.owner", candidate: text("prs_eve"), why: reason.ApproverWithoutAuthority},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := models.Hold{TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment, SelfReviewBarred: c.barred}
			if c.requester != "" {
				h.RequesterPerson = &c.requester
			}
			rows := []models.HoldTeam{{Team: "finance"}, {Team: models.ApproverPrefix + c.by, Candidate: c.candidate, FallbackTeam: text("board")}}
			require.NoError(t, hold.FixApprovers(t.Context(), b.Store.Q, h, rows, 0))
			require.Empty(t, rows[0].Fixed(), "a team names no one")
			want := c.by + ": " + c.person
			if c.why != "" {
				want = c.by + ": team board (" + c.why + ")"
			}
			require.Equal(t, want, rows[1].Fixed())
		})
	}
}

// ownedHold inserts a hold whose first step is for the team finance and whose second for prs_bob, with the team board as fallback.
func (b *bundle) ownedHold() models.Hold {
	b.team("finance", "crd_ann")
	b.team("board", "crd_cat")
	h := b.holdIn(false, part{name: "team", approvals: 1, teams: []wants{{team: "finance", approvals: 1}}}, part{name: "owner", approvals: 1})
	b.Exec(`insert into hold_teams (authorization_id, tenant_id, environment_id, step, team, approvals, candidate, fallback_team)
		values ($1, $2, $3, 1, '@context.owner', 1, 'prs_bob', 'board')`, h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment)
	b.Exec("update holds set teams_required = teams_required + 1 where authorization_id = $1", h.AuthorizationID)
	return h
}

func (b *bundle) approveAs(t *testing.T, p identity.Principal, h models.Hold) (hold.Outcome, error) {
	t.Helper()
	v, err := b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	if err != nil {
		return hold.Outcome{}, err
	}
	require.NotEmpty(t, v.Request)
	return b.service.Review(t.Context(), b.moved(t, v, h.AuthorizationID))
}

func TestNamedApproverApproves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bob, dan := b.person("prs_bob"), b.person("prs_dan")
	h := b.ownedHold()
	_, err := b.approveAs(t, b.Principal("crd_ann"), h)
	require.NoError(t, err)
	require.Equal(t, 1, b.Count("select count(*) from hold_teams where step = 1 and person = 'prs_bob' and fallback_reason is null"))
	require.Equal(t, 1, b.Count(`select count(*) from events where type = 'hold.step_opened' and data->'approvers'->>0 = 'context.owner: prs_bob'`))
	b.refused(t, "crd_cat", h.AuthorizationID, hold.Approve, problem.Forbidden)
	for who, needs := range map[string]bool{"prs_bob": true, "prs_dan": false} {
		p := identity.Principal{Person: who, TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
		need, err := b.service.Need(t.Context(), p)
		require.NoError(t, err)
		rows, _, err := b.service.Queue(t.Context(), p, hold.Filter{Need: need}, pg.Page{Limit: 10})
		require.NoError(t, err)
		require.Equal(t, needs, len(rows) == 1, who)
		s, err := b.service.Standing(t.Context(), p, h.AuthorizationID)
		require.NoError(t, err)
		require.Equal(t, needs, s.Obstacle == "", who)
	}
	b.deputy("prs_bob", "prs_dan", -time.Hour, time.Hour)
	_, err = b.service.PrepareReview(t.Context(), dan, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.NoError(t, err, "the deputy of an absent approver")
	out, err := b.approveAs(t, bob, h)
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
}

func TestFallbackTeamApprovesOnceTheApproverLosesAuthority(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bob := b.person("prs_bob")
	h := b.ownedHold()
	_, err := b.approveAs(t, b.Principal("crd_ann"), h)
	require.NoError(t, err)
	b.Exec("delete from person_roles where person_id = 'prs_bob'")
	s, err := b.service.Standing(t.Context(), b.Principal("crd_cat"), h.AuthorizationID)
	require.NoError(t, err)
	require.Empty(t, s.Obstacle)
	require.Equal(t, reason.ApproverWithoutAuthority, *s.Teams[0].Approver.Reason)
	_, err = b.approveAs(t, bob, h)
	require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
	out, err := b.approveAs(t, b.Principal("crd_cat"), h)
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
}
