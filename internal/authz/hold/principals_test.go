package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

// approves has the reviewer approve and returns how many approvals count after it.
func (b *bundle) approves(t *testing.T, h models.Hold, reviewer string) hold.Outcome {
	t.Helper()
	out, err := b.service.Review(t.Context(), b.prepare(t, reviewer, h.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	return out
}

func TestPrincipalsAreStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddCredential("crd_root", "cli:credential create")
	b.AddCredential("crd_child", "credential:crd_root")
	b.AddCredential("crd_grandchild", "credential:crd_child")
	b.AddCredential("crd_of_person", "person:prs_1")
	got, err := identity.PrincipalsBehind(t.Context(), b.Store.Q, b.Scope, []string{"crd_root", "crd_child", "crd_grandchild", "crd_of_person", "crd_unknown"})
	require.NoError(t, err)
	require.Equal(t, map[string]identity.Behind{
		"crd_root": {Principal: "credential:crd_root"}, "crd_child": {Principal: "credential:crd_root"}, "crd_grandchild": {Principal: "credential:crd_root"},
		"crd_of_person": {Principal: "person:prs_1"}, "crd_unknown": {Principal: "credential:crd_unknown"},
	}, got)
	foreign, err := identity.PrincipalsBehind(t.Context(), b.Store.Q, pg.Scope{Tenant: b.Scope.Tenant, Environment: "env_other"}, []string{"crd_child"})
	require.NoError(t, err)
	require.Equal(t, map[string]identity.Behind{"crd_child": {Principal: "credential:crd_child"}}, foreign, "a credential is of one environment")
	for _, actor := range []string{"client_token:ctk_1", "page:lnk_1"} {
		_, err := identity.GetPrincipal(t.Context(), b.Store.Q, b.Scope, actor)
		require.ErrorIs(t, err, identity.ErrNoPrincipal, actor)
	}
	var linked []string
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) (err error) {
		linked, err = identity.RewritePrincipal(t.Context(), q, b.Scope.Tenant, "person:prs_1", "person:prs_2")
		return err
	}))
	require.Equal(t, []string{"crd_of_person"}, linked)
	who, err := identity.GetPrincipal(t.Context(), b.Store.Q, b.Scope, "credential:crd_of_person")
	require.NoError(t, err)
	require.Equal(t, "person:prs_2", who)
}

func TestApprovalsCountPrincipals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddCredential("crd_root", "cli:credential create")
	b.AddCredential("crd_one", "credential:crd_root")
	b.AddCredential("crd_two", "credential:crd_one")
	h := b.Hold(life, 2)
	for _, reviewer := range []string{"crd_one", "crd_two", "crd_root"} {
		out := b.approves(t, h, reviewer)
		require.Equal(t, models.HoldPending, out.Status, reviewer)
		require.Equal(t, 1, out.Approvals, reviewer)
	}
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_bob").Status)
}

func TestApprovalsCountReviewersInGoodStanding(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bundle){
		"revoked":          func(b *bundle) { b.Exec("update credentials set revoked_at = $1 where id = 'crd_ann'", now) },
		"expired":          func(b *bundle) { b.Exec("update credentials set expires_at = $1 where id = 'crd_ann'", now) },
		"gone":             func(b *bundle) { b.Exec("delete from credentials where id = 'crd_ann'") },
		"another's by now": func(b *bundle) { b.Exec("update reviews set reviewer = 'client_token:tok_1'") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			h := b.Hold(life, 2)
			require.Equal(t, 1, b.approves(t, h, "crd_ann").Approvals)
			leave(b)
			out := b.approves(t, h, "crd_bob")
			require.Equal(t, models.HoldPending, out.Status)
			require.Equal(t, 1, out.Approvals)
			out = b.approves(t, h, "crd_cat")
			require.Equal(t, models.HoldApproved, out.Status)
			require.Equal(t, 2, out.Approvals)
		})
	}
}

func TestReviewOfReviewerRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	move := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve)
	b.Exec("update credentials set revoked_at = $1 where id = 'crd_ann'", now)
	out, err := b.service.Review(t.Context(), move)
	require.NoError(t, err)
	require.Equal(t, models.HoldPending, out.Status)
	require.Zero(t, out.Approvals)
}

func TestApprovalsOfStaffRequireReviewerRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	b.Exec("insert into people (id, tenant_id, name, created_at, created_by, confirmed_at) values ('prs_1', $1, 'Ann', $2, 'cli:test', $2)", b.Scope.Tenant, now)
	grant := func() {
		b.Exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ('prs_1', $1, 'reviewer', $2, 'cli:test')",
			b.Scope.Environment, now)
	}
	grant()
	ann := identity.Principal{Person: "prs_1", TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
	require.Equal(t, 1, b.approvesAs(t, h, ann).Approvals)
	b.Exec("delete from person_roles")
	require.Equal(t, 1, b.approves(t, h, "crd_bob").Approvals, "Ann is no reviewer any more")
	grant()
	b.clock.Advance(time.Minute)
	out := b.approvesAs(t, h, ann)
	require.Equal(t, models.HoldApproved, out.Status, "asked again, the reviewer who came back settles the hold")
	require.Equal(t, 2, out.Approvals)
}

