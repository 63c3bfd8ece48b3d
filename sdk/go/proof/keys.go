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
	"net/url"
	"regexp"
	"slices"
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

// How long a fetched set is kept if the response does not say, the bounds of what it may say, how soon after a fetch, even a
// failed one, the next may follow (so that forged proofs cannot make us hammer the service), and what a fetch may take.
// keepAtMost also ends the keys if no later fetch succeeds, since one of them may have been removed.
const (
	keepFor      = 5 * time.Minute
	keepAtLeast  = 10 * time.Second
	keepAtMost   = time.Hour
	refetchAfter = 10 * time.Second
	fetchWithin  = 5 * time.Second
	maxSet       = 1 << 20 // bytes
)

// Remote is the key set of a service. It is fetched at first use, kept as its Cache-Control says and fetched again once for a
// kid that is not in it. While the service cannot be reached it is used beyond its time, up to an hour after the last
// successful fetch. It is safe for concurrent use.
type Remote struct {
	url  string
	http *http.Client
	now  func() time.Time

	issuers sync.Map // issuer to *Remote

	mu      sync.Mutex
	set     map[string]*ecdsa.PublicKey
	fetched time.Time     // when the fetch of set began
	expires time.Time     // of set
	retry   time.Time     // no fetch before, unless there is no usable set
	failed  error         // of the last fetch
	pending chan struct{} // closed at the end of the fetch that is running; nil if none is
}

// NewRemote is the key set of all issuers at /.well-known/service-proof-keys.json of the service at base. A nil client is one of its own.
// Redirects are not followed: keys of another place are not the service's.
func NewRemote(base string, client *http.Client) *Remote {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Remote{url: strings.TrimRight(base, "/") + "/.well-known/service-proof-keys.json", http: &own, now: time.Now}
}

// For returns the keys of one issuer of the service, which other issuers of the service cannot make larger. A Verifier uses those
// of its Issuer by itself.
func (r *Remote) For(issuer string) *Remote {
	if of, known := r.issuers.Load(issuer); known {
		return of.(*Remote)
	}
	of, _ := r.issuers.LoadOrStore(issuer, &Remote{url: r.url + "?issuer=" + url.QueryEscape(issuer), http: r.http, now: r.now})
	return of.(*Remote)
}

// Key implements Keys. Callers share one fetch, which continues if one of them leaves.
func (r *Remote) Key(ctx context.Context, kid string) (*ecdsa.PublicKey, error) {
	now := r.now()
	if done := r.refresh(ctx, now, kid); done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, fmt.Errorf("proof: the key set: %w", ctx.Err())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if key, known := r.usable(now)[kid]; known {
		return key, nil
	}
	if r.failed != nil {
		return nil, r.failed
	}
	return nil, refuse("proof_key_unknown", "no published key has the proof's kid")
}

// usable returns the set; nil if the last successful fetch is too long ago. r.mu must be held.
func (r *Remote) usable(now time.Time) map[string]*ecdsa.PublicKey {
	if now.Sub(r.fetched) > keepAtMost {
		return nil
	}
	return r.set
}

// refresh starts a fetch if one is due because the set is stale or lacks kid. It returns what to wait for, nil for nothing. A
// known key waits only for the first fetch after its time: if that fails, the later ones are in the background.
func (r *Remote) refresh(ctx context.Context, now time.Time, kid string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.usable(now)
	_, known := set[kid]
	if known && now.Before(r.expires) {
		return nil
	}
	if r.pending == nil {
		if set != nil && now.Before(r.retry) {
			return nil
		}
		r.pending = make(chan struct{})
		go r.fetch(context.WithoutCancel(ctx), now)
	}
	if known && r.failed != nil {
		return nil
	}
	return r.pending
}

// fetch replaces the set, or records why it could not.
func (r *Remote) fetch(ctx context.Context, now time.Time) {
	set, lifetime, err := r.load(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.set, r.fetched, r.expires = set, now, now.Add(lifetime)
	}
	r.failed, r.retry = err, now.Add(refetchAfter)
	close(r.pending)
	r.pending = nil
}

// load returns the published set and how long it may be kept.
func (r *Remote) load(ctx context.Context) (map[string]*ecdsa.PublicKey, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("proof: the key set: %w", err)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("proof: the key set: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("proof: the key set: status %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxSet))
	if err != nil {
		return nil, 0, fmt.Errorf("proof: the key set: %w", err)
	}
	set, err := ParseJWKS(text)
	return set, keep(res.Header.Get("Cache-Control")), err
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

// ParseJWKS reads a key set (RFC 7517). Keys that are malformed or not for ES256 signatures are passed over: a later version
// may publish others, and one bad key must not end the good ones.
func ParseJWKS(text []byte) (map[string]*ecdsa.PublicKey, error) {
	var body struct {
		Keys []struct {
			Kty, Crv, Alg, Use, Kid, X, Y, D string
			Operations                       []string `json:"key_ops"`
		}
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("proof: the key set is no JSON: %w", err)
	}
	if body.Keys == nil {
		return nil, errors.New("proof: what was fetched is not a key set")
	}
	set := map[string]*ecdsa.PublicKey{}
	for _, k := range body.Keys {
		if k.Kty != "EC" || k.Crv != "P-256" || k.Kid == "" || (k.Alg != "" && k.Alg != Algorithm) || (k.Use != "" && k.Use != "sig") || k.D != "" {
			continue
		}
		if k.Operations != nil && !slices.Contains(k.Operations, "verify") {
			continue
		}
		if key, err := point(k.X, k.Y); err == nil {
			set[k.Kid] = key
		}
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
