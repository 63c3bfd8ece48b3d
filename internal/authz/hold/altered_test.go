package hold_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Who can write to the database cannot approve a hold: an approval is refused while a review that counts with it was inserted, altered or copied
// by SQL, or what the hold requires was altered, whether that was before the request or between the request and the move.
func TestAlteredHoldsAreNotApproved(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"inserted": `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at)
			values (@hold, @environment, 'credential:crd_bob', 'credential:crd_bob', 'approve', now())`,
		"inserted with the MAC of another": `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at, row_mac)
			select authorization_id, environment_id, 'credential:crd_bob', 'credential:crd_bob', resolution, at, row_mac from reviews where authorization_id = @hold`,
		"principal":           "update reviews set principal = 'credential:crd_bob' where authorization_id = @hold",
		"reviewer":            "update reviews set reviewer = 'credential:crd_bob' where authorization_id = @hold",
		"time":                "update reviews set at = at - interval '1 second' where authorization_id = @hold",
		"approvals required":  "update holds set approvals_required = 2 where authorization_id = @hold",
		"due later":           "update holds set due_at = due_at + interval '1 day' where authorization_id = @hold",
		"team deleted":        "delete from hold_teams where authorization_id = @hold",
		"team":                "update hold_teams set team = 'friends' where authorization_id = @hold",
		"approvals of a team": "update hold_teams set approvals = 2 where authorization_id = @hold",
		"escalation":          "update hold_teams set escalate_team = 'friends', escalate_at = now() where authorization_id = @hold",
		"copied from another hold": `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at, row_mac)
			select @hold, environment_id, reviewer, principal, resolution, at, row_mac from reviews where authorization_id = @other`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			h, other := b.holdFor(3, wants{team: "dual", approvals: 1}), b.Hold(life, 3)
			b.approves(t, h, "crd_ann")
			b.approves(t, other, "crd_bob")
			approval, rejection := b.prepare(t, "crd_cat", h.AuthorizationID, hold.Approve), b.prepare(t, "crd_dan", h.AuthorizationID, hold.Reject)
			eve := b.Principal("crd_eve")
			b.tamper(t, alter, h, other)

			var altered *pg.Altered
			_, err := b.service.Review(t.Context(), approval)
			require.ErrorAs(t, err, &altered)
			require.Contains(t, alter, " "+altered.Table+" ")
			_, err = b.service.PrepareReview(t.Context(), eve, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
			require.ErrorAs(t, err, &altered)
			scopes, err := altered.Scopes(t.Context(), b.Store.Q)
			require.NoError(t, err)
			require.Equal(t, []pg.Scope{b.Scope}, scopes)

			out, err := b.service.Review(t.Context(), rejection)
			require.NoError(t, err, "a rejection rests on no other review")
			require.Equal(t, models.HoldRejected, out.Status)
		})
	}
}

// Nor is a hold approved while a row was altered by which an earlier approval counts: who gave it, in whose place, and by which right.
func TestApprovalsOfAlteredActorsAreNotCounted(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"nothing":             "",
		"the environment":     "update environments set challenge_ttl_seconds = 900 where id = @environment",
		"a credential":        "update credentials set principal = 'person:prs_zed' where id = 'crd_cat' and environment_id = @environment",
		"the deputy":          "update people set principal = 'person:prs_zed' where id = 'prs_dan'",
		"the absent person":   "update people set principal = 'person:prs_zed' where id = 'prs_ann'",
		"a role":              "update person_roles set granted_by = 'cli:eve' where person_id = 'prs_dan'",
		"the absent one's":    "update person_roles set granted_by = 'cli:eve' where person_id = 'prs_ann'",
		"the period of leave": "update deputies set ends_at = ends_at + interval '1 day' where environment_id = @environment",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, dan := b.absence()
			h := b.holdFor(3, wants{team: "finance", approvals: 1})
			b.approves(t, h, "crd_cat")
			require.Equal(t, 2, b.approvesAs(t, h, dan).Approvals)
			last := b.prepare(t, "crd_bob", h.AuthorizationID, hold.Approve)
			if alter != "" {
				b.tamper(t, alter, h, h)
			}
			out, err := b.service.Review(t.Context(), last)
			if alter == "" {
				require.NoError(t, err)
				require.Equal(t, models.HoldApproved, out.Status)
				return
			}
			var altered *pg.Altered
			require.ErrorAs(t, err, &altered)
			require.Contains(t, alter, " "+altered.Table+" ")
		})
	}
}

// tamper runs a statement as an attacker would; @hold, @other and @environment stand for the ids.
func (b *bundle) tamper(t *testing.T, statement string, h, other models.Hold) {
	t.Helper()
	tag, err := b.Store.Pool().Exec(t.Context(), strings.NewReplacer("@hold", "'"+h.AuthorizationID+"'", "@other", "'"+other.AuthorizationID+"'",
		"@environment", "'"+b.Scope.Environment+"'").Replace(statement))
	require.NoError(t, err)
	require.NotZero(t, tag.RowsAffected())
}
