package identity

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/singleflight"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

const (
	macPurpose = "credential" // keyring purpose of the MACs of keys
	// cacheFor bounds how long a revoked key still passes if the notification of its revocation was lost.
	cacheFor = 5 * time.Second
	// cacheMax is the number of cached keys at which the cache is emptied.
	cacheMax = 10000
	// touchEvery is the resolution of last_used_at: a key in constant use costs one UPDATE per quarter of an hour.
	touchEvery = 15 * time.Minute
	// The limits of concurrent lookups of keys that are not cached: running, waiting, and the longest wait. Without them, a
	// flood of invalid keys would take every database connection.
	lookupsAtOnce = 16
	lookupsQueue  = 256
	lookupsWait   = time.Second
)

// Service authenticates callers and administers credentials. It caches authenticated keys for cacheFor and is safe for
// concurrent use.
type Service struct {
	store *store.Store
	keys  *keyring.Keyring
	clock clock.Clock

	mu      sync.RWMutex
	cache   map[string]cached // by the MAC under the active master key
	epoch   int               // incremented by Forget; the result of a lookup from an earlier epoch is neither cached nor shared
	lookups singleflight.Group[cached]
	gate    *admission.Gate // limits concurrent lookups
}

type cached struct {
	principal Principal
	expires   *time.Time // of the key or credential
	until     time.Time
}

// New returns the service.
func New(st *store.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{store: st, keys: keys, clock: c, cache: map[string]cached{}, gate: admission.New(lookupsAtOnce, lookupsAtOnce, lookupsQueue)}
}

// errUnauthenticated is the single response to every invalid credential. It does not say which check failed, so that a
// caller cannot learn from it which keys exist.
func errUnauthenticated() error {
	return problem.New(problem.Unauthenticated, "The credential is missing, malformed, expired or revoked.")
}

// Authenticate returns the principal of a key. Every rejection is the same problem, unauthenticated; if the database is
// unavailable or too many lookups wait, the problem is unavailable.
func (s *Service) Authenticate(ctx context.Context, key string) (Principal, error) {
	return s.Check(ctx, s.Read([]byte(key)))
}

// Check is Authenticate for a key that was read.
func (s *Service) Check(ctx context.Context, k Key) (Principal, error) {
	if k.mac == nil {
		return Principal{}, errUnauthenticated()
	}
	now := s.clock.Now()
	s.mu.RLock()
	hit, ok := s.cache[string(k.mac)]
	epoch := s.epoch
	s.mu.RUnlock()
	if !ok || now.After(hit.until) {
		var err error
		if hit, err = s.fetch(ctx, k, now, epoch); err != nil {
			return Principal{}, err
		}
		s.cacheKey(string(k.mac), hit, epoch)
	}
	if hit.expires != nil && !now.Before(*hit.expires) {
		return Principal{}, errUnauthenticated()
	}
	return hit.principal, nil
}

// fetch looks the key up, once for all that wait for it. The lookup may outlive the request and its text, so that it has a copy.
func (s *Service) fetch(ctx context.Context, k Key, now time.Time, epoch int) (cached, error) {
	k.text = bytes.Clone(k.text)
	return s.lookups.Do(ctx, flight(k, epoch), func(ctx context.Context) (cached, error) { return s.lookup(ctx, k, now) })
}

// flight names a lookup. One that began before the latest call of Forget is not shared: it may have read the key before the change
// that Forget reports.
func flight(k Key, epoch int) string { return string(k.mac) + " " + strconv.Itoa(epoch) }

// lookup finds the key in the database. The stored MAC was made with the master key that was active when the key was issued, so
// the MACs under all master keys are searched.
func (s *Service) lookup(ctx context.Context, k Key, now time.Time) (cached, error) {
	if err := s.gate.Enter(ctx, "", lookupsWait); err != nil {
		return cached{}, problem.NewUnavailable("The service is busy and did not process the request. Retry it.", err)
	}
	defer s.gate.Leave("")
	macs := s.keys.MACs(macPurpose, k.text)
	find := s.findCredential
	if k.kind.client {
		find = s.findClientToken
	}
	found, env, err := find(ctx, macs, now)
	if errors.Is(err, store.ErrNotFound) {
		return cached{}, errUnauthenticated()
	}
	if err != nil {
		return cached{}, err
	}
	// The MAC covers the prefix, so a mismatch means a damaged row. Reject it rather than trust either.
	if env.Kind != k.kind.environment || found.principal.Publishable != k.kind.publishable {
		return cached{}, errUnauthenticated()
	}
	found.until = now.Add(cacheFor)
	return found, nil
}

