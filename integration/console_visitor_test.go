package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// visitor is a headless browser of the console: it stores the session cookie and sends Sec-Fetch-Site.
type visitor struct {
	t      testing.TB
	base   string
	cookie *http.Cookie
	person string
	device *virtualwebauthn.Authenticator
	key    virtualwebauthn.Credential
}

// visit is a response of the console.
type visit struct {
	status   int
	location string
	header   http.Header
	body     string
}

func (v *visitor) get(path string) visit { return v.do(http.MethodGet, path, "", nil, "text/html") }

// submit sends a form.
func (v *visitor) submit(path string, form url.Values) visit {
	return v.do(http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()), "text/html")
}

// script sends JSON as a page's script does.
func (v *visitor) script(path string, body any) visit {
	v.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(v.t, err)
	return v.do(http.MethodPost, path, "application/json", text, "application/json")
}

func (v *visitor) do(method, path, contentType string, body []byte, accept string) visit {
	v.t.Helper()
	req, err := http.NewRequest(method, v.base+path, bytes.NewReader(body))
	require.NoError(v.t, err)
	req.Header.Set("Accept", accept)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if v.cookie != nil {
		req.AddCookie(v.cookie)
	}
	resp, err := apitest.Client.Do(req)
	require.NoError(v.t, err)
	defer func() { _ = resp.Body.Close() }()
	for _, c := range resp.Cookies() {
		if c.Name == "console_session" {
			v.cookie = c
		}
	}
	out := visit{status: resp.StatusCode, location: resp.Header.Get("Location"), header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return out // the body has no end
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	out.body = string(text)
	require.NotEmpty(v.t, resp.Header.Get("Content-Security-Policy"), "%s %s", method, path)
	return out
}

func anonymous(t testing.TB) *visitor { return &visitor{t: t, base: shared.baseURL} }

// signedIn creates a staff member with these roles in the environment and signs them in.
func (w world) signedIn(t testing.TB, roles ...models.Role) *visitor {
	t.Helper()
	in, err := w.process.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: roles}, "cli:test")
	require.NoError(t, err)
	_, token, ok := strings.Cut(in.URL, "#")
	require.True(t, ok)
	v := &visitor{t: t, base: w.process.BaseURL, person: in.Person.ID}
	v.register(token)
	require.NoError(t, w.process.People.ConfirmIdentity(t.Context(), w.scope(), v.person, "test:second operator"))
	return v
}

// register accepts an invitation with a new passkey.
func (v *visitor) register(token string) {
	v.t.Helper()
	options := v.script("/console/invitation/options", object{"token": token})
	require.Equal(v.t, 200, options.status, options.body)
	parsed, err := virtualwebauthn.ParseAttestationOptions(options.body)
	require.NoError(v.t, err)
	made := virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(parsed.UserID)})
	v.device = &made
	v.key = newCredential()
	answer := virtualwebauthn.CreateAttestationResponse(v.rp(), made, v.key, *parsed)
	done := v.script("/console/invitation", object{"token": token, "credential": json.RawMessage(answer)})
	require.Equal(v.t, 200, done.status, done.body)
	require.NotNil(v.t, v.cookie)
}

// signIn sends a new assertion of the visitor's passkey, from another browser.
func (v *visitor) signIn() visit { return v.signInFrom(&visitor{t: v.t, base: v.base}) }

func (v *visitor) signInFrom(browser *visitor) visit {
	v.t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(v.script("/console/sign-in/options", object{}).body)
	require.NoError(v.t, err)
	v.key.Counter++
	signed := virtualwebauthn.CreateAssertionResponse(v.rp(), *v.device, v.key, *parsed)
	return browser.script("/console/sign-in", object{"credential": json.RawMessage(signed)})
}

func (v *visitor) rp() virtualwebauthn.RelyingParty {
	return virtualwebauthn.RelyingParty{ID: "localhost", Name: "x", Origin: v.base}
}
