package staff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// provider is an identity provider of the tenant.
func (b *bundle) provider(t *testing.T) models.IdentityProvider {
	t.Helper()
	provider := models.IdentityProvider{
		ID: ids.New(ids.IdentityProvider), TenantID: b.scope.Tenant, Name: "okta", Label: "Okta", Issuer: "https://idp.example", ClientID: "c",
		Scopes: models.Strings{"openid"}, GroupsClaim: "groups", Grants: models.JSON("[]"), CreatedAt: b.clock.Now(), UpdatedAt: b.clock.Now(),
	}
	require.NoError(t, sso.CreateIdentityProvider(t.Context(), b.store.Q, provider))
	return provider
}

// issued is a person with a key of their own, a key that this one issued, and a client token of that.
type issued struct {
	person     string
	key, child identity.Issued
	token      string
	stream     identity.Principal // of a stream that the child opened before
}

// link makes the accounts of one principal count as another.
func (b *bundle) link(t *testing.T, from, to string) error {
	t.Helper()
	return b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := identity.LinkPrincipals(t.Context(), q, b.scope.Tenant, from, to)
		return err
	})
}

func (b *bundle) issues(t *testing.T, person string, roles []models.Role) issued {
	t.Helper()
	out := issued{person: person}
	by := identity.Principal{Person: person, TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment}.Issuer(roles)
	in := identity.Issue{Scope: models.ScopeAdmin, Permissions: models.Issuable(roles), Issuer: &by}
	var err error
	out.key, err = b.keys.Issue(t.Context(), b.scope, in, by.Actor(), "")
	require.NoError(t, err)
	p, err := b.keys.Authenticate(t.Context(), out.key.Key)
	require.NoError(t, err)
	in.Issuer = &p
	out.child, err = b.keys.Issue(t.Context(), b.scope, in, p.Actor(), "")
	require.NoError(t, err)
	require.Equal(t, "person:"+person, out.child.Principal)
	out.stream, err = b.keys.Authenticate(t.Context(), out.child.Key)
	require.NoError(t, err)
	subject, err := subjectrow.Get(t.Context(), b.store.Q, b.scope, "ada")
	require.NoError(t, err)
	out.token, _, err = b.keys.ClientToken(t.Context(), out.stream, identity.TokenRequest{Subject: subject, Origin: "https://app.example.com", TTL: time.Hour})
	require.NoError(t, err)
	return out
}

// TestWhatEndsWhat ends a person's authority in each way and tries every channel that it reaches.
func TestWhatEndsWhat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	storetest.Subject(t, b.store, b.env, "ada")
	provider := b.provider(t)
	both := []models.Role{models.RoleOperator, models.RoleReviewer}
	invited := func(t *testing.T) string {
		in, _ := b.invite(t, both...)
		return in.Person.ID
	}
	account := func(subject string, roles ...models.Role) staff.Account {
		a := staff.Account{Provider: provider, Subject: subject, Name: "Fay", SignIn: []byte(ids.New(ids.Request))}
		if len(roles) > 0 {
			a.Roles = map[string][]models.Role{b.scope.Environment: roles}
		}
		return a
	}
	federated := func(subject string) func(t *testing.T) string {
		return func(t *testing.T) string {
			opened, err := b.service.SignInFrom(t.Context(), account(subject, both...), "")
			require.NoError(t, err)
			return opened.Session.Person.ID
		}
	}
	boss := staff.By{Person: b.operator(t)}
	for _, c := range []struct {
		name   string
		person func(t *testing.T) string
		end    func(t *testing.T, i issued) error
		lives  bool // the keys stay in force
	}{
		{"person revoked", invited, func(t *testing.T, i issued) error {
			return b.service.Revoke(t.Context(), b.scope.Tenant, i.person, "cli:test")
		}, false},
		{"person removed in the console", invited, func(t *testing.T, i issued) error {
			return b.service.RemoveAs(t.Context(), b.scope, i.person, boss)
		}, false},
		{"role operator withdrawn", invited, func(t *testing.T, i issued) error {
			return b.service.Withdraw(t.Context(), b.scope, i.person, []models.Role{models.RoleOperator}, "cli:test")
		}, false},
		{"a role withdrawn whose permissions the keys have", invited, func(t *testing.T, i issued) error {
			return b.service.ChangeRolesAs(t.Context(), b.scope, i.person, []models.Role{models.RoleOperator}, boss)
		}, false},
		{"a role granted", invited, func(t *testing.T, i issued) error {
			return b.service.Grant(t.Context(), b.scope, i.person, []models.Role{models.RoleAuditor}, "cli:test")
		}, true},
		{"group lost", federated("fay"), func(t *testing.T, _ issued) error {
			_, err := b.service.SignInFrom(t.Context(), account("fay", models.RoleReviewer), "")
			return err
		}, false},
		{"all groups lost", federated("guy"), func(t *testing.T, _ issued) error {
			_, err := b.service.SignInFrom(t.Context(), account("guy"), "")
			require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
			return nil
		}, false},
		{"signed in with the same groups", federated("hal"), func(t *testing.T, _ issued) error {
			_, err := b.service.SignInFrom(t.Context(), account("hal", both...), "")
			return err
		}, true},
		{"provider removed", federated("ida"), func(t *testing.T, _ issued) error {
			return b.store.Write(t.Context(), func(q *pg.Q) error {
				return b.service.Dismiss(t.Context(), q, staff.Dismissal{Tenant: b.scope.Tenant, Provider: provider.ID, Actor: "cli:test", Roles: true})
			})
		}, false},
		{"account removed that is linked with another", invited, func(t *testing.T, i issued) error {
			if err := b.link(t, "person:"+i.person, "person:"+boss.Person); err != nil {
				return err
			}
			return b.service.Revoke(t.Context(), b.scope.Tenant, i.person, "cli:test")
		}, false},
		{"a linked account removed that did not issue the keys", invited, func(t *testing.T, i issued) error {
			other := invited(t)
			if err := b.link(t, "person:"+other, "person:"+i.person); err != nil {
				return err
			}
			return b.service.Revoke(t.Context(), b.scope.Tenant, other, "cli:test")
		}, true},
		{"issuing key revoked", invited, func(t *testing.T, i issued) error {
			return b.keys.Revoke(t.Context(), b.scope, identity.Revocation{ID: i.key.ID}, "cli:test", "")
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := b.issues(t, c.person(t), both)
			require.NoError(t, c.end(t, i))
			b.keys.Forget("") // as the notification of the commit does
			for channel, works := range map[string]func() bool{
				"API":           func() bool { _, err := b.keys.Authenticate(t.Context(), i.key.Key); return err == nil },
				"API, child":    func() bool { _, err := b.keys.Authenticate(t.Context(), i.child.Key); return err == nil },
				"client token":  func() bool { _, err := b.keys.Authenticate(t.Context(), i.token); return err == nil },
				"event stream":  func() bool { ok, err := b.keys.StillValid(t.Context(), i.stream); return err == nil && ok },
				"issue a key":   func() bool { return b.issuesWith(t, i.stream) == nil },
				"review a hold": func() bool { return b.reviews(t, i.child.ID) },
				"approve a change": func() bool {
					may, err := identity.MayChangePrincipal(t.Context(), b.store.Q, b.scope, "credential:"+i.child.ID,
						identity.ChangeRight{Scopes: []string{"admin"}, Permission: models.PermissionConfig, Approves: true}, b.clock.Now())
					return err == nil && may
				},
			} {
				require.Equal(t, c.lives, works(), channel)
			}
			orphans, err := b.keys.Orphans(t.Context(), b.scope)
			require.NoError(t, err)
			require.Empty(t, orphans)
		})
	}
}

