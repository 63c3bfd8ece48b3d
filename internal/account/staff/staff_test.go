package staff_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

const base = "https://console.example:8443"

// bundle is one environment and the staff service.
type bundle struct {
	store   *pg.Store
	env     models.Environment
	scope   pg.Scope
	clock   *clock.Fake
	service *staff.Service
	keys    *identity.Service
	rp      virtualwebauthn.RelyingParty
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := storetest.New(t)
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(storetest.Epoch)
	b := &bundle{store: st, clock: c, env: storetest.Environment(t, st, models.Sandbox), service: staff.New(st, ring, c, base), keys: identity.New(st, ring, c),
		rp: virtualwebauthn.RelyingParty{ID: "console.example", Name: "x", Origin: base}}
	b.scope = storetest.Scope(b.env)
	return b
}

// device is an authenticator with one passkey.
type device struct {
	virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential
}

func newDevice() *device {
	d := &device{Authenticator: virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{})}
	// The library drops a coordinate's leading zero byte, which makes one key in 128 shorter and so invalid.
	for d.credential.Key == nil || len(d.credential.Key.AttestationData()) != 77 {
		d.credential = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return d
}

func (b *bundle) invite(t *testing.T, roles ...models.Role) (staff.Invited, string) {
	t.Helper()
	in, err := b.service.Create(t.Context(), b.scope, staff.Invitee{Name: "Ann Reviewer", Roles: roles}, "cli:test")
	require.NoError(t, err)
	return in, tokenOf(t, in)
}

func tokenOf(t *testing.T, in staff.Invited) string {
	t.Helper()
	token, ok := strings.CutPrefix(in.URL, base+"/console/invitation#")
	require.True(t, ok, in.URL)
	return token
}

// credential returns the browser's response to the options of an invitation.
func (b *bundle) credential(t *testing.T, d *device, token string) json.RawMessage {
	t.Helper()
	options, err := b.service.RegistrationOptions(t.Context(), token)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"publicKey": options})
	require.NoError(t, err)
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(t, err)
	var ids struct {
		PublicKey struct{ User struct{ ID []byte } }
	}
	_ = json.Unmarshal(raw, &ids)
	d.Options.UserHandle = []byte(parsed.UserID)
	return json.RawMessage(virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, *parsed))
}

func (b *bundle) joined(t *testing.T, roles ...models.Role) (staff.Opened, *device) {
	t.Helper()
	_, token := b.invite(t, roles...)
	d := newDevice()
	opened, err := b.service.AcceptInvitation(t.Context(), token, b.credential(t, d, token), "req_1")
	require.NoError(t, err)
	return opened, d
}

func (b *bundle) answer(t *testing.T, d *device, options any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"publicKey": options})
	require.NoError(t, err)
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(raw))
	require.NoError(t, err)
	d.credential.Counter++
	return json.RawMessage(virtualwebauthn.CreateAssertionResponse(b.rp, d.Authenticator, d.credential, *parsed))
}

func (b *bundle) assertion(t *testing.T, d *device) json.RawMessage {
	t.Helper()
	options, err := b.service.SignInOptions()
	require.NoError(t, err)
	return b.answer(t, d, options)
}

func requireCode(t *testing.T, code problem.Code, err error) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func (b *bundle) events(t *testing.T, kind string) int {
	t.Helper()
	var n int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from events where environment_id = $1 and type = $2",
		b.env.ID, kind).Scan(&n))
	return n
}

func TestInvitedPersonRegistersAndSignsIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in, token := b.invite(t, models.RoleReviewer, models.RoleOperator)
	require.Equal(t, b.clock.Now().Add(staff.InvitationLife), in.ExpiresAt)
	seen, err := b.service.ShowInvitation(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "Ann Reviewer", seen.Person.Name)
	require.Equal(t, []models.Role{models.RoleOperator, models.RoleReviewer}, seen.Grants[0].Roles)

	d := newDevice()
	opened, err := b.service.AcceptInvitation(t.Context(), token, b.credential(t, d, token), "req_1")
	require.NoError(t, err)
	got, err := b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
	require.NoError(t, err)
	require.Equal(t, in.Person.ID, got.Person.ID)
	g, ok := got.Grant(b.env.ID)
	require.True(t, ok)
	require.True(t, g.Has(models.RoleReviewer))
	require.False(t, g.Has(models.RoleAuditor))
	_, ok = got.Grant("env_other")
	require.False(t, ok)

	require.NoError(t, b.service.SignOut(t.Context(), got, "req_2"))
	_, err = b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
	requireCode(t, problem.Unauthenticated, err)
	again, err := b.service.SignIn(t.Context(), b.assertion(t, d), "req_3")
	require.NoError(t, err)
	require.NotEqual(t, opened.Cookie, again.Cookie)
	for kind, want := range map[string]int{
		"person.roles_changed": 1, "person.invited": 1, "person.joined": 1, "person.signed_in": 2, "person.signed_out": 1,
	} {
		require.Equal(t, want, b.events(t, kind), kind)
	}
}

