package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Keys finds the key that a proof names. It returns a *Error with proof_key_unknown if there is none, and a different
// error if the keys are unavailable.
type Keys interface {
	Key(ctx context.Context, kid string) (*ecdsa.PublicKey, error)
}

// How long a fetched set is kept if the response does not say, the bounds of what it may say, how soon after a fetch an
// unknown kid may cause another (so that forged proofs cannot make us hammer the service), and what a fetch may take.
const (
	keepFor      = 5 * time.Minute
	keepAtLeast  = 10 * time.Second
	keepAtMost   = time.Hour
	refetchAfter = 10 * time.Second
	fetchWithin  = 5 * time.Second
	maxSet       = 1 << 20 // bytes
)

// Remote is the key set of a service. It is fetched at first use, kept as its Cache-Control says, fetched again once for a kid
// that is not in it, and used beyond its time while the service cannot be reached. It is safe for concurrent use.
type Remote struct {
	url  string
	http *http.Client
	now  func() time.Time

	mu      sync.Mutex
	set     map[string]*ecdsa.PublicKey
	fetched time.Time
	expires time.Time
}

// NewRemote is the key set at /.well-known/service-proof-keys.json of the service at base. A nil client is one of its own.
// Redirects are not followed: keys of another place are not the service's.
func NewRemote(base string, client *http.Client) *Remote {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Remote{url: strings.TrimRight(base, "/") + "/.well-known/service-proof-keys.json", http: &own, now: time.Now}
}

// Key implements Keys. One caller fetches while the others wait.
func (r *Remote) Key(ctx context.Context, kid string) (*ecdsa.PublicKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	key, known := r.set[kid]
	stale := !now.Before(r.expires)
	if stale || (!known && !now.Before(r.fetched.Add(refetchAfter))) {
		if err := r.fetch(ctx, now); err != nil && !known {
			return nil, err
		}
		key, known = r.set[kid]
	}
	if !known {
		return nil, refuse("proof_key_unknown", "no published key has the proof's kid")
	}
	return key, nil
}

func (r *Remote) fetch(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return fmt.Errorf("proof: the key set: %w", err)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("proof: the key set: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("proof: the key set: status %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxSet))
	if err != nil {
		return fmt.Errorf("proof: the key set: %w", err)
	}
	set, err := ParseJWKS(text)
	if err != nil {
		return err
	}
	r.set, r.fetched, r.expires = set, now, now.Add(keep(res.Header.Get("Cache-Control")))
	return nil
}

var maxAge = regexp.MustCompile(`(?:^|[\s,])max-age=(\d{1,9})`)

func keep(cacheControl string) time.Duration {
	m := maxAge.FindStringSubmatch(cacheControl)
	if m == nil {
		return keepFor
	}
	seconds, _ := strconv.Atoi(m[1])
	return min(max(time.Duration(seconds)*time.Second, keepAtLeast), keepAtMost)
}

// ParseJWKS reads a key set (RFC 7517). Keys that are not for ES256 signatures are passed over: a later version may
// publish others.
func ParseJWKS(text []byte) (map[string]*ecdsa.PublicKey, error) {
	var body struct {
		Keys []struct{ Kty, Crv, Alg, Use, Kid, X, Y string }
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("proof: the key set is no JSON: %w", err)
	}
	if body.Keys == nil {
		return nil, errors.New("proof: what was fetched is not a key set")
	}
	set := map[string]*ecdsa.PublicKey{}
	for _, k := range body.Keys {
		if k.Kty != "EC" || k.Crv != "P-256" || k.Kid == "" || (k.Alg != "" && k.Alg != Algorithm) || (k.Use != "" && k.Use != "sig") {
			continue
		}
		key, err := point(k.X, k.Y)
		if err != nil {
			return nil, fmt.Errorf("proof: key %s of the set: %w", k.Kid, err)
		}
		set[k.Kid] = key
	}
	return set, nil
}

// point checks that x and y are on the curve.
func point(x, y string) (*ecdsa.PublicKey, error) {
	raw := []byte{4} // uncompressed, SEC 1 section 2.3.3
	for _, text := range []string{x, y} {
		c, err := encoding.DecodeString(text)
		if err != nil || len(c) != 32 {
			return nil, fmt.Errorf("a coordinate is not 32 bytes of base64url")
		}
		raw = append(raw, c...)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
}
