package sso_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// bundle is a tenant with an identity provider.
type bundle struct {
	t       *testing.T
	store   *pg.Store
	env     models.Environment
	clock   *clock.Fake
	people  *staff.Service
	service *sso.Service
	fake    *fakeProvider
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := storetest.New(t)
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(storetest.Epoch)
	b := &bundle{t: t, store: st, clock: c, env: storetest.Environment(t, st, models.Live)}
	b.people = staff.New(st, ring, c, "https://console.example")
	b.service = sso.New(sso.Deps{
		Store: st, Keys: ring, Clock: c, People: b.people, BaseURL: "https://console.example", Client: http.DefaultClient,
		Directory: directory.New(directory.Deps{Store: st, Keys: ring, Clock: c, People: b.people, BaseURL: "https://console.example"}),
		CheckURL: func(raw string) string {
			if u, err := url.Parse(raw); err != nil || u.Hostname() != "127.0.0.1" {
				return "url must be this machine's."
			}
			return ""
		},
	})
	b.fake = newFakeProvider(t, c.Now)
	b.set(b.settings())
	return b
}

// settings map the group leads to two roles and the group audit to one.
func (b *bundle) settings() sso.Settings {
	return sso.Settings{
		Name: "corp", Issuer: b.fake.server.URL, ClientID: clientID, ClientSecret: clientSecret,
		Grants: []models.ProviderGrant{
			{Group: "leads", Environment: b.env.ID, Roles: []models.Role{models.RoleReviewer, models.RoleOperator}},
			{Group: "audit", Environment: b.env.ID, Roles: []models.Role{models.RoleAuditor}},
		},
	}
}

func (b *bundle) set(in sso.Settings) models.IdentityProvider {
	b.t.Helper()
	p, err := b.service.Set(b.t.Context(), b.env.TenantID, in, "cli:test")
	require.NoError(b.t, err)
	return p
}

func (b *bundle) begin(name string) sso.Begun {
	b.t.Helper()
	b.clock.Advance(time.Microsecond) // a role that is given again has a later time
	begun, err := b.service.Begin(b.t.Context(), b.env.TenantID, name, "/console/x")
	require.NoError(b.t, err)
	return begun
}

// callback contains the parameters that the browser brings back from the provider.
func callback(begun sso.Begun, q url.Values) sso.Callback {
	return sso.Callback{Cookie: begun.Cookie, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

func (b *bundle) finish(in sso.Callback) (sso.Finished, error) {
	b.t.Helper()
	return b.service.Finish(b.t.Context(), b.env.TenantID, "corp", in, "req_1")
}

func (b *bundle) signIn() (sso.Finished, error) {
	b.t.Helper()
	begun := b.begin("corp")
	return b.finish(callback(begun, b.fake.visit(begun.URL)))
}

func (b *bundle) signedIn() staff.Opened {
	b.t.Helper()
	out, err := b.signIn()
	require.NoError(b.t, err)
	return out.Opened
}

func (b *bundle) session(cookie string) (staff.Session, error) {
	return b.people.Authenticate(b.t.Context(), cookie, staff.FromPerson)
}

func (b *bundle) roles(s staff.Session) []models.Role {
	g, _ := s.Grant(b.env.ID)
	return g.Roles
}

// types are the types of the environment's events, oldest first.
func (b *bundle) types() []string {
	b.t.Helper()
	var out []string
	rows, err := b.store.Pool().Query(b.t.Context(), "select type from events where environment_id = $1 order by id", b.env.ID)
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(b.t, rows.Scan(&s))
		out = append(out, s)
	}
	return out
}

// The subject identifies the account; names and addresses change hands.
// A session of a provider has not used a passkey, so it confirms nothing.
func TestSignInMakesThePersonOfTheAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, err := b.signIn()
	require.NoError(t, err)
	require.Equal(t, "/console/x", out.Next)
	s, err := b.session(out.Opened.Cookie)
	require.NoError(t, err)
	require.Equal(t, "Ada Lovelace", s.Person.Name)
	require.True(t, s.NeedsPasskey)
	require.ElementsMatch(t, []models.Role{models.RoleReviewer, models.RoleOperator}, b.roles(s))
	require.GreaterOrEqual(t, b.clock.Now().Sub(s.ConfirmedAt), staff.ConfirmationLife, "a change requires the passkey")
	require.Equal(t, []string{"identity_provider.changed", "person.provisioned", "person.roles_changed", "person.signed_in"}, b.types())

	second := b.signedIn()
	require.Equal(t, s.Person.ID, second.Session.Person.ID, "the same account is the same person")
}

