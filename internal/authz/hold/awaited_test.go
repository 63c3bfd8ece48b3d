package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
)

// Everyone whose approval would count is awaited, and no one else.
func TestAwaitedFollowsStandingTeamsAndApprovals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance")
	b.team("leads")
	b.team("risk")
	finance := b.person("prs_fin")
	for _, p := range []string{"prs_fin2", "prs_away", "prs_dep", "prs_lead", "prs_risk", "prs_other", "prs_gone"} {
		b.person(p)
	}
	for key, people := range map[string][]string{"finance": {"prs_fin", "prs_fin2", "prs_away", "prs_gone"}, "leads": {"prs_lead"}, "risk": {"prs_risk"}} {
		for _, p := range people {
			b.member(key, "person:"+p)
		}
	}
	b.deputy("prs_away", "prs_dep", -time.Hour, time.Hour)
	b.Exec("update people set revoked_at = $1 where id = 'prs_gone'", now)
	all := []string{"prs_away", "prs_dep", "prs_fin", "prs_fin2", "prs_gone", "prs_lead", "prs_other", "prs_risk", "prs_unknown"}

	plain := b.Hold(life, 1)
	teams := b.holdFor(2, wants{team: "finance", approvals: 1, after: -time.Minute, to: "leads"}, wants{team: "risk", approvals: 1})
	early := b.holdFor(1, wants{team: "finance", approvals: 1, after: time.Hour, to: "leads"})
	settled := b.Hold(life, 1)
	b.Exec("update holds set status = 'rejected' where authorization_id = $1", settled.AuthorizationID)
	own := b.Hold(life, 1)
	b.Exec("update holds set self_review_barred = true where authorization_id = $1", own.AuthorizationID)
	b.AddCredential("crd_asker", "person:prs_fin")

	awaited := func(h string, escalated bool) []string {
		t.Helper()
		row, err := hold.GetHold(t.Context(), b.Store.Q, b.Scope, h)
		require.NoError(t, err)
		out, err := b.service.Awaited(t.Context(), row, all, escalated)
		require.NoError(t, err)
		return out
	}
	everyone := []string{"prs_away", "prs_dep", "prs_fin", "prs_fin2", "prs_lead", "prs_other", "prs_risk"}
	require.Equal(t, everyone, awaited(plain.AuthorizationID, false), "every reviewer in good standing")
	require.Equal(t, []string{"prs_away", "prs_dep", "prs_fin2", "prs_lead", "prs_other", "prs_risk"}, awaited(own.AuthorizationID, false), "not who requested it")
	require.Empty(t, awaited(settled.AuthorizationID, false))
	require.Equal(t, []string{"prs_away", "prs_dep", "prs_fin", "prs_fin2", "prs_lead", "prs_risk"}, awaited(teams.AuthorizationID, false), "members, deputies and the second team")
	require.Equal(t, []string{"prs_away", "prs_dep", "prs_fin", "prs_fin2"}, awaited(early.AuthorizationID, false), "the second team is not asked yet")
	require.Equal(t, []string{"prs_lead"}, awaited(teams.AuthorizationID, true))
	require.Empty(t, awaited(plain.AuthorizationID, true))

	b.approvesAs(t, teams, finance)
	require.Equal(t, []string{"prs_risk"}, awaited(teams.AuthorizationID, false), "finance has approved")
	require.Empty(t, awaited(teams.AuthorizationID, true))
}