// issuesWith issues a key as a caller that was authenticated before.
func (b *bundle) issuesWith(t *testing.T, p identity.Principal) error {
	t.Helper()
	_, err := b.keys.Issue(t.Context(), b.scope, identity.Issue{Scope: models.ScopeServer, Permissions: p.Permissions[:1], Issuer: &p}, p.Actor(), "")
	return err
}

func (b *bundle) reviews(t *testing.T, id string) bool {
	t.Helper()
	able, err := team.ReviewersOfTeams(t.Context(), b.store.Q, b.scope, []string{"credential:" + id}, b.clock.Now())
	require.NoError(t, err)
	return len(able) == 1
}

// Keys whose source ended behind the service's back are listed.
func TestOrphansAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	storetest.Subject(t, b.store, b.env, "ada")
	in, _ := b.invite(t, models.RoleOperator)
	i := b.issues(t, in.Person.ID, []models.Role{models.RoleOperator})
	_, err := b.store.Pool().Exec(t.Context(), "delete from person_roles where person_id = $1", in.Person.ID)
	require.NoError(t, err)
	orphans, err := b.keys.Orphans(t.Context(), b.scope)
	require.NoError(t, err)
	require.Equal(t, []string{i.key.ID, i.child.ID}, []string{orphans[0].ID, orphans[1].ID})
}

// The groups of a person are read when they sign in, so that the keys of a person who does not return lapse until they sign in again.
func TestFederatedKeysLapse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	storetest.Subject(t, b.store, b.env, "ada")
	provider := b.provider(t)
	roles := []models.Role{models.RoleOperator}
	signIn := func() string {
		opened, err := b.service.SignInFrom(t.Context(), staff.Account{
			Provider: provider, Subject: "fay", Name: "Fay", SignIn: []byte(ids.New(ids.Request)), Roles: map[string][]models.Role{b.scope.Environment: roles},
		}, "")
		require.NoError(t, err)
		return opened.Session.Person.ID
	}
	within := func(days int) {
		_, err := tenancy.New(b.store, nil, b.clock, nil).UpdateSettings(t.Context(), b.scope, tenancy.Settings{"federated_key_days": days}, "cli:test", "")
		require.NoError(t, err)
		b.keys.Forget("")
	}
	works := func(i issued) bool {
		b.keys.Forget("")
		_, own := b.keys.Authenticate(t.Context(), i.key.Key)
		_, child := b.keys.Authenticate(t.Context(), i.child.Key)
		require.Equal(t, own == nil, child == nil, "a child lapses with its issuer")
		return own == nil
	}
	const day = 24 * time.Hour
	within(30)
	person := signIn()
	in, _ := b.invite(t, models.RoleOperator)
	fay, ann := b.issues(t, person, roles), b.issues(t, in.Person.ID, roles)
	b.clock.Advance(29 * day)
	require.True(t, works(fay))
	b.clock.Advance(day)
	require.False(t, works(fay))
	_, err := b.keys.Authenticate(t.Context(), ann.key.Key)
	require.NoError(t, err, "keys of a person who was invited do not lapse")
	signIn()
	require.True(t, works(fay))
	b.clock.Advance(31 * day)
	within(60)
	require.True(t, works(fay))
	within(10)
	require.False(t, works(fay))
	within(0)
	require.True(t, works(fay), "0 is never")
}
