package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
)

// The page of a hold says who gave which approval, and what the reader can add.
func TestStandingNamesWhoGaveWhich(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann", "crd_bob")
	b.team("risk", "crd_ann")
	b.team("leads", "crd_lea")
	b.AddCredential("crd_dan", "cli:test")
	h := b.holdFor(3, wants{team: "finance", approvals: 1, after: time.Hour, to: "leads"}, wants{team: "risk", approvals: 1})
	abe, deb := b.person("prs_abe"), b.person("prs_deb")
	b.member("risk", abe.Actor())
	b.deputy("prs_abe", "prs_deb", 0, time.Hour)
	standing := func(p identity.Principal) hold.Standing {
		s, err := b.service.Standing(t.Context(), p, h.AuthorizationID)
		require.NoError(t, err)
		return s
	}
	for name, c := range map[string]struct {
		reader   identity.Principal
		as       []string
		absent   string
		obstacle string
	}{
		"a member of both teams":  {b.Principal("crd_ann"), []string{"finance", "risk"}, "", ""},
		"the deputy of a member":  {deb, []string{"risk"}, "person:prs_abe", ""},
		"a reviewer of neither":   {b.Principal("crd_dan"), nil, "", ""},
		"before the escalation":   {b.Principal("crd_lea"), nil, "", ""},
		"an absent person itself": {abe, []string{"risk"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing(c.reader)
			require.Equal(t, c.as, s.As)
			require.Equal(t, c.absent, s.Absent)
			require.Equal(t, c.obstacle, s.Obstacle, "the third approval is of any reviewer")
		})
	}
	b.approves(t, h, "crd_ann")
	b.approves(t, h, "crd_bob")
	s := standing(b.Principal("crd_ann"))
	require.Equal(t, hold.ObstacleGiven, s.Obstacle)
	require.Equal(t, []int{2, 3, 0}, []int{s.Given, s.Required, s.Others.Given})
	require.Equal(t, []string{"credential:crd_bob"}, s.Teams[0].By, "Ann counts for risk, because no one else can")
	require.Equal(t, []string{"credential:crd_ann"}, s.Teams[1].By)
	require.Equal(t, 1, s.Others.Approvals)

	b.clock.Advance(time.Hour)
	s = standing(b.Principal("crd_lea"))
	require.True(t, s.Teams[0].Escalated)
	require.Equal(t, []string{"finance"}, s.As)
}

func TestStandingNamesTheObstacle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("finance", "crd_ann")
	plain, teams := b.Hold(life, 1), b.holdFor(1, wants{team: "finance", approvals: 1})
	b.AddCredential("crd_dan", "cli:test")
	b.Exec("update holds set self_review_barred = true")
	for name, c := range map[string]struct {
		hold, reader, obstacle string
	}{
		"a member":                {teams.AuthorizationID, "crd_ann", ""},
		"a stranger":              {teams.AuthorizationID, "crd_dan", hold.ObstacleTeam},
		"a stranger, no team":     {plain.AuthorizationID, "crd_dan", ""},
		"the requester":           {plain.AuthorizationID, fixture.Asker, hold.ObstacleSelf},
		"the requester and teams": {teams.AuthorizationID, fixture.Asker, hold.ObstacleSelf},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := b.service.Standing(t.Context(), b.Principal(c.reader), c.hold)
			require.NoError(t, err)
			require.Equal(t, c.obstacle, s.Obstacle)
		})
	}
}
