package identity

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	macPurpose = "credential" // keyring purpose of the MACs of keys
	// cacheFor bounds how long a revoked key still passes if the notification of its revocation was lost.
	cacheFor = 5 * time.Second
	// cacheMax is the largest number of cached keys.
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
	store *pg.Store
	keys  *keyring.Keyring
	clock clock.Clock

	cache  cache.Cache[cached]  // by the MAC under the active master key
	limits cache.Cache[servers] // of an environment, by its id
	gate   *admission.Gate      // limits concurrent lookups
}

type cached struct {
	principal Principal
	expires   *time.Time // of the key or credential
}

// New returns the service.
func New(st *pg.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{
		store: st, keys: keys, clock: c, cache: cache.Cache[cached]{Max: cacheMax}, limits: cache.Cache[servers]{Max: cacheMax},
		gate: admission.New(lookupsAtOnce, lookupsAtOnce, lookupsQueue),
	}
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
	hit, until := s.cache.Get(string(k.mac))
	if now.After(until) {
		var err error
		if hit, err = s.fetch(ctx, k, now); err != nil {
			return Principal{}, err
		}
	}
	if hit.expires != nil && !now.Before(*hit.expires) {
		return Principal{}, errUnauthenticated()
	}
	return hit.principal, nil
}

// fetch looks the key up, once for all that wait for it. The lookup may outlive the request and its text, so that it has a copy.
func (s *Service) fetch(ctx context.Context, k Key, now time.Time) (cached, error) {
	k.text = bytes.Clone(k.text)
	return s.cache.Fetch(ctx, string(k.mac), now.Add(cacheFor), func(ctx context.Context) (cached, error) { return s.lookup(ctx, k, now) })
}

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
	if errors.Is(err, pg.ErrNotFound) {
		return cached{}, errUnauthenticated()
	}
	if err != nil {
		return cached{}, err
	}
	// The MAC covers the prefix, so a mismatch means a damaged row. Reject it rather than trust either.
	if env.Kind != k.kind.environment || found.principal.Publishable != k.kind.publishable {
		return cached{}, errUnauthenticated()
	}
	found.principal.SharedLimit, found.principal.Servers, err = s.shared(ctx, env, now)
	if found.principal.fromBrowser() {
		found.principal.SharedLimit *= clientShare
	}
	return found, err
}

// StillValid checks in the database that the key that authenticated the caller is still valid on the same terms: not
// revoked, not expired, and with the same expiry. It is for connections that outlive their request, such as event streams.
func (s *Service) StillValid(ctx context.Context, p Principal) (bool, error) {
	now := s.clock.Now()
	found, _, err := s.findCredential(ctx, [][]byte{[]byte(p.keyMAC)}, now)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	then, ends := p.ExpiresAt, found.expires
	noEarlier := ends == nil || then != nil && !ends.Before(*then)
	return noEarlier && (ends == nil || now.Before(*ends)), nil
}

// findCredential finds the credential that one of the MACs belongs to. It returns pg.ErrNotFound for a revoked one; the
// caller checks the expiry.
func (s *Service) findCredential(ctx context.Context, macs [][]byte, now time.Time) (cached, models.Environment, error) {
	c, env, ck, err := credentialByMAC(ctx, s.store.Q, macs)
	if err != nil {
		return cached{}, env, err
	}
	if c.RevokedAt != nil {
		return cached{}, env, pg.ErrNotFound
	}
	if c.LastUsedAt == nil || now.Sub(*c.LastUsedAt) > touchEvery {
		if err := touchCredential(ctx, s.store.Q, c.ID, now); err != nil {
			return cached{}, env, err
		}
	}
	expires := earlier(c.End(), ck.ExpiresAt)
	return cached{
		principal: Principal{
			CredentialID: c.ID, TenantID: c.TenantID, EnvironmentID: c.EnvironmentID, Kind: env.Kind, Scope: c.Scope,
			Permissions: c.Permissions, Publishable: c.Scope == models.ScopeClient, RateLimit: effectiveLimit(c.RateLimit, c.CreatedBy, env),
			ExpiresAt: expires, keyMAC: string(ck.MAC),
		},
		expires: expires,
	}, env, nil
}

// findClientToken finds a client token. It returns pg.ErrNotFound if the token or the credential that issued it is revoked.
func (s *Service) findClientToken(ctx context.Context, macs [][]byte, _ time.Time) (cached, models.Environment, error) {
	t, issuer, env, err := clientTokenByMAC(ctx, s.store.Q, macs)
	if err != nil {
		return cached{}, env, err
	}
	if t.RevokedAt != nil || issuer.RevokedAt != nil {
		return cached{}, env, pg.ErrNotFound
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
		expires: earlier(&t.ExpiresAt, issuer.End()),
	}, env, nil
}

// Forget drops the cached keys of a credential and the client tokens that it issued; an empty id drops everything. It is
// called for each database notification of a revoked or rotated credential.
func (s *Service) Forget(credentialID string) {
	s.cache.ForgetIf(func(c cached) bool { return credentialID == "" || c.principal.CredentialID == credentialID })
}

// earlier returns the earlier of two times; nil is never.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.Before(*a)) {
		return b
	}
	return a
}
