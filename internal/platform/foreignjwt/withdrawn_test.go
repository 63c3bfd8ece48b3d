package foreignjwt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
)

// A key that an issuer withdraws ends within five minutes, and one that it adds counts as soon as keys may be fetched again. No token has the keys fetched
// more often.
func TestWithdrawnKeysEnd(t *testing.T) {
	t.Parallel()
	now := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	before, after := signer(t, "before"), signer(t, "after")
	var published atomic.Pointer[jwk.Key]
	published.Store(&before.public)
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		_ = json.NewEncoder(out).Encode(map[string]any{"keys": []any{*published.Load()}})
	}))
	t.Cleanup(server.Close)
	keys := foreignjwt.NewKeys(server.Client(), now).At(server.URL)
	verify := func(token string) error {
		_, err := keys.VerifySignature(t.Context(), token)
		return err
	}
	require.NoError(t, verify(before.token))
	published.Store(&after.public)
	require.Error(t, verify(after.token), "the keys were fetched a moment ago")
	now.Advance(5*time.Minute - time.Nanosecond)
	require.NoError(t, verify(before.token), "the keys of before count until they are fetched again")
	require.NoError(t, verify(after.token), "an unknown key has them fetched")
	require.Error(t, verify(before.token))
	require.EqualValues(t, 2, fetched.Load())

	published.Store(&before.public)
	now.Advance(5 * time.Minute)
	require.Error(t, verify(after.token), "the withdrawn key ends without another's token")
	require.NoError(t, verify(before.token))
	require.EqualValues(t, 3, fetched.Load())
}

type signed struct {
	public jwk.Key
	token  string
}

func signer(t *testing.T, id string) signed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwk.FromRaw(key.PublicKey)
	require.NoError(t, err)
	require.NoError(t, public.Set(jwk.KeyIDKey, id))
	h := jws.NewHeaders()
	require.NoError(t, h.Set(jws.KeyIDKey, id))
	token, err := jws.Sign([]byte("{}"), jws.WithKey(jwa.ES256, key, jws.WithProtectedHeaders(h)))
	require.NoError(t, err)
	return signed{public, string(token)}
}
