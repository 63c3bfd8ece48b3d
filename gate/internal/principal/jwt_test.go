package principal_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

type issuer struct {
	key *ecdsa.PrivateKey
	url string
}

func newIssuer(t *testing.T) issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	set := jwk.NewSet()
	for kid, raw := range map[string]any{"k1": key.PublicKey, "weak": weak(t), "secret": []byte(strings.Repeat("s", 32))} {
		public, err := jwk.FromRaw(raw)
		require.NoError(t, err)
		require.NoError(t, public.Set(jwk.KeyIDKey, kid))
		require.NoError(t, set.AddKey(public))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(set) }))
	t.Cleanup(server.Close)
	return issuer{key, server.URL}
}

func weak(t *testing.T) rsa.PublicKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key.N.Rsh(key.N, 1024)
	return key.PublicKey
}

func (i issuer) sign(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	headers := jws.NewHeaders()
	for name, value := range header {
		require.NoError(t, headers.Set(name, value))
	}
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	compact, err := jws.Sign(payload, jws.WithKey(jwa.ES256, i.key, jws.WithProtectedHeaders(headers)))
	require.NoError(t, err)
	return string(compact)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	j := &principal.JWT{Issuer: "https://idp.example", Audience: "app", Type: "at+jwt", Algorithms: []jwa.SignatureAlgorithm{jwa.ES256, jwa.RS256}, Claim: "sub", Keys: principal.NewKeys(i.url)}
	now := time.Now().Unix()
	header := func(changes map[string]any) map[string]any {
		out := map[string]any{"kid": "k1", "typ": "at+jwt"}
		for name, value := range changes {
			out[name] = value
		}
		return out
	}
	claims := func(changes map[string]any) map[string]any {
		out := map[string]any{"iss": "https://idp.example", "aud": []string{"other", "app"}, "sub": "alice", "exp": now + 60, "iat": now}
		for name, value := range changes {
			out[name] = value
		}
		return out
	}
	forged := newIssuer(t)
	good := i.sign(t, header(nil), claims(nil))
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1","typ":"at+jwt"}`))
	hmac := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"secret","typ":"at+jwt"}`))
	twice := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"k1","typ":"at+jwt","typ":"at+jwt"}`))
	for name, c := range map[string]struct {
		authorization string
		ok, missing   bool
	}{
		"valid":                {"Bearer " + good, true, false},
		"scheme in lower case": {"bearer " + good, true, false},
		"long type":            {"Bearer " + i.sign(t, header(map[string]any{"typ": "application/at+jwt"}), claims(nil)), true, false},
		"one audience":         {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"aud": "app"})), true, false},
		"no token":             {"", false, true},
		"basic":                {"Basic YWxpY2U6eA==", false, true},
		"two joined":           {"Bearer " + good + ", Bearer " + good, false, true},
		"other type":           {"Bearer " + i.sign(t, header(map[string]any{"typ": "JWT"}), claims(nil)), false, false},
		"no type":              {"Bearer " + i.sign(t, map[string]any{"kid": "k1"}, claims(nil)), false, false},
		"other issuer":         {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"iss": "https://evil.example"})), false, false},
		"other audience":       {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"aud": "other"})), false, false},
		"no audience":          {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"aud": nil})), false, false},
		"expired":              {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"exp": now - 60})), false, false},
		"no expiry":            {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"exp": nil})), false, false},
		"not valid yet":        {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"nbf": now + 600})), false, false},
		"no subject":           {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"sub": nil})), false, false},
		"subject is no id":     {"Bearer " + i.sign(t, header(nil), claims(map[string]any{"sub": "a b"})), false, false},
		"unknown key":          {"Bearer " + i.sign(t, header(map[string]any{"kid": "k9"}), claims(nil)), false, false},
		"weak key":             {"Bearer " + i.sign(t, header(map[string]any{"kid": "weak"}), claims(nil)), false, false},
		"critical extension":   {"Bearer " + i.sign(t, header(map[string]any{"crit": []string{"x"}, "x": true}), claims(nil)), false, false},
		"own key set":          {"Bearer " + i.sign(t, header(map[string]any{"jku": forged.url}), claims(nil)), false, false},
		"forged":               {"Bearer " + forged.sign(t, header(nil), claims(nil)), false, false},
		"alg none":             {"Bearer " + none + "." + parts[1] + ".AA", false, false},
		"alg HS256":            {"Bearer " + hmac + "." + parts[1] + "." + parts[2], false, false},
		"header member twice":  {"Bearer " + twice + "." + parts[1] + "." + parts[2], false, false},
		"no signature":         {"Bearer " + parts[0] + "." + parts[1] + ".", false, false},
		"lax base64":           {"Bearer " + good + "=", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &request.Request{Header: http.Header{}}
			if c.authorization != "" {
				r.Header.Set("Authorization", c.authorization)
			}
			p, err := j.Of(t.Context(), r)
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, "alice", p.Subject)
				return
			}
			var refused *principal.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.missing, refused.Missing)
		})
	}
}

func TestKeysThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	i := newIssuer(t)
	j := &principal.JWT{Issuer: "i", Audience: "app", Type: "at+jwt", Algorithms: []jwa.SignatureAlgorithm{jwa.ES256}, Claim: "sub", Keys: principal.NewKeys(server.URL)}
	_, err := j.Verify(t.Context(), i.sign(t, map[string]any{"kid": "k1", "typ": "at+jwt"}, map[string]any{"iss": "i", "aud": "app", "sub": "alice", "exp": time.Now().Unix() + 60}))
	require.ErrorIs(t, err, principal.ErrUnavailable)
}
