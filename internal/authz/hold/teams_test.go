package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

// team inserts a team with credentials as its members.
func (b *bundle) team(key string, credentials ...string) {
	id := ids.New(ids.Team)
	b.Exec("insert into teams (id, tenant_id, environment_id, key, name, created_at, created_by) values ($1, $2, $3, $4, $4, $5, 'cli:test')",
		id, b.Scope.Tenant, b.Scope.Environment, key, now)
	for _, c := range credentials {
		b.AddCredential(c, "cli:test")
		b.member(key, "credential:"+c)
	}
}

func (b *bundle) member(key, actor string) {
	b.Exec(`insert into team_members (team_id, tenant_id, environment_id, member, added_at, added_by)
		select id, tenant_id, environment_id, $3, $4, 'cli:test' from teams where environment_id = $1 and key = $2`, b.Scope.Environment, key, actor, now)
}

// person inserts a reviewer of the console and returns who they are.
func (b *bundle) person(id string) identity.Principal {
	b.Exec("insert into people (id, tenant_id, name, created_at, created_by, confirmed_at) values ($1, $2, $1, $3, 'cli:test', $3)", id, b.Scope.Tenant, now)
	b.Exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ($1, $2, 'reviewer', $3, 'cli:test')",
		id, b.Scope.Environment, now)
	return identity.Principal{Person: id, TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
}

func (b *bundle) deputy(person, deputy string, from, until time.Duration) {
	b.Exec(`insert into deputies (id, tenant_id, environment_id, person_id, deputy_id, starts_at, ends_at, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`, ids.New(ids.Deputy), b.Scope.Tenant, b.Scope.Environment, person, deputy, now.Add(from), now.Add(until), now)
}

// absence makes prs_ann a member of the team finance who is absent, with prs_dan as her deputy.
func (b *bundle) absence(others ...string) (ann, dan identity.Principal) {
	ann, dan = b.person("prs_ann"), b.person("prs_dan")
	b.team("finance", others...)
	b.member("finance", "person:prs_ann")
	b.deputy("prs_ann", "prs_dan", -time.Hour, time.Hour)
	return ann, dan
}

// wants is one team that a hold requires.
type wants struct {
	team      string
	approvals int
	after     time.Duration // of the escalation
	to        string
}

// holdFor inserts a hold that requires teams.
func (b *bundle) holdFor(required int, teams ...wants) models.Hold {
	h := b.Hold(life, required)
	for _, w := range teams {
		var to *string
		var at *time.Time
		if w.to != "" {
			when := now.Add(w.after)
			to, at = &w.to, &when
		}
		b.Exec(`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals, escalate_team, escalate_at)
			values ($1, $2, $3, $4, $5, $6, $7)`, h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, w.team, w.approvals, to, at)
	}
	b.Exec("update holds set teams_required = $2 where authorization_id = $1", h.AuthorizationID, len(teams))
	return h
}

func (b *bundle) outsider(t *testing.T, p identity.Principal, h models.Hold) {
	t.Helper()
	_, err := b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
}

func TestEveryTeamMustApprove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann", "crd_bob")
	b.team("risk", "crd_cat")
	h := b.holdFor(2, wants{team: "finance", approvals: 1}, wants{team: "risk", approvals: 1})
	b.outsider(t, b.Principal("crd_dan"), h)
	require.Equal(t, models.HoldPending, b.approves(t, h, "crd_ann").Status)
	out := b.approves(t, h, "crd_bob")
	require.Equal(t, models.HoldPending, out.Status, "two of one team are not one of each")
	require.Equal(t, 1, out.Approvals)
	p, err := b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.NoError(t, err)
	require.Equal(t, []hold.Wanted{{Group: "finance", Approvals: 1, Given: 1}, {Group: "risk", Approvals: 1}}, p.Pending.Teams)
	out = b.approves(t, h, "crd_cat")
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, 2, out.Approvals)
}

func TestAnyReviewerMayRejectWhatTeamsMustApprove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	h := b.holdFor(1, wants{team: "finance", approvals: 1})
	out, err := b.service.Review(t.Context(), b.prepare(t, "crd_dan", h.AuthorizationID, hold.Reject))
	require.NoError(t, err)
	require.Equal(t, models.HoldRejected, out.Status)
}

// A member of two teams fills the slot that the others cannot.
func TestOnePersonFillsOneSlot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann", "crd_bob")
	b.team("risk", "crd_ann")
	h := b.holdFor(2, wants{team: "finance", approvals: 1}, wants{team: "risk", approvals: 1})
	require.Equal(t, models.HoldPending, b.approves(t, h, "crd_ann").Status, "one person is not both teams")
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_bob").Status, "Ann counts for risk, Bob for finance")
}

func TestKeysOfOneIssuerAreOneMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddCredential("crd_root", "cli:test")
	b.AddCredential("crd_one", "credential:crd_root")
	b.AddCredential("crd_two", "credential:crd_root")
	b.team("finance", "crd_one", "crd_two", "crd_ann")
	h := b.holdFor(2, wants{team: "finance", approvals: 2})
	b.approves(t, h, "crd_one")
	require.Equal(t, models.HoldPending, b.approves(t, h, "crd_two").Status)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_ann").Status)
}

func TestFurtherApprovalsNeedNoTeam(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	h := b.holdFor(2, wants{team: "finance", approvals: 1})
	require.Equal(t, models.HoldPending, b.approves(t, h, "crd_dan").Status, "the second approval may be any reviewer's")
	require.Equal(t, 1, b.approves(t, h, "crd_eve").Approvals, "but not the one of finance")
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_ann").Status)
}

func TestMembersWhoLeaveDoNotCount(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bundle){
		"left the team":   func(b *bundle) { b.Exec("delete from team_members where member = 'credential:crd_ann'") },
		"lost the access": func(b *bundle) { b.Exec("update credentials set revoked_at = $1 where id = 'crd_ann'", now) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.team("finance", "crd_ann", "crd_bob")
			b.team("risk", "crd_cat")
			h := b.holdFor(2, wants{team: "finance", approvals: 1}, wants{team: "risk", approvals: 1})
			b.approves(t, h, "crd_ann")
			leave(b)
			require.Equal(t, models.HoldPending, b.approves(t, h, "crd_cat").Status)
			require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_bob").Status)
		})
	}
}

func TestEscalationAdmitsASecondTeam(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	b.team("leads", "crd_lea")
	h := b.holdFor(1, wants{team: "finance", approvals: 1, after: time.Hour, to: "leads"})
	in, waiting, err := b.service.WorkflowInput(t.Context(), h.EnvironmentID, h.AuthorizationID)
	require.NoError(t, err)
	require.True(t, waiting)
	require.Equal(t, now.Add(time.Hour), in.EscalateAt)
	b.outsider(t, b.Principal("crd_lea"), h)

	at := func(d time.Duration) hold.Move {
		return hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(d), WorkflowID: "hold/x"}
	}
	out, err := b.service.Escalate(t.Context(), at(time.Hour-time.Microsecond))
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Hour), out.EscalateAt, "not yet")
	for range 2 {
		out, err = b.service.Escalate(t.Context(), at(time.Hour))
		require.NoError(t, err)
		require.Equal(t, models.HoldPending, out.Status, "time never approves")
		require.Zero(t, out.EscalateAt)
	}
	require.Equal(t, 1, b.Events("hold.escalated"))
	b.clock.Advance(time.Hour)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_lea").Status)
}

// The escalation takes effect at its time, however late its timer.
func TestEscalationDoesNotWaitForItsTimer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	b.team("leads", "crd_lea")
	h := b.holdFor(1, wants{team: "finance", approvals: 1, after: time.Hour, to: "leads"})
	b.clock.Advance(time.Hour)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_lea").Status)
	out, err := b.service.Escalate(t.Context(), hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: b.clock.Now(), WorkflowID: "hold/x"})
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
	require.Zero(t, b.Events("hold.escalated"), "a settled hold is not escalated")
}

func TestDeputyApprovesInThePlaceOfAnAbsentMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(b *bundle)
		may     bool
	}{
		"while the period lasts":       {func(*bundle) {}, true},
		"before the period":            {func(b *bundle) { b.Exec("update deputies set starts_at = $1", now.Add(time.Second)) }, false},
		"after the period":             {func(b *bundle) { b.Exec("update deputies set ends_at = $1", now) }, false},
		"of a person who was revoked":  {func(b *bundle) { b.Exec("update people set revoked_at = $1 where id = 'prs_ann'", now) }, false},
		"of a person without the role": {func(b *bundle) { b.Exec("delete from person_roles where person_id = 'prs_ann'") }, false},
		"of a person who left":         {func(b *bundle) { b.Exec("delete from team_members") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, dan := b.absence()
			c.prepare(b)
			h := b.holdFor(1, wants{team: "finance", approvals: 1})
			if !c.may {
				b.outsider(t, dan, h)
				return
			}
			require.Equal(t, models.HoldApproved, b.approvesAs(t, h, dan).Status)
		})
	}
}

func TestDeputyAndAbsentMemberAreOneApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, dan := b.absence("crd_cat")
	h := b.holdFor(2, wants{team: "finance", approvals: 2})
	require.Equal(t, 1, b.approvesAs(t, h, dan).Approvals)
	out := b.approvesAs(t, h, ann)
	require.Equal(t, models.HoldPending, out.Status)
	require.Equal(t, 1, out.Approvals, "Ann came back: her own approval replaces her deputy's")
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_cat").Status)
}

// What the requester may not approve, no deputy of theirs may.
func TestDeputyOfTheRequesterDoesNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, dan := b.absence()
	b.AddCredential(fixture.Asker, "person:prs_ann")
	h := b.holdFor(1, wants{team: "finance", approvals: 1})
	b.Exec("update holds set self_review_barred = true")
	b.outsider(t, dan, h)
	rows, _, err := b.service.Queue(t.Context(), dan, hold.Filter{}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.False(t, rows[0].Approvable)
}

func TestQueueShowsTheTeams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann", "crd_bob")
	b.team("risk", "crd_cat")
	h := b.holdFor(2, wants{team: "finance", approvals: 1}, wants{team: "risk", approvals: 1, after: time.Hour, to: "finance"})
	plain := b.Hold(life, 1)
	b.approves(t, h, "crd_ann")
	b.approves(t, h, "crd_bob")
	list := func(reviewer string) map[string]hold.Queued {
		rows, _, err := b.service.Queue(t.Context(), b.Principal(reviewer), hold.Filter{}, pg.Page{Limit: 10})
		require.NoError(t, err)
		out := map[string]hold.Queued{}
		for _, r := range rows {
			out[r.AuthorizationID] = r
		}
		return out
	}
	finance, at := "finance", "2026-03-01T10:00:00.000Z"
	got := list("crd_cat")
	require.Equal(t, []hold.Wanted{
		{Group: "finance", Approvals: 1, Given: 1}, {Group: "risk", Approvals: 1, EscalatesTo: &finance, EscalatesAt: &at},
	}, got[h.AuthorizationID].Teams)
	require.Equal(t, 1, got[h.AuthorizationID].Approvals)
	require.True(t, got[h.AuthorizationID].Approvable)
	require.Nil(t, got[plain.AuthorizationID].Teams)
	require.True(t, got[plain.AuthorizationID].Approvable)
	require.False(t, list("crd_dan")[h.AuthorizationID].Approvable)
	b.clock.Advance(time.Hour)
	require.Equal(t, 2, list("crd_cat")[h.AuthorizationID].Approvals, "Bob may approve for risk by now")
}

// A hold needs a reviewer who has not approved it and may fill one of its approvals: one of any reviewers', of a team of theirs or of an absent
// member's, or of one that it is escalated to.
func TestQueueOfHoldsThatNeedAReviewer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	b.team("leads", "crd_bob")
	anyone := b.Hold(life, 1).AuthorizationID
	finance := b.holdFor(1, wants{team: "finance", approvals: 1}).AuthorizationID
	both := b.holdFor(2, wants{team: "finance", approvals: 1}).AuthorizationID
	escalated := b.holdFor(1, wants{"finance", 1, time.Hour, "leads"}).AuthorizationID
	absent, deputy := b.person("prs_abe"), b.person("prs_dee")
	b.member("finance", absent.Actor())
	needs := func(p identity.Principal) []string {
		need, err := b.service.Need(t.Context(), p)
		require.NoError(t, err)
		rows, _, err := b.service.Queue(t.Context(), p, hold.Filter{Need: need}, pg.Page{Limit: 50})
		require.NoError(t, err)
		_, total, err := b.service.Position(t.Context(), b.Scope, hold.Filter{Need: need}, "")
		require.NoError(t, err)
		require.Len(t, rows, int(total))
		out := make([]string, len(rows))
		for i, r := range rows {
			out[i] = r.AuthorizationID
		}
		return out
	}
	require.ElementsMatch(t, []string{anyone, finance, both, escalated}, needs(b.Principal("crd_ann")))
	require.ElementsMatch(t, []string{anyone, both}, needs(b.Principal("crd_bob")), "finance only")
	require.ElementsMatch(t, []string{anyone, both}, needs(deputy))
	b.deputy("prs_abe", "prs_dee", -time.Hour, time.Hour)
	require.ElementsMatch(t, []string{anyone, finance, both, escalated}, needs(deputy), "in place of the absent member")
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", both, hold.Approve))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{anyone, finance, escalated}, needs(b.Principal("crd_ann")), "approved already")
	b.clock.Advance(time.Hour)
	require.ElementsMatch(t, []string{anyone, both, escalated}, needs(b.Principal("crd_bob")))
}
