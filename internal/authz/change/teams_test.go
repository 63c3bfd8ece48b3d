package change_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// reviewer inserts a key that may review, and returns it as a member of a team.
func (b *bundle) reviewer(id string) string {
	b.AddCredential(id, "cli:test")
	return "credential:" + id
}

// requester is the author of changes that bob approves.
func (b *bundle) requester() change.By {
	b.admin("crd_cat", "cli:test")
	return change.By{Actor: "credential:crd_cat", RequestID: "req_1"}
}

// team inserts a team without a second approver.
func (b *bundle) team(t *testing.T, key string, members ...string) models.Team {
	t.Helper()
	b.Exec("update environments set second_approver_required = false")
	made, err := b.teams.Create(t.Context(), b.Scope, team.By{Actor: "cli:test"}, team.Draft{Key: key, Name: key, Members: members})
	require.NoError(t, err)
	b.Exec("update environments set second_approver_required = true")
	return made.Team
}

func (b *bundle) members(t *testing.T, id string) []string {
	t.Helper()
	view, err := b.teams.Get(t.Context(), b.Scope, id)
	require.NoError(t, err)
	out := []string{}
	for _, m := range view.Members {
		out = append(out, m.Actor)
	}
	return out
}

func TestChangesOfTeamsWaitForASecondApprover(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by, rob, sue := b.requester(), b.reviewer("crd_rob"), b.reviewer("crd_sue")
	draft := team.Draft{Key: "finance", Name: "Finance", Members: []string{rob}}
	made, err := b.service.CreateTeam(t.Context(), b.Scope, by, draft)
	require.NoError(t, err)
	require.Equal(t, models.ChangeTeamCreate, made.Requested.Kind)
	require.Equal(t, "finance", made.Requested.Team)
	require.Zero(t, b.Count("select count(*) from teams"))
	again, err := b.service.CreateTeam(t.Context(), b.Scope, by, draft)
	require.NoError(t, err)
	require.Equal(t, made.Requested.ID, again.Requested.ID, "a repetition is the same change request")
	b.approve(t, made.Requested.ID)
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'team.created' and actor = 'credential:crd_bob'"))

	teams, _, err := b.teams.List(t.Context(), b.Scope, pg.Page{Limit: 10})
	require.NoError(t, err)
	id := teams[0].ID
	same, err := b.service.UpdateTeam(t.Context(), b.Scope, by, id, team.Update{Add: []string{rob}})
	require.NoError(t, err)
	require.Nil(t, same.Requested, "nothing changes")
	updated, err := b.service.UpdateTeam(t.Context(), b.Scope, by, id, team.Update{Add: []string{sue}})
	require.NoError(t, err)
	require.Equal(t, []string{rob}, b.members(t, id))
	require.Len(t, updated.Requested.Differences, 1)
	require.JSONEq(t, `["credential:crd_rob","credential:crd_sue"]`, string(updated.Requested.Differences[0].After))
	b.approve(t, updated.Requested.ID)
	require.Equal(t, []string{rob, sue}, b.members(t, id))

	deleted, err := b.service.DeleteTeam(t.Context(), b.Scope, by, id)
	require.NoError(t, err)
	require.Equal(t, "finance", deleted.Requested.Team)
	require.Equal(t, 1, b.Count("select count(*) from teams"))
	b.approve(t, deleted.Requested.ID)
	require.Zero(t, b.Count("select count(*) from teams"))
}

// approve approves a change request as bob, who did not request it.
func (b *bundle) approve(t *testing.T, id string) change.Outcome {
	t.Helper()
	out, err := b.service.Decide(t.Context(), change.Move{Environment: b.bob.EnvironmentID, ID: id, Resolution: change.Approve, Actor: b.bob.Actor(), At: b.clock.Now()})
	require.NoError(t, err)
	return out
}

// What cannot be made is refused when it is requested, and superseded if it became impossible since.
func TestChangesOfTeamsAreCheckedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by, rob, sue := b.requester(), b.reviewer("crd_rob"), b.reviewer("crd_sue")
	_, err := b.service.CreateTeam(t.Context(), b.Scope, by, team.Draft{Key: "risk", Name: "Risk", Members: []string{"person:prs_nil"}})
	require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
	_, err = b.service.DeleteTeam(t.Context(), b.Scope, by, "tem_nil")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)

	for name, c := range map[string]struct {
		request func(id string) (*change.View, error)
		since   func(id string)
	}{
		"a key that was taken": {
			func(string) (*change.View, error) {
				made, err := b.service.CreateTeam(t.Context(), b.Scope, by, team.Draft{Key: "taken", Name: "Taken"})
				return made.Requested, err
			},
			func(string) { b.team(t, "taken") },
		},
		"members that changed": {
			func(id string) (*change.View, error) {
				made, err := b.service.UpdateTeam(t.Context(), b.Scope, by, id, team.Update{Add: []string{sue}})
				return made.Requested, err
			},
			func(id string) { b.Exec("delete from team_members where team_id = $1", id) },
		},
		"a new member who lost the right": {
			func(id string) (*change.View, error) {
				made, err := b.service.UpdateTeam(t.Context(), b.Scope, by, id, team.Update{Add: []string{b.reviewer("crd_tim")}})
				return made.Requested, err
			},
			func(string) { b.Exec("update credentials set revoked_at = $1 where id = 'crd_tim'", now) },
		},
		"a team that was deleted": {
			func(id string) (*change.View, error) {
				made, err := b.service.UpdateTeam(t.Context(), b.Scope, by, id, team.Update{Members: &[]string{}})
				return made.Requested, err
			},
			func(id string) { b.Exec("delete from teams where id = $1", id) },
		},
		"a team that is required now": {
			func(id string) (*change.View, error) {
				made, err := b.service.DeleteTeam(t.Context(), b.Scope, by, id)
				return made.Requested, err
			},
			func(id string) {
				h := b.Hold(life, 1)
				b.Exec(`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals)
					select $1, tenant_id, environment_id, key, 1 from teams where id = $2`, h.AuthorizationID, id)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := b.team(t, strings.ReplaceAll(strings.ToLower(name), " ", "_"), rob).ID
			requested, err := c.request(id)
			require.NoError(t, err)
			require.NotNil(t, requested)
			c.since(id)
			require.Equal(t, models.ChangeSuperseded, b.approve(t, requested.ID).Status)
		})
	}
}