func (b *bundle) approvesAs(t *testing.T, h models.Hold, p identity.Principal) hold.Outcome {
	t.Helper()
	prepared, err := b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.NoError(t, err)
	out, err := b.service.Review(t.Context(), b.moved(t, prepared, h.AuthorizationID))
	require.NoError(t, err)
	return out
}

func TestSelfReviewIsBarredByTheEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	b.AddCredential("crd_admin", "cli:credential create")
	b.AddCredential(fixture.Asker, "credential:crd_admin")
	b.AddCredential("crd_sister", "credential:crd_admin")
	b.Exec("update environments set bar_self_review = true")
	for _, reviewer := range []string{fixture.Asker, "crd_admin", "crd_sister"} {
		b.refused(t, reviewer, h.AuthorizationID, hold.Approve, problem.SelfReview)
		b.refused(t, reviewer, h.AuthorizationID, hold.Reject, problem.SelfReview)
		rows, _, err := b.service.Queue(t.Context(), b.Principal(reviewer), hold.Filter{}, pg.Page{Limit: 10})
		require.NoError(t, err)
		require.True(t, rows[0].Barred, reviewer)
	}
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_bob").Status)
}

// A requesting key that was given to a different principal bars both: the former one may still have the key.
func TestRequestsBarFormerPrincipals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve, gus := b.person("prs_eve"), b.person("prs_gus")
	b.team("dual")
	b.member("dual", "person:prs_eve")
	b.deputy("prs_eve", "prs_gus", -time.Hour, time.Hour)
	b.AddCredential(fixture.Asker, "cli:credential create")
	b.Exec("update credentials set former_principal = 'person:prs_eve' where id = $1", fixture.Asker)
	anyone, dual := b.Hold(life, 2), b.holdFor(1, wants{team: "dual", approvals: 1})
	require.Equal(t, 1, b.approvesAs(t, anyone, eve).Approvals, "self-review is not barred yet")
	awaited := func() []string {
		out, err := b.service.Awaited(t.Context(), dual, []string{"prs_eve", "prs_gus"}, false)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, []string{"prs_eve", "prs_gus"}, awaited())
	b.Exec("update environments set bar_self_review = true")
	rows, _, err := b.service.Queue(t.Context(), gus, hold.Filter{}, pg.Page{Limit: 10})
	require.NoError(t, err)
	for _, row := range rows {
		require.Zero(t, row.Approvals, "the approval of the former principal does not count")
		require.Equal(t, row.AuthorizationID == anyone.AuthorizationID, row.Approvable, "nor does one by their deputy")
	}
	require.Empty(t, awaited())
	b.outsider(t, gus, dual)
	require.Equal(t, models.HoldPending, b.approves(t, anyone, "crd_bob").Status)
	require.Equal(t, models.HoldApproved, b.approves(t, anyone, "crd_cat").Status)
}

// The queue promises no approval that a review would refuse.
func TestQueueOfAKeyOfTwoPrincipalsHasNothingToApprove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("dual")
	b.member("dual", "credential:crd_bob")
	anyone, dual := b.Hold(life, 1), b.holdFor(1, wants{team: "dual", approvals: 1})
	approvable := func() (out []string) {
		rows, _, err := b.service.Queue(t.Context(), b.Principal("crd_bob"), hold.Filter{}, pg.Page{Limit: 10})
		require.NoError(t, err)
		for _, row := range rows {
			if row.Approvable {
				out = append(out, row.AuthorizationID)
			}
		}
		return out
	}
	require.ElementsMatch(t, []string{anyone.AuthorizationID, dual.AuthorizationID}, approvable())
	b.Exec("update credentials set former_principal = 'person:prs_eve' where id = 'crd_bob'")
	require.Empty(t, approvable())
	_, err := b.service.PrepareReview(t.Context(), b.Principal("crd_bob"), anyone.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.True(t, problem.Is(err, problem.Forbidden))
}

// An approval that a requester gave while self-review was allowed does not count once it is barred.
func TestSelfApprovalOfBeforeTheBarDoesNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	require.Equal(t, 1, b.approves(t, h, fixture.Asker).Approvals)
	b.Exec("update environments set bar_self_review = true")
	rows, _, err := b.service.Queue(t.Context(), b.Principal("crd_bob"), hold.Filter{}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Zero(t, rows[0].Approvals)
	require.Equal(t, models.HoldPending, b.approves(t, h, "crd_bob").Status)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_eve").Status)
}