// Roles follow the groups of the newest sign-in in both directions.
// A claim of an unexpected form is treated as no group: a mistake of the provider must not give a role.
// Names of groups are compared byte for byte.
func TestGroupsAreEvaluatedAtEachSignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups   any
		userinfo object
		roles    []models.Role
	}{
		"another group":             {[]string{"audit"}, nil, []models.Role{models.RoleAuditor}},
		"one more group":            {[]string{"audit", "leads"}, nil, []models.Role{models.RoleAuditor, models.RoleReviewer, models.RoleOperator}},
		"one group as a text":       {"audit", nil, []models.Role{models.RoleAuditor}},
		"groups of userinfo":        {nil, object{"sub": "subject-1", "groups": []string{"audit"}}, []models.Role{models.RoleAuditor}},
		"no group":                  {[]string{}, nil, nil},
		"an unknown group":          {[]string{"interns"}, nil, nil},
		"a claim that is no list":   {object{"leads": true}, nil, nil},
		"no claim":                  {nil, object{"sub": "subject-1"}, nil},
		"a group of similar name":   {[]string{"Leads", "leads "}, nil, nil},
		"a list with a non-text":    {[]any{"leads", 1}, nil, nil},
		"a text that lists several": {"leads,audit", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first := b.signedIn()
			b.fake.groups, b.fake.userinfo = c.groups, c.userinfo
			out, err := b.signIn()
			_, before := b.session(first.Cookie)
			if len(c.roles) == 0 {
				require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
				require.True(t, problem.Is(before, problem.Unauthenticated), "the earlier session ended")
				require.Contains(t, b.types(), "person.roles_changed")
				listed, _, err := b.people.List(t.Context(), b.env.TenantID, pg.Page{Limit: 10})
				require.NoError(t, err)
				require.Empty(t, listed[0].Grants)
				return
			}
			require.NoError(t, err)
			require.ElementsMatch(t, c.roles, b.roles(out.Opened.Session))
			if len(c.roles) == 3 {
				require.NoError(t, before, "nothing was withdrawn")
			} else {
				require.True(t, problem.Is(before, problem.Unauthenticated), "a withdrawn role ends the earlier session")
			}
		})
	}
}

// Everyone in the company can reach the sign-in; those without a group must leave no trace of their account.
func TestAccountWithoutAGroupMakesNoPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fake.groups = []string{"interns"}
	_, err := b.signIn()
	require.True(t, problem.Is(err, problem.Forbidden))
	listed, _, err := b.people.List(t.Context(), b.env.TenantID, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, listed)
}

// A person is made once, even by concurrent first sign-ins; the revocation of a person is final.
func TestRevokedPersonDoesNotReturnWithTheGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.signedIn()
	require.NoError(t, b.people.Revoke(t.Context(), b.env.TenantID, first.Session.Person.ID, "cli:test"))
	_, err := b.session(first.Cookie)
	require.Error(t, err)
	_, err = b.signIn()
	require.True(t, problem.Is(err, problem.Forbidden))
}

// An operator who could invite a person whom the provider signs in could register a passkey in that person's name.
func TestStaffCannotInviteAPersonOfAProvider(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.signedIn().Session.Person.ID
	scope := storetest.Scope(b.env)
	b.fake.change = func(c object) { c["sub"] = "another" }
	_, err := b.people.InviteAgainAs(t.Context(), scope, ada, staff.By{Person: b.signedIn().Session.Person.ID})
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
}

