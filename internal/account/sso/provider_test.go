package sso_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"
)

type object = map[string]any

const (
	clientID     = "countersign"
	clientSecret = "a secret: with & signs"
)

// fakeProvider is an OpenID Connect provider whose tokens a test can spoil. Unlike a real one it signs whatever a test asks for,
// which is the only way to see each check refuse. It verifies the client secret and PKCE as a real one does. The tests of
// integration use a real provider.
type fakeProvider struct {
	t        *testing.T
	server   *httptest.Server
	key      *ecdsa.PrivateKey
	now      func() time.Time
	metadata object

	// The account that signs in.
	groups any
	name   string

	change   func(claims object)         // of the next ID token
	sign     func(payload []byte) string // in place of the provider's signature
	userinfo object                      // nil: no groups there
	fetches  atomic.Int32                // of the keys

	typ       string      // of tokens; empty for none
	withdrawn atomic.Bool // the key is published no more

	nonce, challenge string // of the last authorization request
	used             map[string]bool
}

func newFakeProvider(t *testing.T, now func() time.Time) *fakeProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f := &fakeProvider{t: t, key: key, now: now, groups: []string{"leads"}, name: "Ada Lovelace", used: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, f.metadata) })
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		f.fetches.Add(1)
		public, err := jwk.FromRaw(key.Public())
		require.NoError(t, err)
		require.NoError(t, public.Set(jwk.KeyIDKey, "k1"))
		set := jwk.NewSet()
		if !f.withdrawn.Load() {
			require.NoError(t, set.AddKey(public))
		}
		reply(w, 200, set)
	})
	mux.HandleFunc("POST /token", f.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, f.userinfo) })
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	at := f.server.URL
	f.metadata = object{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/jwks",
		"userinfo_endpoint": at + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256", "none", "HS256"},
	}
	return f
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// visit is the browser at the authorization endpoint: the person signs in, and a code comes back.
func (f *fakeProvider) visit(begun string) url.Values {
	f.t.Helper()
	u, err := url.Parse(begun)
	require.NoError(f.t, err)
	q := u.Query()
	require.Equal(f.t, "S256", q.Get("code_challenge_method"))
	require.Equal(f.t, "code", q.Get("response_type"))
	f.nonce, f.challenge = q.Get("nonce"), q.Get("code_challenge")
	require.NotEmpty(f.t, f.nonce)
	return url.Values{"code": {rand.Text()}, "state": {q.Get("state")}}
}

// token is the token endpoint. A client sends its id and secret URL-encoded within Basic authentication (RFC 6749, section
// 2.3.1), so the secret of the tests contains characters that differ when encoded.
func (f *fakeProvider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	code := r.FormValue("code")
	if id != clientID || secret != clientSecret || f.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || f.used[code] {
		reply(w, 400, object{"error": "invalid_grant"})
		return
	}
	f.used[code] = true
	claims := object{
		"iss": f.server.URL, "sub": "subject-1", "aud": clientID, "exp": f.now().Add(5 * time.Minute).Unix(), "iat": f.now().Unix(),
		"nonce": f.nonce, "name": f.name, "sid": "provider-session",
	}
	if f.groups != nil {
		claims["groups"] = f.groups
	}
	if f.change != nil {
		f.change(claims)
	}
	reply(w, 200, object{"access_token": "access", "token_type": "Bearer", "id_token": f.signed(claims)})
}

// signed signs claims as the provider does, or as the test does.
func (f *fakeProvider) signed(claims object) string {
	payload, err := json.Marshal(claims)
	require.NoError(f.t, err)
	if f.sign != nil {
		return f.sign(payload)
	}
	return f.with(jwa.ES256, f.key, payload)
}

func (f *fakeProvider) with(alg jwa.SignatureAlgorithm, key any, payload []byte) string {
	f.t.Helper()
	header := jws.NewHeaders()
	require.NoError(f.t, header.Set(jws.KeyIDKey, "k1"))
	if f.typ != "" {
		require.NoError(f.t, header.Set(jws.TypeKey, f.typ))
	}
	out, err := jws.Sign(payload, jws.WithKey(alg, key, jws.WithProtectedHeaders(header)))
	require.NoError(f.t, err)
	return string(out)
}

// publicPEM is the provider's public key as a program that confuses keys would use it as an HMAC secret.
func (f *fakeProvider) publicPEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(f.key.Public())
	require.NoError(f.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// logoutToken returns a logout token with changed claims; a nil value removes a claim.
func (f *fakeProvider) logoutToken(changed object) string {
	claims := object{
		"iss": f.server.URL, "sub": "subject-1", "aud": clientID, "iat": f.now().Unix(), "exp": f.now().Add(2 * time.Minute).Unix(), "jti": rand.Text(),
		"events": object{"http://schemas.openid.net/event/backchannel-logout": object{}},
	}
	maps.Copy(claims, changed)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return f.signed(claims)
}

// none returns an unsigned token.
func none(payload []byte) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
}
