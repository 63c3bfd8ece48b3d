package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Where a hold asks for two people, an account that its inviter may be counts only once someone else has confirmed it, and only for holds
// opened later. Its keys are no way around that.
func TestUnconfirmedPeopleDoNotCountWhereTwoAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approvals int
		second    bool // the environment requires a second approver
		confirmed string
		counts    bool
	}{
		"one approval":                       {1, false, "null", true},
		"two approvals":                      {2, false, "null", false},
		"two approvals, confirmed before":    {2, false, "$1::timestamptz - interval '1 second'", true},
		"two approvals, confirmed later":     {2, false, "$1::timestamptz + interval '1 second'", false},
		"a second approver":                  {1, true, "null", false},
		"a second approver, confirmed":       {1, true, "$1::timestamptz", true},
		"a second approver, confirmed later": {1, true, "$1::timestamptz + interval '1 second'", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ann := b.person("prs_ann")
			b.AddCredential("crd_of_ann", "person:prs_ann")
			h := b.Hold(life, c.approvals)
			b.Exec("update people set confirmed_at = "+c.confirmed+", joined_at = $1", now)
			b.Exec("update environments set second_approver_required = $2 where id = $1", b.Scope.Environment, c.second)
			b.clock.Advance(time.Minute)
			key := identity.Principal{CredentialID: "crd_of_ann", TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
			for _, p := range []identity.Principal{ann, key} {
				s, err := b.service.Standing(t.Context(), p, h.AuthorizationID)
				require.NoError(t, err)
				require.Equal(t, c.counts, s.Obstacle == "", s.Obstacle)
				_, err = b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Reject, nil)
				require.NoError(t, err, "everyone may reject")
				_, err = b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Approve, nil)
				if c.counts {
					require.NoError(t, err)
				} else {
					require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
					require.ErrorContains(t, err, "two people")
				}
			}
			waiting, err := b.service.Awaited(t.Context(), h, []string{"prs_ann"}, false)
			require.NoError(t, err)
			require.Equal(t, c.counts, len(waiting) == 1)
		})
	}
}

// An approval stops counting if a link to the account was used by someone who saw it.
func TestApprovalOfAnAccountThatWasTakenOverDoesNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	require.Equal(t, 1, b.approvesAs(t, h, b.person("prs_ann")).Approvals)
	p, err := staff.LockPerson(t.Context(), b.Store.Q, b.Scope.Tenant, "prs_ann")
	require.NoError(t, err)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error { return staff.MarkShown(t.Context(), q, p, "cli:test") }))
	require.Equal(t, 1, b.approves(t, h, "crd_bob").Approvals)
}

// Two accounts of one person are one approval from the moment at which they are linked, also on a hold that is open, and one requester.
func TestLinkedAccountsAreOnePrincipal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, other := b.person("prs_ann"), b.person("prs_other")
	b.AddCredential("crd_of_other", "person:prs_other")
	h := b.Hold(life, 3)
	require.Equal(t, 1, b.approvesAs(t, h, ann).Approvals)
	require.Equal(t, 2, b.approvesAs(t, h, other).Approvals)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		credentials, err := identity.LinkPrincipals(t.Context(), q, b.Scope.Tenant, "person:prs_other", "person:prs_ann")
		require.Equal(t, []string{"crd_of_other"}, credentials)
		return err
	}))
	for _, actor := range []string{"person:prs_ann", "person:prs_other", "credential:crd_of_other"} {
		principal, err := identity.GetPrincipal(t.Context(), b.Store.Q, b.Scope, actor)
		require.NoError(t, err)
		require.Equal(t, "person:prs_ann", principal, actor)
	}
	require.Equal(t, 2, b.approves(t, h, "crd_bob").Approvals)
	require.Equal(t, models.HoldApproved, b.approves(t, h, "crd_cat").Status)
}

// Neither does a deputy vote for an absent person who has voted with another account.
func TestDeputyOfALinkedAccountIsNoFurtherApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, dan := b.person("prs_ann"), b.person("prs_dan")
	b.person("prs_other")
	b.team("finance")
	b.member("finance", "person:prs_ann")
	b.member("finance", "person:prs_other")
	b.deputy("prs_other", "prs_dan", -time.Hour, 24*time.Hour)
	b.Exec("update people set principal = 'person:prs_ann' where id = 'prs_other'")
	h := b.holdFor(2, wants{team: "finance", approvals: 2})
	require.Equal(t, 1, b.approvesAs(t, h, ann).Approvals)
	require.Equal(t, 1, b.approvesAs(t, h, dan).Approvals)
}
