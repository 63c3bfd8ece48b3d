package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/models"
)

// navigator is a browser with cookies that follows no redirect by itself.
type navigator struct {
	t      *testing.T
	client *http.Client
}

func newNavigator(t *testing.T) *navigator {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &navigator{t: t, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (n *navigator) open(address string) visit {
	n.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	require.NoError(n.t, err)
	req.Header.Set("Accept", "text/html")
	res, err := n.client.Do(req)
	require.NoError(n.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(n.t, err)
	out := visit{status: res.StatusCode, body: string(body)}
	if at, err := res.Location(); err == nil {
		out.location = at.String()
	}
	return out
}

// travel begins a sign-in and follows the identity provider's pages until they lead back to the console. It returns that address.
func (n *navigator) travel(start string) string {
	n.t.Helper()
	at := n.open(start)
	require.Equal(n.t, http.StatusSeeOther, at.status, at.body)
	return n.follow(at)
}

// follow follows the identity provider's pages from the redirect that begins a sign-in.
func (n *navigator) follow(at visit) string {
	n.t.Helper()
	for range 10 {
		if strings.HasPrefix(at.location, shared.baseURL) {
			return at.location
		}
		next := at.location
		at = n.open(next)
		require.NotEmpty(n.t, at.location, "%s: %s", next, at.body)
	}
	require.Fail(n.t, "the provider redirects without end")
	return ""
}

// signedIn reports whether the browser has a session.
func (n *navigator) signedIn(w world) bool {
	return n.open(shared.baseURL+"/console/"+w.ID+"/keys").status == http.StatusOK
}

// visitor returns a browser with the same session.
func (n *navigator) visitor() *visitor {
	n.t.Helper()
	at, err := url.Parse(shared.baseURL)
	require.NoError(n.t, err)
	v := anonymous(n.t)
	for _, k := range n.client.Jar.Cookies(at) {
		if k.Name == "console_session" {
			v.cookie = k
		}
	}
	require.NotNil(n.t, v.cookie)
	return v
}

// registerFirst registers the first passkey of a person whom a provider signed in.
func (v *visitor) registerFirst() {
	v.t.Helper()
	begun := v.submit("/console/first-passkey", nil)
	require.Equal(v.t, http.StatusSeeOther, begun.status, begun.body)
	_, token, ok := strings.Cut(begun.location, "/console/invitation#")
	require.True(v.t, ok, begun.location)
	v.register(token)
}

// companies are two identity providers of one tenant.
type companies struct {
	t       *testing.T
	w       world
	issuers []string
}

// newCompanies runs the program and sets both providers up, under the names first and second.
func newCompanies(t *testing.T) companies {
	t.Helper()
	c := companies{t: t, w: newSandbox(t)}
	first, second := shared.SSO.AddressesOf(c.w.TenantID, "first"), shared.SSO.AddressesOf(c.w.TenantID, "second")
	c.issuers = apitest.OIDCProviders(t, filepath.Join("testdata", "oidcprovider"), object{
		"client_id": "countersign", "client_secret": "a secret & more: %2F", "redirect_uris": []string{first.Callback, second.Callback},
		"backchannel_logout_uri": first.Logout,
	})
	for i, name := range []string{"first", "second"} {
		_, err := shared.SSO.Set(t.Context(), c.w.TenantID, sso.Settings{
			Name: name, Label: "Company " + name, Issuer: c.issuers[i], ClientID: "countersign", ClientSecret: "a secret & more: %2F", Scopes: []string{"groups"},
			Grants: []models.ProviderGrant{{Group: "leads", Environment: c.w.ID, Roles: []models.Role{models.RoleOperator, models.RoleReviewer}}},
			Listed: i == 0,
		}, "cli:test")
		require.NoError(t, err)
	}
	return c
}

// control changes the first provider.
func (c companies) control(changes object) {
	c.t.Helper()
	body, err := json.Marshal(changes)
	require.NoError(c.t, err)
	res, err := http.Post(c.issuers[0]+"/control", "application/json", bytes.NewReader(body))
	require.NoError(c.t, err)
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, res.StatusCode, "%s", said)
}

func (c companies) start(name string) string {
	return shared.baseURL + sso.Path(c.w.TenantID, name) + "?next=" + url.QueryEscape("/console/"+c.w.ID+"/reviews")
}

// in signs a new browser in with the first provider.
func (c companies) in() (*navigator, visit) {
	c.t.Helper()
	n := newNavigator(c.t)
	return n, n.open(n.travel(c.start("first")))
}

// The npm package oidc-provider, a certified OpenID provider, signs staff in; spoiled responses of it are refused.
func TestSingleSignOnWithAnOIDCProvider(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)

	require.Contains(t, anonymous(t).get("/console/sign-in").body, sso.Path(c.w.TenantID, "first"))
	require.NotContains(t, anonymous(t).get("/console/sign-in").body, sso.Path(c.w.TenantID, "second"), "the second is not listed")
	n, done := c.in()
	require.Equal(t, http.StatusOK, done.status, done.body)
	require.Contains(t, done.body, "/console/"+c.w.ID+"/reviews")
	page := n.open(shared.baseURL + "/console/" + c.w.ID + "/reviews")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "Ada Lovelace")
	require.Contains(t, page.body, "You have no passkey yet")

	now := time.Now()
	for _, s := range []struct {
		name   string
		spoil  object
		reason sso.Reason
	}{
		{"wrong nonce", object{"claims": object{"nonce": "other"}}, sso.ReasonNonce},
		{"wrong issuer", object{"claims": object{"iss": c.issuers[1]}}, sso.ReasonIssuer},
		{"wrong audience", object{"claims": object{"aud": "other"}}, sso.ReasonAudience},
		{"expired", object{"claims": object{"exp": now.Add(-time.Minute).Unix()}}, sso.ReasonExpired},
		{"algorithm none", object{"alg": "none"}, sso.ReasonAlgorithm},
		{"HS256 with the public key", object{"alg": "HS256"}, sso.ReasonAlgorithm},
		{"a stranger's key", object{"alg": "stranger"}, sso.ReasonSignature},
	} {
		c.control(object{"spoil": s.spoil})
		n, out := c.in()
		require.Equal(t, http.StatusForbidden, out.status, s.name)
		require.Contains(t, out.body, "("+string(s.reason)+")", s.name)
		require.False(t, n.signedIn(c.w), s.name)
		eventually(t, func() bool {
			return count(t, `select count(*) from events where environment_id = $1 and type = 'person.sign_in_failed'
				and data->>'reason' = $2 and data->>'identity_provider' like 'idp\_%'`, c.w.ID, s.reason) == 1
		}, s.name)
	}
	c.control(object{"spoil": nil})
	_, done = c.in()
	require.Equal(t, http.StatusOK, done.status, done.body)
}

