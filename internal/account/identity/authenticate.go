package identity

import (
	"context"
	"errors"
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
	macPurpose = "credential"
	// cacheFor bounds how long a revoked key may still pass where the notice of its revocation was lost.
	cacheFor = 5 * time.Second
	cacheMax = 10000
	// touchEvery matches the bucket of last_used_at.
	touchEvery = 15 * time.Minute
	// How many keys that are not cached are looked up at once, how many more may wait, and for how long.
	lookupsAtOnce = 16
	lookupsQueue  = 256
	lookupsWait   = time.Second
)

// Service authenticates callers and administers credentials.
type Service struct {
	store *store.Store
	keys  *keyring.Keyring
	clock clock.Clock

	mu      sync.RWMutex
	cache   map[string]cached // by the active key's MAC
	epoch   int               // of the cache; a lookup that began in an earlier one is not kept
	lookups singleflight.Group[cached]
	gate    *admission.Gate // of lookups
}

type cached struct {
	principal Principal
	expires   *time.Time // of the key or credential
	until     time.Time
}

// New makes the service.
func New(st *store.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{store: st, keys: keys, clock: c, cache: map[string]cached{}, gate: admission.New(lookupsAtOnce, lookupsAtOnce, lookupsQueue)}
}

// errRefused is the one answer to every credential that is not good: which check failed is nobody's business.
func errUnauthenticated() error {
	return problem.New(problem.Unauthenticated, "The credential is missing, malformed, expired or revoked.")
}

// Authenticate says who holds the key. Every refusal is the same problem unauthenticated.
func (s *Service) Authenticate(ctx context.Context, key string) (Principal, error) {
	k, ok := parseKey(key)
	if !ok {
		return Principal{}, errUnauthenticated()
	}
	now := s.clock.Now()
	mac := string(s.keys.MAC(macPurpose, []byte(key)))
	s.mu.RLock()
	hit, ok := s.cache[mac]
	epoch := s.epoch
	s.mu.RUnlock()
	if !ok || now.After(hit.until) {
		var err error
		if hit, err = s.lookups.Do(ctx, mac, func(ctx context.Context) (cached, error) { return s.lookup(ctx, key, k, now) }); err != nil {
			return Principal{}, err
		}
		s.cacheKey(mac, hit, epoch)
	}
	if hit.expires != nil && !now.Before(*hit.expires) {
		return Principal{}, errUnauthenticated()
	}
	return hit.principal, nil
}

func (s *Service) lookup(ctx context.Context, key string, k keyKind, now time.Time) (cached, error) {
	if err := s.gate.Enter(ctx, "", lookupsWait); err != nil {
		return cached{}, problem.NewUnavailable("The service is busy. Nothing was done.", err)
	}
	defer s.gate.Leave("")
	macs := s.keys.MACs(macPurpose, []byte(key))
	find := s.findCredential
	if k.client {
		find = s.findClientToken
	}
	found, env, err := find(ctx, macs, now)
	if errors.Is(err, store.ErrNotFound) {
		return cached{}, errUnauthenticated()
	}
	if err != nil {
		return cached{}, err
	}
	// The prefix is part of what was MACed; that it names the environment's kind is checked all the same.
	if env.Kind != k.environment || found.principal.Publishable != k.publishable {
		return cached{}, errUnauthenticated()
	}
	found.until = now.Add(cacheFor)
	return found, nil
}

// Holds asks the database whether the key by which the caller was authenticated is still in force as it was then: not revoked,
// not expired, and with the same end. It is for what outlives its request.
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
			Publishable: c.Scope == models.ScopeClient, RateLimit: effectiveLimit(c.RateLimit, c.CreatedBy, env),
			ExpiresAt: expires, keyMAC: string(ck.MAC),
		},
		expires: expires,
	}, env, nil
}

// findClientToken finds a token that is in force itself and whose issuer is.
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
			Scope: models.ScopeClient, RateLimit: effectiveLimit(nil, "", env),
			Client: grant,
		},
		expires: earlier(&t.ExpiresAt, issuer.ExpiresAt),
	}, env, nil
}

// keep caches what a lookup found, unless something was forgotten since it began: it may have read what holds no more.
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

// Forget drops what is cached of a credential and of the client tokens that it issued; of all if the id is empty. Notices of
// revocation call it.
func (s *Service) Forget(credentialID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	for mac, c := range s.cache {
		if credentialID == "" || c.principal.CredentialID == credentialID {
			delete(s.cache, mac)
			s.lookups.Forget(mac)
		}
	}
}

func earlier(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.Before(*a)) {
		return b
	}
	return a
}