// Each case changes one thing about a valid ID token, so that the reason shows which check refused it.
// HS256 with the public key is the classic confusion of algorithms: a verifier that takes the algorithm from the token
// would accept it, because the public key is known to everyone.
func TestSpoiledTokensAreRefused(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(*bundle) {
		return func(b *bundle) { b.fake.change = func(c object) { c[name] = value } }
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		spoil  func(*bundle)
		reason sso.Reason
	}{
		"wrong nonce":            {set("nonce", "other"), sso.ReasonNonce},
		"no nonce":               {func(b *bundle) { b.fake.change = func(c object) { delete(c, "nonce") } }, sso.ReasonNonce},
		"wrong issuer":           {set("iss", "https://other.example"), sso.ReasonIssuer},
		"wrong audience":         {set("aud", "other"), sso.ReasonAudience},
		"several audiences":      {set("aud", []string{clientID, "other"}), sso.ReasonAudience},
		"authorized for another": {set("azp", "other"), sso.ReasonAudience},
		"expired":                {set("exp", storetest.Epoch.Add(-time.Second).Unix()), sso.ReasonExpired},
		"no subject":             {set("sub", ""), sso.ReasonIDToken},
		"different access token": {set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), sso.ReasonAccessToken},
		"algorithm none":         {func(b *bundle) { b.fake.sign = none }, sso.ReasonAlgorithm},
		"HS256 with a public key": {func(b *bundle) {
			b.fake.sign = func(p []byte) string { return b.fake.with(jwa.HS256, b.fake.publicPEM(), p) }
		}, sso.ReasonAlgorithm},
		"HS256 with the secret": {func(b *bundle) {
			b.fake.sign = func(p []byte) string { return b.fake.with(jwa.HS256, []byte(clientSecret), p) }
		}, sso.ReasonAlgorithm},
		"a stranger's key": {func(b *bundle) { b.fake.sign = func(p []byte) string { return b.fake.with(jwa.ES256, stranger, p) } }, sso.ReasonSignature},
		"no token":         {func(b *bundle) { b.fake.sign = func([]byte) string { return "" } }, sso.ReasonIDToken},
		"userinfo of another": {func(b *bundle) {
			b.fake.groups, b.fake.userinfo = nil, object{"sub": "subject-2", "groups": []string{"leads"}}
		}, sso.ReasonUserInfo},
		"a code of another client": {func(b *bundle) { b.fake.challenge = "other" }, sso.ReasonExchange},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			begun := b.begin("corp")
			q := b.fake.visit(begun.URL)
			c.spoil(b)
			_, err := b.finish(callback(begun, q))
			require.Equal(t, c.reason, sso.ReasonOf(err), "%v", err)
			require.True(t, problem.Is(err, problem.Forbidden))
			require.NotContains(t, b.types(), "person.provisioned")
		})
	}
}

// Each case changes one thing about a valid response. The state is checked first, so that nothing that a stranger sends
// reaches the provider.
func TestResponsesOfOtherFlowsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(b *bundle, in *sso.Callback)
		reason sso.Reason
	}{
		"no cookie":            {func(_ *bundle, in *sso.Callback) { in.Cookie = "" }, sso.ReasonState},
		"a forged cookie":      {func(_ *bundle, in *sso.Callback) { in.Cookie = "AAAA" }, sso.ReasonState},
		"a different state":    {func(_ *bundle, in *sso.Callback) { in.State = "other" }, sso.ReasonState},
		"no state":             {func(_ *bundle, in *sso.Callback) { in.State = "" }, sso.ReasonState},
		"a different browser":  {func(b *bundle, in *sso.Callback) { in.Cookie = b.begin("corp").Cookie }, sso.ReasonState},
		"after ten minutes":    {func(b *bundle, _ *sso.Callback) { b.clock.Advance(sso.FlowLife) }, sso.ReasonState},
		"the name of another":  {func(_ *bundle, in *sso.Callback) { in.Issuer = "https://other.example" }, sso.ReasonMixUp},
		"an error":             {func(_ *bundle, in *sso.Callback) { in.Code, in.Error = "", "access_denied" }, sso.ReasonReported},
		"a code and an error":  {func(_ *bundle, in *sso.Callback) { in.Error = "access_denied" }, sso.ReasonReported},
		"neither of both":      {func(_ *bundle, in *sso.Callback) { in.Code = "" }, sso.ReasonReported},
		"a spent code":         {func(b *bundle, in *sso.Callback) { b.fake.used[in.Code] = true }, sso.ReasonExchange},
		"an error before that": {func(_ *bundle, in *sso.Callback) { in.State, in.Error = "other", "access_denied" }, sso.ReasonState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			begun := b.begin("corp")
			in := callback(begun, b.fake.visit(begun.URL))
			c.change(b, &in)
			_, err := b.finish(in)
			require.Equal(t, c.reason, sso.ReasonOf(err), "%v", err)
		})
	}
}

