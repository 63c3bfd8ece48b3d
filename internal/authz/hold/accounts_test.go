package hold_test

import (
	"strings"
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

// Where a hold asks for two people, an account that its inviter may be counts only once someone else has confirmed it, and only for holds
// opened later. Its keys are no way around that.
func TestUnconfirmedPeopleDoNotCountWhereTwoAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approvals int
		setting   string // of the environment
		confirmed string
		counts    bool
	}{
		"one approval":                       {1, "", "null", true},
		"two approvals":                      {2, "", "null", false},
		"two approvals, confirmed before":    {2, "", "$1::timestamptz - interval '1 second'", true},
		"two approvals, confirmed later":     {2, "", "$1::timestamptz + interval '1 second'", false},
		"a second approver":                  {1, "second_approver_required", "null", false},
		"a second approver, confirmed":       {1, "second_approver_required", "$1::timestamptz", true},
		"a second approver, confirmed later": {1, "second_approver_required", "$1::timestamptz + interval '1 second'", false},
		"barred self-review":                 {1, "bar_self_review", "null", false},
		"barred self-review, confirmed":      {1, "bar_self_review", "$1::timestamptz", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ann := b.person("prs_ann")
			b.AddCredential("crd_of_ann", "person:prs_ann")
			h := b.Hold(life, c.approvals)
			b.Exec("update people set confirmed_at = "+c.confirmed+", joined_at = $1", now)
			if c.setting != "" {
				b.Exec("update environments set "+c.setting+" = true where id = $1", b.Scope.Environment)
			}
			b.clock.Advance(time.Minute)
			key := identity.Principal{CredentialID: "crd_of_ann", TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
			for _, p := range []identity.Principal{ann, key} {
				s, err := b.service.Standing(t.Context(), p, h.AuthorizationID)
				require.NoError(t, err)
				require.Equal(t, c.counts, s.Obstacle == "", s.Obstacle)
				_, err = b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Vote{Resolution: hold.Reject})
				require.NoError(t, err, "everyone may reject")
				_, err = b.service.PrepareReview(t.Context(), p, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
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
	b.Exec("update people set confirmed_at = null, shown_to = array['cli'] where id = 'prs_ann'")
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

// A reviewer who may be the requester is no second person where self-review is barred, and neither is one whom the requester may be.
func TestReviewerWhoMayBeTheRequesterDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		counts bool
	}{
		"two people":                             {"", true},
		"the reviewer invited the requester":     {"update people set confirmed_at = null, shown_to = array['person:prs_ann'] where id = 'prs_ben'", false},
		"through a third person":                 {"update people set confirmed_at = null, shown_to = array['person:prs_cat', 'person:prs_ann'] where id = 'prs_ben'", false},
		"by mail, stored by version 1.0":         {"update people set confirmed_at = null, mailed_by = array['person:prs_ann'] where id = 'prs_ben'", false},
		"the requester was invited by a third":   {"update people set confirmed_at = null, shown_to = array['person:prs_cat'] where id = 'prs_ben'", true},
		"the requester invited the reviewer":     {"update people set confirmed_at = null, shown_to = array['person:prs_ben'] where id = 'prs_ann'", false},
		"confirmed since":                        {"update people set shown_to = array['person:prs_ann'] where id = 'prs_ben'", true},
		"the reviewer comes by a provider":       {byProvider("prs_ann", "idp_1"), false},
		"the requester comes by a provider":      {byProvider("prs_ben", "idp_1"), false},
		"both come by one provider":              {byProvider("prs_ann", "idp_1") + ";" + byProvider("prs_ben", "idp_1"), true},
		"both come by different providers":       {byProvider("prs_ann", "idp_1") + ";" + byProvider("prs_ben", "idp_2"), false},
		"a provider's, confirmed by an operator": {byProvider("prs_ann", "idp_1") + "; update people set confirmed_by = 'person:prs_cat' where id = 'prs_ann'", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ann := b.person("prs_ann")
			b.person("prs_ben")
			b.providers("idp_1", "idp_2")
			b.Exec("update environments set bar_self_review = true where id = $1", b.Scope.Environment)
			h := b.Hold(life, 1)
			b.AddCredential(fixture.Asker, "person:prs_ben")
			for _, statement := range strings.Split(c.change, ";") {
				b.Exec(statement)
			}
			s, err := b.service.Standing(t.Context(), ann, h.AuthorizationID)
			require.NoError(t, err)
			require.Equal(t, c.counts, s.Obstacle == "", s.Obstacle)
			_, err = b.service.PrepareReview(t.Context(), ann, h.AuthorizationID, hold.Vote{Resolution: hold.Reject})
			require.NoError(t, err, "everyone else may reject")
			_, err = b.service.PrepareReview(t.Context(), ann, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
			require.Equal(t, c.counts, err == nil, "%v", err)
			waiting, err := b.service.Awaited(t.Context(), h, []string{"prs_ann"}, false)
			require.NoError(t, err)
			require.Equal(t, c.counts, len(waiting) == 1)
		})
	}
}

// An invited account and one of a provider can be one human's until an operator links or confirms them, so they do not make two approvals together. Two of
// one provider do, even if an invited person approved before.
func TestAccountsOfTwoOriginsAreNotTwoPeople(t *testing.T) {
	t.Parallel()
	b := setup(t)
	invited, first, second := b.person("prs_invited"), b.person("prs_first"), b.person("prs_second")
	abroad, confirmed := b.person("prs_abroad"), b.person("prs_confirmed")
	b.providers("idp_1", "idp_2")
	b.Exec(byProvider("prs_first", "idp_1"))
	b.Exec(byProvider("prs_second", "idp_1"))
	b.Exec(byProvider("prs_abroad", "idp_2"))
	b.Exec(byProvider("prs_confirmed", "idp_2"))
	b.Exec("update people set confirmed_by = 'cli:person confirm' where id = 'prs_confirmed'")

	h := b.Hold(life, 2)
	require.Equal(t, 1, b.approvesAs(t, h, invited).Approvals)
	require.Equal(t, 1, b.approvesAs(t, h, first).Approvals)
	require.Equal(t, 1, b.approvesAs(t, h, abroad).Approvals)
	rows, _, err := b.service.Queue(t.Context(), second, hold.Filter{}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, rows[0].Approvals)
	require.Equal(t, models.HoldApproved, b.approvesAs(t, h, second).Status)

	h = b.Hold(life, 2)
	require.Equal(t, 1, b.approvesAs(t, h, invited).Approvals)
	require.Equal(t, models.HoldApproved, b.approvesAs(t, h, confirmed).Status)
}

// byProvider makes a person one whom only an identity provider confirms.
func byProvider(person, provider string) string {
	return "update people set identity_provider_id = '" + provider + "', provider_subject = id, confirmed_by = 'identity_provider:" + provider + "' where id = '" + person + "'"
}

func (b *bundle) providers(ids ...string) {
	for _, id := range ids {
		b.Exec(`insert into identity_providers (id, tenant_id, name, label, issuer, client_id, scopes, groups_claim, grants, listed, created_at, updated_at)
			values ($1, $2, $1, $1, $1, $1, '{}', 'groups', '[]', false, $3, $3)`, id, b.Scope.Tenant, now)
	}
}
