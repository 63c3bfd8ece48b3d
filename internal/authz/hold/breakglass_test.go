package hold_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// breakable lets one of a team approve the hold alone.
func (b *bundle) breakable(h models.Hold, team string) models.Hold {
	b.Exec("update holds set glass_team = $2, glass_approvals = 1, glass_seconds = 3600 where authorization_id = $1", h.AuthorizationID, team)
	return h
}

// verdict closes the after-review of a hold.
func (b *bundle) verdict(t *testing.T, by, id string) error {
	t.Helper()
	return b.verdictBy(t, b.Principal(by), id)
}

func (b *bundle) verdictBy(t *testing.T, by identity.Principal, id string) error {
	t.Helper()
	_, err := afterreview.New(b.Store, b.clock, reviewnote.NewVault(testenv.Keys())).Review(t.Context(), by, id, models.AfterReviewJustified, "It was urgent.")
	return err
}

// Of two holds that one person breaks open at the same time, one is approved.
func TestConcurrentBreakGlasses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("incident", "crd_ann")
	var moves []hold.Move
	for range 4 {
		h := b.breakable(b.holdIn(false, teamThenLead()...), "incident")
		moves = append(moves, b.prepare(t, "crd_ann", h.AuthorizationID, hold.BreakGlass))
	}
	var all sync.WaitGroup
	errs := make([]error, len(moves))
	for i, m := range moves {
		all.Go(func() { _, errs[i] = b.service.Review(t.Context(), m) })
	}
	all.Wait()
	approved := 0
	for _, err := range errs {
		if err == nil {
			approved++
		} else {
			require.True(t, problem.Is(err, problem.Conflict), "%v", err)
		}
	}
	require.Equal(t, 1, approved)
	require.Equal(t, 1, b.Count("select count(*) from holds where status = 'approved'"))
	require.Equal(t, 1, b.Count("select count(*) from after_reviews where status = 'open'"))
}

// Authority is checked when the glass breaks: what was lost since the request is lost.
func TestBreakGlassChecksAuthorityAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]string{
		"revoked":           "update credentials set revoked_at = '2026-01-01' where id = 'crd_ann'",
		"no longer of it":   "delete from team_members where member = 'credential:crd_ann'",
		"is the requester":  "update authorizations set credential_id = 'crd_ann'",
		"already broke one": "insert into after_reviews select 'azn_other', tenant_id, environment_id, action_id, 'credential:crd_ann', 'x', 'cli:test', null, 'incident', 'd', 1, opened_at, due_at, 'open' from holds limit 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.team("incident", "crd_ann")
			h := b.breakable(b.holdIn(false, teamThenLead()...), "incident")
			move := b.prepare(t, "crd_ann", h.AuthorizationID, hold.BreakGlass)
			b.Exec(lose)
			testenv.Attest(t, b.Store, b.Scope)
			_, err := b.service.Review(t.Context(), move)
			require.NotNil(t, problem.As(err), "%v", err)
			require.Contains(t, []problem.Code{problem.Forbidden, problem.SelfReview, problem.Conflict}, problem.As(err).Code)
			require.Zero(t, b.Count("select count(*) from holds where status = 'approved'"))
		})
	}
}

// Everyone whose approval was replaced is notified, and no one else.
func TestSkippedByABreakGlass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, p := range []string{"prs_ann", "prs_bob", "prs_cat", "prs_dan"} {
		b.person(p)
	}
	b.team("incident", "crd_ann")
	b.team("finance")
	b.team("leads")
	b.member("finance", "person:prs_ann")
	b.member("leads", "person:prs_bob")
	b.member("incident", "person:prs_dan")
	h := b.breakable(b.holdIn(false, teamThenLead()...), "incident")
	skipped := func() []string {
		row, err := hold.GetHold(t.Context(), b.Store.Q, b.Scope, h.AuthorizationID)
		require.NoError(t, err)
		out, err := b.service.Skipped(t.Context(), row, []string{"prs_ann", "prs_bob", "prs_cat", "prs_dan"})
		require.NoError(t, err)
		return out
	}
	require.Empty(t, skipped())
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.BreakGlass))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"prs_ann", "prs_bob"}, skipped())
	require.Equal(t, 1, b.Count(`select count(*) from outbox where topic = 'notice' and payload->>'kind' = 'break_glass'`))
	require.True(t, problem.Is(b.verdict(t, "crd_ann", h.AuthorizationID), problem.SelfReview))
	require.NoError(t, b.verdict(t, "crd_bob", h.AuthorizationID))
}