// A provider that says it names itself in responses must do so (RFC 9207, section 2.4).
func TestMissingIssuerParameterIsRefusedIfTheProviderSupportsIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fake.metadata["authorization_response_iss_parameter_supported"] = true
	begun := b.begin("corp")
	in := callback(begun, b.fake.visit(begun.URL))
	_, err := b.finish(in)
	require.Equal(t, sso.ReasonMixUp, sso.ReasonOf(err))
	in.Issuer = b.fake.server.URL
	_, err = b.finish(in)
	require.NoError(t, err)
}

// Each sign-in under way has a cookie of its own. A browser has at most four: the oldest and the unusable ones go.
func TestSignInsInSeveralTabsHaveTheirOwnCookies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	jar := map[string]string{sso.FlowCookie + "forged": "AAAA"}
	var begun []sso.Begun
	for range 6 {
		for _, name := range b.service.Surplus(jar) {
			delete(jar, name)
		}
		begun = append(begun, b.begin("corp"))
		last := begun[len(begun)-1]
		jar[last.Name] = last.Cookie
		b.clock.Advance(time.Second)
	}
	require.Len(t, jar, 4)
	for _, one := range begun[2:] {
		in := callback(one, b.fake.visit(one.URL))
		require.Equal(t, one.Name, sso.CookieOf(in.State))
		require.Equal(t, one.Cookie, jar[one.Name])
		_, err := b.finish(in)
		require.NoError(t, err)
	}
	b.clock.Advance(sso.FlowLife)
	require.Len(t, b.service.Surplus(jar), 4, "expired")
}

// The page to open afterwards comes from a link. A long one would make the browser refuse the cookie.
func TestCookieOfASignInIsSmall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	begun, err := b.service.Begin(t.Context(), b.env.TenantID, "corp", "/console/"+strings.Repeat("x", 5000))
	require.NoError(t, err)
	require.Less(t, len(begun.Cookie), 1200)
	out, err := b.finish(callback(begun, b.fake.visit(begun.URL)))
	require.NoError(t, err)
	require.Empty(t, out.Next)
}

// Even a provider that accepts a code twice does not open two sessions.
func TestResponseOpensOneSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	begun := b.begin("corp")
	in := callback(begun, b.fake.visit(begun.URL))
	_, err := b.finish(in)
	require.NoError(t, err)
	clear(b.fake.used)
	_, err = b.finish(in)
	require.True(t, problem.Is(err, problem.AssertionChallenge), "%v", err)
}

// The response of one provider does not end the sign-in that began with another.
func TestProvidersAreNotMixedUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := newFakeProvider(t, b.clock.Now)
	second := b.settings()
	second.Name, second.Issuer = "second", other.server.URL
	b.set(second)
	begun := b.begin("second")
	in := callback(begun, other.visit(begun.URL))
	_, err := b.finish(in)
	require.Equal(t, sso.ReasonState, sso.ReasonOf(err), "the cookie is the other provider's")
	_, err = b.service.Finish(t.Context(), b.env.TenantID, "second", in, "req_1")
	require.NoError(t, err)
	_, err = b.service.Finish(t.Context(), b.env.TenantID, "absent", in, "req_1")
	require.True(t, problem.Is(err, problem.NotFound))
}

// Metadata comes from outside and names further URLs: each is subject to the same rules as the issuer.
// Failures and keys are remembered for seconds, so that requests of strangers do not become requests to the provider.
func TestMetadataIsCheckedAndCached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *fakeProvider)
	}{
		"of a different issuer":             {func(f *fakeProvider) { f.metadata["issuer"] = "https://other.example" }},
		"an authorization page of a secret": {func(f *fakeProvider) { f.metadata["authorization_endpoint"] = "http://10.0.0.1/" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c.change(b.fake)
			_, err := b.service.Begin(t.Context(), b.env.TenantID, "corp", "/console")
			require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
			require.Equal(t, sso.ReasonUnreachable, sso.ReasonOf(err))
			b.fake.metadata["issuer"], b.fake.metadata["authorization_endpoint"] = b.fake.server.URL, b.fake.server.URL+"/authorize"
			_, err = b.service.Begin(t.Context(), b.env.TenantID, "corp", "/console")
			require.Error(t, err, "the failure is remembered for seconds")
			b.clock.Advance(11 * time.Second)
			_, err = b.service.Begin(t.Context(), b.env.TenantID, "corp", "/console")
			require.NoError(t, err)
		})
	}
	t.Run("a token endpoint inside the network", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.fake.metadata["token_endpoint"] = "http://10.0.0.1/token"
		_, err := b.signIn()
		require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	})
	t.Run("forged tokens fetch no keys", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.signedIn()
		stranger := newFakeProvider(t, b.clock.Now)
		for range 20 {
			raw := stranger.logoutToken(object{"iss": b.fake.server.URL})
			require.Error(t, b.service.Logout(t.Context(), b.env.TenantID, "corp", raw, ""))
		}
		require.EqualValues(t, 1, b.fake.fetches.Load())
	})
}