func TestSingleSignOnRefusesReplaysAndMixUps(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	n := newNavigator(t)
	back := n.travel(c.start("first"))
	require.Contains(t, back, "iss="+url.QueryEscape(c.issuers[0]), "the provider names itself")

	stranger := newNavigator(t)
	out := stranger.open(back)
	require.Equal(t, http.StatusForbidden, out.status, "a different browser")
	require.False(t, stranger.signedIn(c.w))

	mixed := newNavigator(t)
	response, err := url.Parse(mixed.travel(c.start("first")))
	require.NoError(t, err)
	q := response.Query()
	q.Set("iss", c.issuers[1])
	response.RawQuery = q.Encode()
	out = mixed.open(response.String())
	require.Contains(t, out.body, "("+string(sso.ReasonMixUp)+")", "the response of another provider")

	crossed := newNavigator(t)
	other := strings.Replace(crossed.travel(c.start("first")), "/first/", "/second/", 1)
	require.Equal(t, http.StatusForbidden, crossed.open(other).status, "the address of another provider")

	jar := n.client.Jar
	at, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	before := jar.Cookies(at)
	require.Equal(t, http.StatusOK, n.open(back).status)
	require.True(t, n.signedIn(c.w))
	again := newNavigator(t)
	again.client.Jar.SetCookies(at, before)
	out = again.open(back)
	require.Equal(t, http.StatusForbidden, out.status, "the same code and state")
	require.Contains(t, out.body, "("+string(sso.ReasonExchange)+")", "the provider knows the code is spent")
	require.Equal(t, http.StatusForbidden, n.open(back).status, "without the cookie, which was deleted")
}