// An invitation is valid for one passkey and one day. Every other use says why it is refused.
func TestInvitationIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	use := func(token, why string) {
		t.Helper()
		_, err := b.service.ShowInvitation(t.Context(), token)
		requireCode(t, problem.GrantInvalid, err)
		require.ErrorContains(t, err, why)
		_, err = b.service.RegistrationOptions(t.Context(), token)
		requireCode(t, problem.GrantInvalid, err)
		_, err = b.service.AcceptInvitation(t.Context(), token, json.RawMessage(`{}`), "")
		requireCode(t, problem.GrantInvalid, err)
	}
	use(strings.Repeat("A", 43), "is unknown")
	in, first := b.invite(t, models.RoleReviewer)
	second, err := b.service.Invite(t.Context(), b.scope, in.Person.ID, "", "cli:test")
	require.NoError(t, err)
	use(first, "replaced by a newer one")
	token := tokenOf(t, second)
	d := newDevice()
	_, err = b.service.AcceptInvitation(t.Context(), token, b.credential(t, d, token), "")
	require.NoError(t, err)
	use(token, "was used")
	_, token = b.invite(t, models.RoleReviewer)
	b.clock.Advance(staff.InvitationLife)
	use(token, "has expired")
	in, token = b.invite(t, models.RoleReviewer)
	require.NoError(t, b.service.Revoke(t.Context(), b.scope.Tenant, in.Person.ID, "cli:test"))
	use(token, "no longer have access")
}

// A page of the invitation may be open in two tabs: neither ends the registration of the other, and the invitation is for one passkey.
func TestRegistrationsInTwoTabsDoNotEndEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, token := b.invite(t, models.RoleAuditor)
	first, second := b.credential(t, newDevice(), token), b.credential(t, newDevice(), token)
	_, err := b.service.AcceptInvitation(t.Context(), token, json.RawMessage(`{}`), "")
	requireCode(t, problem.RegistrationRefused, err)
	_, err = b.service.AcceptInvitation(t.Context(), token, first, "")
	require.NoError(t, err)
	_, err = b.service.AcceptInvitation(t.Context(), token, second, "")
	requireCode(t, problem.GrantInvalid, err)

	_, other := b.invite(t, models.RoleAuditor)
	_, err = b.service.AcceptInvitation(t.Context(), other, second, "")
	requireCode(t, problem.RegistrationRefused, err)
	late := b.credential(t, newDevice(), other)
	b.clock.Advance(5 * time.Minute)
	_, err = b.service.AcceptInvitation(t.Context(), other, late, "")
	requireCode(t, problem.RegistrationRefused, err)
}

func TestRejectedPasskeyDoesNotEndTheInvitation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, token := b.invite(t, models.RoleAuditor)
	d := newDevice()
	foreign := *b
	foreign.rp.Origin = "https://elsewhere.example"
	_, err := b.service.AcceptInvitation(t.Context(), token, foreign.credential(t, d, token), "")
	requireCode(t, problem.RegistrationRefused, err)
	_, err = b.service.AcceptInvitation(t.Context(), token, json.RawMessage(`{}`), "")
	requireCode(t, problem.RegistrationRefused, err)
	_, err = b.service.AcceptInvitation(t.Context(), token, b.credential(t, d, token), "")
	require.NoError(t, err)
}

func TestConcurrentAcceptancesRegisterOnePasskey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, token := b.invite(t, models.RoleReviewer)
	credential := b.credential(t, newDevice(), token)
	var all sync.WaitGroup
	var mu sync.Mutex
	joined := 0
	for range 6 {
		all.Go(func() {
			if _, err := b.service.AcceptInvitation(t.Context(), token, credential, ""); err == nil {
				mu.Lock()
				joined++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, joined)
}

func TestSignInIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, d := b.joined(t, models.RoleReviewer)
	signIn := func(raw json.RawMessage) error {
		_, err := b.service.SignIn(t.Context(), raw, "")
		return err
	}
	used := b.assertion(t, d)
	require.NoError(t, signIn(used))
	require.Error(t, signIn(used), "one assertion opens one session")

	late := b.assertion(t, d)
	b.clock.Advance(5 * time.Minute)
	requireCode(t, problem.AssertionChallenge, signIn(late))

	requireCode(t, problem.AssertionMalformed, signIn(json.RawMessage(`{}`)))
	stranger := newDevice()
	stranger.Options.UserHandle = d.Options.UserHandle
	requireCode(t, problem.AssertionRefused, signIn(b.assertion(t, stranger)))

	other := *d
	other.Options.UserHandle = []byte("other person")
	requireCode(t, problem.AssertionRefused, signIn(b.assertion(t, &other)))

	unverified := *d
	unverified.Options.UserNotVerified = true
	requireCode(t, problem.AssertionRefused, signIn(b.assertion(t, &unverified)))

	// An assertion that was signed for a confirmation opens no session.
	options, err := b.service.ConfirmOptions(t.Context(), opened.Session)
	require.NoError(t, err)
	requireCode(t, problem.AssertionChallenge, signIn(b.answer(t, d, options)))

	require.NoError(t, b.service.Revoke(t.Context(), b.scope.Tenant, opened.Session.Person.ID, "cli:test"))
	err = signIn(b.assertion(t, d))
	requireCode(t, problem.AssertionRefused, err)
	require.Equal(t, opened.Session.Person.ID, staff.Identified(err).ID, "the passkey is theirs")
	require.Zero(t, staff.Identified(signIn(b.assertion(t, newDevice()))), "a passkey that no one has")
}

// A counter that goes back may indicate a copied authenticator: the passkey is rejected from then on.
func TestClonedPasskeyIsRejectedFromThenOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, d := b.joined(t, models.RoleReviewer)
	d.credential.Counter = 10
	_, err := b.service.SignIn(t.Context(), b.assertion(t, d), "")
	require.NoError(t, err)
	d.credential.Counter = 3
	_, err = b.service.SignIn(t.Context(), b.assertion(t, d), "")
	requireCode(t, problem.AssertionRefused, err)
	d.credential.Counter = 50
	_, err = b.service.SignIn(t.Context(), b.assertion(t, d), "")
	requireCode(t, problem.AssertionRefused, err)
	require.Equal(t, 2, b.events(t, "person.clone_warning"))
}