// The cases are the steps of section 2.6 of OpenID Connect Back-Channel Logout 1.0. A token for people whom the console does not
// know is accepted: the provider sends one to every client.
func TestBackChannelLogoutEndsSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims object
		ends   bool
		reason sso.Reason
	}{
		"of a subject":       {nil, true, ""},
		"of a session":       {object{"sub": nil, "sid": "provider-session"}, true, ""},
		"of both":            {object{"sid": "provider-session"}, true, ""},
		"of another subject": {object{"sub": "subject-2"}, false, ""},
		"of another session": {object{"sub": nil, "sid": "other"}, false, ""},
		"without either":     {object{"sub": nil}, false, sso.ReasonLogoutToken},
		"without an event":   {object{"events": nil}, false, sso.ReasonLogoutToken},
		"of another event":   {object{"events": object{"http://schemas.openid.net/event/other": object{}}}, false, sso.ReasonLogoutToken},
		"with a nonce":       {object{"nonce": "n"}, false, sso.ReasonLogoutToken},
		"without an id":      {object{"jti": nil}, false, sso.ReasonLogoutToken},
		"without a time":     {object{"iat": nil}, false, sso.ReasonLogoutToken},
		"without an expiry":  {object{"exp": nil}, false, sso.ReasonLogoutToken},
		"expired":            {object{"exp": storetest.Epoch.Unix() - 1}, false, sso.ReasonExpired},
		"for another client": {object{"aud": "other"}, false, sso.ReasonAudience},
		"of another issuer":  {object{"iss": "https://other.example"}, false, sso.ReasonIssuer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			opened := b.signedIn()
			err := b.service.Logout(t.Context(), b.env.TenantID, "corp", b.fake.logoutToken(c.claims), "")
			if c.reason == "" {
				require.NoError(t, err)
			} else {
				require.Equal(t, c.reason, sso.ReasonOf(err), "%v", err)
			}
			_, err = b.session(opened.Cookie)
			require.Equal(t, c.ends, problem.Is(err, problem.Unauthenticated), "%v", err)
			require.Equal(t, c.ends, slices.Contains(b.types(), "person.signed_out"))
		})
	}
}

// A replayed token would let anyone who once saw it sign the person out for as long as it is valid.
func TestLogoutTokenIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.signedIn()
	raw := b.fake.logoutToken(nil)
	require.NoError(t, b.service.Logout(t.Context(), b.env.TenantID, "corp", raw, ""))
	opened := b.signedIn()
	require.Equal(t, sso.ReasonLogoutToken, sso.ReasonOf(b.service.Logout(t.Context(), b.env.TenantID, "corp", raw, "")))
	_, err := b.session(opened.Cookie)
	require.NoError(t, err, "a replayed token ends nothing")
}