// Two tabs sign in at once. What a stranger makes the browser open ends neither.
func TestSingleSignOnInTwoTabs(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	n := newNavigator(t)
	first, second := n.open(c.start("first")), n.open(c.start("first"))
	foreign, err := url.Parse(shared.SSO.AddressesOf(c.w.TenantID, "first").Callback)
	require.NoError(t, err)
	for _, state := range []string{"", "foreign", strings.Repeat("x", 5000)} {
		foreign.RawQuery = url.Values{"state": {state}, "code": {"c"}, "error": {"access_denied"}}.Encode()
		require.GreaterOrEqual(t, n.open(foreign.String()).status, http.StatusBadRequest)
	}
	back := n.follow(second)
	out := n.open(back)
	require.Equal(t, http.StatusOK, out.status, out.body)
	out = n.open(n.follow(first))
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.True(t, n.signedIn(c.w))
	require.Equal(t, http.StatusForbidden, n.open(back).status, "its cookie was deleted")
}

// Groups are evaluated at each sign-in; a logout at the provider reaches the console.
func TestSingleSignOnEndsWithTheGroupAndAtTheProvider(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	n, done := c.in()
	require.Equal(t, http.StatusOK, done.status, done.body)
	c.control(object{"logout": object{"sub": "a stranger"}})
	require.True(t, n.signedIn(c.w))
	c.control(object{"logout": object{"sub": "ada"}})
	require.False(t, n.signedIn(c.w), "back-channel logout")

	n, _ = c.in()
	require.True(t, n.signedIn(c.w))
	c.control(object{"groups": []string{"interns"}})
	left, out := c.in()
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "None of your groups")
	require.False(t, left.signedIn(c.w))
	require.False(t, n.signedIn(c.w), "the earlier session ended as well")
	c.control(object{"groups": []string{"leads"}})
	n, _ = c.in()
	require.True(t, n.signedIn(c.w), "the person returns with the group")
}

// A person whom an identity provider signed in changes nothing until they have registered a passkey, which signs no one in.
func TestSingleSignOnRequiresAPasskeyForChanges(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	n, done := c.in()
	require.Equal(t, http.StatusOK, done.status, done.body)
	v := n.visitor()
	held := c.w.consoleRecords(t).held
	review := "/console/" + c.w.ID + "/reviews/" + held
	require.Equal(t, http.StatusForbidden, v.submit(review, url.Values{"resolution": {"reject"}, "note": {"Not expected."}}).status)
	refused := v.script("/console/"+c.w.ID+"/confirm/options", object{})
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "You have no passkey yet")

	v.registerFirst()
	require.NotContains(t, v.get("/console/"+c.w.ID+"/reviews").body, "You have no passkey yet")
	require.Equal(t, http.StatusConflict, v.submit("/console/first-passkey", nil).status, "one passkey is enough")
	resolved := v.submit(review, url.Values{"resolution": {"reject"}, "note": {"Not expected."}})
	require.Equal(t, http.StatusSeeOther, resolved.status, resolved.body)

	options := v.script("/console/sign-in/options", object{})
	parsed, err := virtualwebauthn.ParseAssertionOptions(options.body)
	require.NoError(t, err)
	v.key.Counter++
	signed := virtualwebauthn.CreateAssertionResponse(v.rp(), *v.device, v.key, *parsed)
	out := anonymous(t).script("/console/sign-in", object{"credential": json.RawMessage(signed)})
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "identity provider")
}
