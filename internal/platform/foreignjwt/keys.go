package foreignjwt

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/lestrrat-go/jwx/v2/jwk"

	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

const (
	// keysLife is how long an issuer's keys are used before they are fetched again: a key that the issuer withdrew ends within it.
	keysLife = 5 * time.Minute
	// maxKeySet is the size of a key set in bytes, and maxKeys how many of its keys are used.
	maxKeySet = 256 << 10
	maxKeys   = 50
	// maxTried is how many keys a token without a key id is compared with.
	maxTried = 5
	// The sizes of RSA keys in bits. Verifying costs the square of the size, and anyone can send a token.
	minRSABits, maxRSABits = 2048, 8192
	// maxExponent is the largest RSA exponent.
	maxExponent = 1<<32 - 1
)

// publicKey is a key of an issuer that may have signed a token.
type publicKey struct {
	id, algorithm string // of the set; empty for none
	key           crypto.PublicKey
}

// keySet is the set of keys that an issuer published at a time.
type keySet struct {
	keys []publicKey
	at   time.Time
}

// Keys fetches the keys of issuers. It is safe for concurrent use.
type Keys struct {
	client *http.Client
	clock  clock.Clock
	known  cache.Cache[keySet] // by address
}

// NewKeys returns keys that are fetched by a Client.
func NewKeys(client *http.Client, c clock.Clock) *Keys {
	return &Keys{client: client, clock: c, known: cache.Cache[keySet]{Max: MaxDocuments}}
}

// At returns what verifies signatures with the keys that are published at an address now. The form of a token is checked before (Kind.Read).
func (k *Keys) At(url string) oidc.KeySet { return remoteKeys{k, url} }

// remoteKeys verifies signatures with the keys that an issuer publishes now (oidc.KeySet).
type remoteKeys struct {
	keys *Keys
	url  string
}

// VerifySignature implements oidc.KeySet.
func (r remoteKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	set, err := r.keys.at(ctx, r.url, false)
	if err != nil {
		return nil, &Unreachable{err}
	}
	if payload, err := set.VerifySignature(ctx, jwt); err == nil {
		return payload, nil
	}
	// The issuer may have rotated since. Forged tokens must not become requests to it.
	if r.keys.clock.Now().Sub(set.at) >= keysAge {
		if set, err = r.keys.at(ctx, r.url, true); err != nil {
			return nil, &Unreachable{err}
		}
	}
	return set.VerifySignature(ctx, jwt)
}

// Unreachable is the error of keys that could not be fetched.
type Unreachable struct{ cause error }

// Error implements error.
func (u *Unreachable) Error() string { return u.cause.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.cause }

// Parse returns what verifies signatures with the keys of a set (RFC 7517), and how many keys it has.
func Parse(raw []byte) (oidc.KeySet, int, error) {
	keys, err := parseKeys(raw)
	return keySet{keys: keys}, len(keys), err
}

// VerifySignature implements oidc.KeySet: it verifies a token with the keys that its header may mean.
func (s keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	h, err := headerOf(jwt)
	if err != nil {
		return nil, err
	}
	var candidates []crypto.PublicKey
	for _, k := range s.keys {
		if (h.KeyID == "" || k.id == h.KeyID) && (k.algorithm == "" || k.algorithm == h.Algorithm) && signs(k.key, h.Algorithm) && len(candidates) < maxTried {
			candidates = append(candidates, k.key)
		}
	}
	return (&oidc.StaticKeySet{PublicKeys: candidates}).VerifySignature(ctx, jwt)
}

// signs reports whether a key is one of an algorithm (RFC 7518, section 3.1).
func signs(key crypto.PublicKey, algorithm string) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return algorithm[0] == 'R' || algorithm[0] == 'P'
	case *ecdsa.PublicKey:
		return algorithm == map[elliptic.Curve]string{elliptic.P256(): oidc.ES256, elliptic.P384(): oidc.ES384, elliptic.P521(): oidc.ES512}[k.Curve]
	case ed25519.PublicKey:
		return algorithm == oidc.EdDSA
	default:
		return false
	}
}

// at returns the keys at an address, fetched at most keysLife ago; again fetches them now.
func (k *Keys) at(ctx context.Context, url string, again bool) (keySet, error) {
	now := k.clock.Now()
	if set, until := k.known.Get(url); now.Before(until) && !again {
		return set, nil
	}
	return k.known.Fetch(ctx, url, now.Add(keysLife), func(ctx context.Context) (keySet, error) {
		raw, err := Get(ctx, k.client, Request{URL: url, Limit: maxKeySet})
		if err != nil {
			return keySet{}, fmt.Errorf("fetching keys: %w", err)
		}
		keys, err := parseKeys(raw)
		return keySet{keys: keys, at: now}, err
	})
}

// parseKeys returns the usable keys of a set (RFC 7517). Others are left out, as the standard asks: a provider may publish keys for purposes of its own.
func parseKeys(raw []byte) ([]publicKey, error) {
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := strictjson.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys; at most %d are supported", len(set.Keys), maxKeys)
	}
	var out []publicKey
	for _, member := range set.Keys {
		if k, ok := parseKey(member); ok {
			out = append(out, k)
		}
	}
	return out, nil
}

// parseKey returns a key that verifies signatures; false for any other.
func parseKey(member map[string]any) (publicKey, bool) {
	text := func(name string) string {
		s, _ := member[name].(string)
		return s
	}
	out := publicKey{id: text("kid"), algorithm: text("alg")}
	// A modulus that is too long is not even decoded: base64 has six bits a character.
	if use := text("use"); use != "" && use != "sig" || len(text("n")) > maxRSABits/6+8 || text("kty") == "oct" {
		return out, false
	}
	raw, err := json.Marshal(member)
	if err != nil {
		return out, false
	}
	key, err := jwk.ParseKey(raw)
	if err != nil {
		return out, false
	}
	// A private key that someone publishes is used as its public part.
	public, err := key.PublicKey()
	if err != nil || public.Raw(&out.key) != nil {
		return out, false
	}
	switch k := out.key.(type) {
	case rsa.PublicKey:
		out.key = &k
	case ecdsa.PublicKey:
		out.key = &k
	}
	switch k := out.key.(type) {
	case *rsa.PublicKey:
		return out, k.N.BitLen() >= minRSABits && k.N.BitLen() <= maxRSABits && k.E > 2 && k.E%2 == 1 && k.E <= maxExponent
	case *ecdsa.PublicKey:
		_, err := k.ECDH() // checks curve and point
		return out, err == nil
	case ed25519.PublicKey:
		return out, true
	default:
		return out, false
	}
}

// Request is a request for a document. Limit is the most bytes of it that are accepted.
type Request struct {
	URL    string
	Limit  int64
	Header http.Header
}

// Get returns the body of a successful response of an issuer.
func Get(ctx context.Context, client *http.Client, r Request) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, r.Limit+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the provider responded with status %d", res.StatusCode)
	case int64(len(body)) > r.Limit:
		return nil, errors.New("the provider's response is too long")
	}
	return body, nil
}