// Without this, the invitation of a first passkey would open a new session after the provider signed the person out, with the roles
// that the provider may have withdrawn.
func TestInvitationEndsWithTheSessions(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bundle) error{
		"back-channel logout": func(b *bundle) error {
			return b.service.Logout(t.Context(), b.env.TenantID, "corp", b.fake.logoutToken(nil), "")
		},
		"changed settings": func(b *bundle) error {
			_, err := b.service.Set(t.Context(), b.env.TenantID, b.settings(), "cli:test")
			return err
		},
		"removed provider": func(b *bundle) error { return b.service.Remove(t.Context(), b.env.TenantID, "corp", "cli:test") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			refused := func(in staff.Invited, err error) {
				t.Helper()
				require.NoError(t, err)
				require.NoError(t, end(b))
				_, token, _ := strings.Cut(in.URL, "#")
				_, err = b.people.AcceptInvitation(t.Context(), token, json.RawMessage(`{}`), "")
				require.True(t, problem.Is(err, problem.GrantInvalid), "%v", err)
			}
			session := b.signedIn().Session
			refused(b.people.FirstPasskey(t.Context(), session, ""))
			_, err := b.people.FirstPasskey(t.Context(), session, "")
			require.True(t, problem.Is(err, problem.Unauthenticated), "a request under way invites no more: %v", err)
			if name != "removed provider" {
				refused(b.people.Invite(t.Context(), pg.Scope{Tenant: b.env.TenantID, Environment: b.env.ID}, session.Person.ID, "", "cli:test"))
			}
		})
	}
}

// Every message names the field and the rule.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		change func(*sso.Settings)
		says   string
	}{
		"name":              {func(s *sso.Settings) { s.Name = "Corp/1" }, "name must be 1 to 32"},
		"client id":         {func(s *sso.Settings) { s.ClientID = "" }, "client_id must have 1"},
		"issuer":            {func(s *sso.Settings) { s.Issuer = "https://10.0.0.1" }, "issuer cannot be used"},
		"changed issuer":    {func(s *sso.Settings) { s.Issuer += "/realm" }, "issuer cannot be changed"},
		"secret of the new": {func(s *sso.Settings) { s.Name, s.Issuer, s.ClientSecret = "new", s.Issuer+"/new", "" }, "client_secret is not set"},
		"scope":             {func(s *sso.Settings) { s.Scopes = []string{"a b"} }, "scopes must be"},
		"no group":          {func(s *sso.Settings) { s.Grants = nil }, "groups must map 1 to 100"},
		"role":              {func(s *sso.Settings) { s.Grants[0].Roles = []models.Role{"owner"} }, "reviewer, operator or auditor"},
		"environment":       {func(s *sso.Settings) { s.Grants[0].Environment = "env_x" }, "not one of the tenant's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := b.settings()
			c.change(&in)
			_, err := b.service.Set(context.WithoutCancel(t.Context()), b.env.TenantID, in, "cli:test")
			require.ErrorContains(t, err, c.says)
		})
	}
}

// New settings end the sessions of the provider's people, so that they apply to all; the removal takes their roles as well.
func TestSettingsApplyToEveryone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened := b.signedIn()
	in := b.settings()
	in.ClientSecret = "" // keeps the stored one
	in.Grants = in.Grants[1:]
	b.set(in)
	_, err := b.session(opened.Cookie)
	require.True(t, problem.Is(err, problem.Unauthenticated))
	_, err = b.signIn()
	require.True(t, problem.Is(err, problem.Forbidden), "the group gives no role any more")

	b.set(b.settings())
	opened = b.signedIn()
	require.NoError(t, b.service.Remove(t.Context(), b.env.TenantID, "corp", "cli:test"))
	_, err = b.session(opened.Cookie)
	require.True(t, problem.Is(err, problem.Unauthenticated))
	_, err = b.service.Begin(t.Context(), b.env.TenantID, "corp", "")
	require.True(t, problem.Is(err, problem.NotFound))
	listed, _, err := b.people.List(t.Context(), b.env.TenantID, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, listed[0].Grants)
	require.Contains(t, b.types(), "identity_provider.removed")
	require.True(t, problem.Is(b.service.Remove(t.Context(), b.env.TenantID, "corp", "cli:test"), problem.NotFound))
}

// A sign-in under way when the settings change is not completed with the old ones.
func TestSettingsChangedDuringASignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fake.change = func(object) {
		b.clock.Advance(time.Second)
		b.set(b.settings())
	}
	_, err := b.signIn()
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
}

// The audit log stays for years; the account names of people must not be in it.
func TestEventsNameNoAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.signedIn()
	rows, err := b.store.Pool().Query(t.Context(), "select to_jsonb(e) from events e where environment_id = $1", b.env.ID)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var raw json.RawMessage
		require.NoError(t, rows.Scan(&raw))
		for _, secret := range []string{"subject-1", "Ada Lovelace", clientSecret, "provider-session"} {
			require.NotContains(t, string(raw), secret)
		}
	}
}
