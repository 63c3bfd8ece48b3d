package principal

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
)

// How long a fetched set is used, until when at most if it cannot be fetched again, how soon after a fetch the next may follow, so that
// tokens with invented key ids do not cause fetches, and the limits of a fetch.
const (
	keepFor      = 5 * time.Minute
	keepAtMost   = time.Hour
	refetchAfter = 10 * time.Second
	fetchWithin  = 3 * time.Second
	maxSet       = 1 << 20 // bytes
	maxKeys      = 100
)

// Bounds of an RSA key in bits: a longer one costs more CPU time than a request may.
const minRSA, maxRSA = 2048, 4096

var errUnknownKey = errors.New("no key of the issuer has this id")

// Keys are the keys of an issuer, fetched at first use and again when they are old or lack a key. It is safe for concurrent use.
type Keys struct {
	url  string
	http *http.Client
	now  func() time.Time

	mu      sync.Mutex // held during a fetch: the requests that wait need its result
	set     jwk.Set
	fetched time.Time
	tried   time.Time
}

// NewKeys returns the key set at an address. It is fetched when a token needs it. Redirects are not followed.
func NewKeys(url string) *Keys {
	client := &http.Client{Timeout: fetchWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Keys{url: url, http: client, now: time.Now}
}

// FixedKeys returns the keys of a JWKS document.
func FixedKeys(text []byte) (*Keys, error) {
	set, err := jwk.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not a JWKS document: %w", err)
	}
	if set.Len() == 0 {
		return nil, errors.New("the JWKS document has no key")
	}
	return &Keys{set: set, now: time.Now}, nil
}

// Key returns the public key with an id, for an algorithm.
func (k *Keys) Key(ctx context.Context, kid string, alg jwa.SignatureAlgorithm) (any, error) {
	set, err := k.current(ctx, kid)
	if err != nil {
		return nil, err
	}
	key, known := set.LookupKeyID(kid)
	if !known {
		return nil, errUnknownKey
	}
	return usable(key, alg)
}

// current returns a set that has the key, if the issuer has it.
func (k *Keys) current(ctx context.Context, kid string) (jwk.Set, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.url == "" {
		return k.set, nil
	}
	now := k.now()
	if k.set != nil && now.Sub(k.fetched) < keepFor {
		if _, known := k.set.LookupKeyID(kid); known {
			return k.set, nil
		}
	}
	if now.Sub(k.tried) >= refetchAfter {
		k.tried = now
		if set, err := k.fetch(ctx); err == nil {
			k.set, k.fetched = set, now
		}
	}
	if k.set == nil || now.Sub(k.fetched) > keepAtMost {
		return nil, ErrUnavailable
	}
	return k.set, nil
}

func (k *Keys) fetch(ctx context.Context) (jwk.Set, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	res, err := k.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxSet))
	if err != nil {
		return nil, err
	}
	set, err := jwk.Parse(text)
	if err == nil && (set.Len() == 0 || set.Len() > maxKeys) {
		err = errors.New("the set is empty or too large")
	}
	return set, err
}

// usable returns the public key if it is for signatures by the algorithm.
func usable(key jwk.Key, alg jwa.SignatureAlgorithm) (any, error) {
	if (key.KeyUsage() != "" && key.KeyUsage() != "sig") || (key.Algorithm().String() != "" && key.Algorithm().String() != alg.String()) {
		return nil, errUnknownKey
	}
	var raw any
	public, err := key.PublicKey()
	if err != nil {
		return nil, errUnknownKey
	}
	if err := public.Raw(&raw); err != nil {
		return nil, errUnknownKey
	}
	switch p := raw.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < minRSA || bits > maxRSA {
			return nil, errUnknownKey
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return nil, errUnknownKey // a shared secret is no public key
	}
	return raw, nil
}
