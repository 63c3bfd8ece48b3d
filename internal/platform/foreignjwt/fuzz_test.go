package foreignjwt

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func token(header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode([]byte("signature"))
}

// A token of an identity provider, of a sign-in or of security events, is read within its bounds or refused before its signature costs anything.
func FuzzToken(f *testing.F) {
	for _, payload := range []string{
		`{"iss":"https://idp.example","sub":"a","exp":1e9}`, `{"jti":"j","iat":1.5,"events":{"https://schemas.openid.net/secevent/caep/event-type/session-revoked":{}}}`,
		`{"exp":253402300800}`, `{"exp":null}`, `{"exp":-1}`, `{"exp":1e400}`, `{"SUB":"a","sub":"b"}`, `{"sub":"a\u0000"}`, `{"sub":"\ud800"}`, `{"sub":"a","sub":"b"}`, `[]`, `{"aud":[1]}`, `{"nonce":7}`,
	} {
		f.Add(`{"alg":"RS256","typ":"secevent+jwt","kid":"k"}`, payload)
		f.Add(`{"alg":"none"}`, payload)
	}
	f.Add(`{"alg":"ES256","crit":["b64"],"b64":false}`, `{}`)
	kind := Kind{Max: 1 << 10, Types: []string{"", "jwt", "secevent+jwt"}}
	f.Fuzz(func(t *testing.T, header, payload string) {
		text := token(header, payload)
		claims, err := kind.Read(text)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(text), kind.Max)
		require.NotContains(t, strings.ToLower(header), `"none"`)
		for _, name := range []string{"exp", "iat", "nbf", "auth_time"} {
			if at, has := claims.Time(name); has {
				require.True(t, at.Year() >= 1970 && at.Year() <= 9999, "%s", at)
				_, err := at.MarshalJSON()
				require.NoError(t, err)
			}
		}
	})
}

// Whatever a provider publishes as keys takes a bounded time to read, and what is no public key of a known size is left out.
func FuzzKeySet(f *testing.F) {
	for _, seed := range []string{
		`{"keys":[]}`, `{"keys":[{"kty":"RSA","n":"` + modulus(2048) + `","e":"AQAB"}]}`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`,
		`{"keys":{}}`, `{"keys":[null]}`, `{"Keys":[]}`, `[]`, `{"keys":[{"kty":"RSA","n":"!","e":"AQAB","x5c":["!"]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		began := time.Now()
		set, n, err := Parse(raw)
		require.Less(t, time.Since(began), 5*time.Second)
		require.True(t, err != nil || n <= maxKeys && set != nil)
	})
}