// StillValid checks in the database that the key that authenticated the caller is still valid on the same terms: not
// revoked, not expired, and with the same expiry. It is for connections that outlive their request, such as event streams.
func (s *Service) StillValid(ctx context.Context, p Principal) (bool, error) {
	now := s.clock.Now()
	found, _, err := s.findCredential(ctx, [][]byte{[]byte(p.keyMAC)}, now)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	then, ends := p.ExpiresAt, found.expires
	same := then == nil && ends == nil || then != nil && ends != nil && then.Equal(*ends)
	return same && (ends == nil || now.Before(*ends)), nil
}

// findCredential finds the credential that one of the MACs belongs to. It returns store.ErrNotFound for a revoked one; the
// caller checks the expiry.
func (s *Service) findCredential(ctx context.Context, macs [][]byte, now time.Time) (cached, models.Environment, error) {
	c, env, ck, err := s.store.Credentials().ByMAC(ctx, macs)
	if err != nil {
		return cached{}, env, err
	}
	if c.RevokedAt != nil {
		return cached{}, env, store.ErrNotFound
	}
	if c.LastUsedAt == nil || now.Sub(*c.LastUsedAt) > touchEvery {
		if err := s.store.Credentials().Touch(ctx, c.ID, now); err != nil {
			return cached{}, env, err
		}
	}
	expires := earlier(c.ExpiresAt, ck.ExpiresAt)
	return cached{
		principal: Principal{
			CredentialID: c.ID, TenantID: c.TenantID, EnvironmentID: c.EnvironmentID, Kind: env.Kind, Scope: c.Scope,
			Permissions: c.Permissions, Publishable: c.Scope == models.ScopeClient, RateLimit: effectiveLimit(c.RateLimit, c.CreatedBy, env),
			ExpiresAt: expires, keyMAC: string(ck.MAC),
		},
		expires: expires,
	}, env, nil
}

// findClientToken finds a client token. It returns store.ErrNotFound if the token or the credential that issued it is revoked.
func (s *Service) findClientToken(ctx context.Context, macs [][]byte, _ time.Time) (cached, models.Environment, error) {
	t, issuer, env, err := s.store.ClientTokens().ByMAC(ctx, macs)
	if err != nil {
		return cached{}, env, err
	}
	if t.RevokedAt != nil || issuer.RevokedAt != nil {
		return cached{}, env, store.ErrNotFound
	}
	grant := &ClientGrant{TokenID: t.ID, SubjectUID: t.SubjectUID, Origin: t.Origin, Purposes: t.Purposes, CreatedAt: t.CreatedAt}
	if t.SessionID != nil {
		grant.SessionID = *t.SessionID
	}
	return cached{
		principal: Principal{
			CredentialID: t.CredentialID, TenantID: t.TenantID, EnvironmentID: t.EnvironmentID, Kind: env.Kind,
			Scope: models.ScopeClient, Permissions: issuer.Permissions, RateLimit: effectiveLimit(nil, "", env),
			Client: grant,
		},
		expires: earlier(&t.ExpiresAt, issuer.ExpiresAt),
	}, env, nil
}

// cacheKey caches the result of a lookup, unless Forget was called since the lookup began: it may have read the state before
// the change that Forget reports.
func (s *Service) cacheKey(mac string, c cached, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return
	}
	if len(s.cache) >= cacheMax {
		clear(s.cache)
	}
	s.cache[mac] = c
}

// Forget drops the cached keys of a credential and the client tokens that it issued; an empty id drops everything. It is
// called for each database notification of a revoked or rotated credential.
func (s *Service) Forget(credentialID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	for mac, c := range s.cache {
		if credentialID == "" || c.principal.CredentialID == credentialID {
			delete(s.cache, mac)
		}
	}
}

// earlier returns the earlier of two times; nil is never.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.Before(*a)) {
		return b
	}
	return a
}