func TestSessionEndsByIdlenessAgeAndRevocation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, _ := b.joined(t, models.RoleReviewer)
	alive := func() bool {
		_, err := b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
		return err == nil
	}
	for b.clock.Now().Before(storetest.Epoch.Add(staff.SessionLife)) {
		require.True(t, alive(), "a session in use stays open")
		b.clock.Advance(staff.IdleLife - time.Second)
	}
	require.False(t, alive(), "but not beyond its maximum life")

	opened, _ = b.joined(t, models.RoleReviewer)
	b.clock.Advance(staff.IdleLife - time.Second)
	_, err := b.service.Authenticate(t.Context(), opened.Cookie, staff.FromScript)
	require.NoError(t, err)
	b.clock.Advance(time.Second)
	require.False(t, alive(), "idle: requests of scripts do not extend the session")

	opened, _ = b.joined(t, models.RoleReviewer)
	require.NoError(t, b.service.Revoke(t.Context(), b.scope.Tenant, opened.Session.Person.ID, "cli:test"))
	require.False(t, alive(), "revoked")

	_, err = b.service.Authenticate(t.Context(), strings.Repeat("A", 43), staff.FromPerson)
	requireCode(t, problem.Unauthenticated, err)
	var stored int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from console_sessions where mac::text like '%' || $1 || '%'",
		opened.Cookie).Scan(&stored))
	require.Zero(t, stored, "only the MAC of a cookie is stored")
}

func TestConfirmExtendsThePermissionToChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, d := b.joined(t, models.RoleReviewer)
	_, stranger := b.joined(t, models.RoleReviewer)
	b.clock.Advance(staff.ConfirmationLife + time.Second)
	confirm := func(d *device) error {
		options, err := b.service.ConfirmOptions(t.Context(), opened.Session)
		require.NoError(t, err)
		return b.service.Confirm(t.Context(), opened.Session, b.env.ID, b.answer(t, d, options), "req_1")
	}
	requireCode(t, problem.AssertionRefused, confirm(stranger))
	requireCode(t, problem.AssertionChallenge, b.service.Confirm(t.Context(), opened.Session, b.env.ID, b.assertion(t, d), ""))
	require.NoError(t, confirm(d))
	got, err := b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
	require.NoError(t, err)
	require.WithinDuration(t, b.clock.Now(), got.ConfirmedAt, 0)
	require.Equal(t, 1, b.events(t, "person.confirmed"))
}

func TestRolesArePerEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, _ := b.joined(t, models.RoleReviewer)
	id := opened.Session.Person.ID
	require.NoError(t, b.service.Grant(t.Context(), b.scope, id, []models.Role{models.RoleAuditor, models.RoleReviewer}, "cli:test"))
	got, err := b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
	require.NoError(t, err)
	require.Equal(t, []models.Role{models.RoleAuditor, models.RoleReviewer}, got.Grants[0].Roles)

	requireCode(t, problem.BadRequest, b.service.Grant(t.Context(), b.scope, id, []models.Role{"root"}, "cli:test"))
	abroad := storetest.Scope(storetest.Environment(t, b.store, models.Live))
	requireCode(t, problem.NotFound, b.service.Grant(t.Context(), abroad, id, []models.Role{models.RoleAuditor}, "cli:test"))
	requireCode(t, problem.NotFound, b.service.Revoke(t.Context(), abroad.Tenant, id, "cli:test"))

	require.NoError(t, b.service.Withdraw(t.Context(), b.scope, id, []models.Role{models.RoleAuditor}, "cli:test"))
	_, err = b.service.Authenticate(t.Context(), opened.Cookie, staff.FromPerson)
	requireCode(t, problem.Unauthenticated, err)
	list, _, err := b.service.List(t.Context(), b.scope.Tenant, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, staff.StateActive, list[0].State)
	require.Equal(t, []models.Role{models.RoleReviewer}, list[0].Grants[0].Roles)
}
