package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Default quotas of a key, in requests an hour.
const (
	SandboxQuota = 1000
	LiveQuota    = 10000
)

// operatorActor is the prefix of the actors of the countersign command line, which only the operator of the service runs.
// Principal.Actor never returns such a name, so no caller of the API can pass as the operator.
const operatorActor = "cli:"

func byOperator(actor string) bool { return strings.HasPrefix(actor, operatorActor) }

// Ceiling returns the highest quota, in requests an hour, that the environment's own admins may give a key. The operator may
// exceed it.
func Ceiling(env models.Environment) int {
	switch {
	case env.RateLimitCeiling != nil:
		return *env.RateLimitCeiling
	case env.Kind == models.Live:
		return LiveQuota
	default:
		return SandboxQuota
	}
}

// checkCeiling rejects a quota above the ceiling unless the operator sets it. A nil limit is the default quota.
func checkCeiling(limit *int, env models.Environment, actor string) error {
	ceiling := Ceiling(env)
	if limit == nil || *limit <= ceiling || byOperator(actor) {
		return nil
	}
	return problem.Invalid([]any{"body", "rate_limit"}, fmt.Sprintf(
		"rate_limit is %d; the ceiling of this environment is %d. The operator of the service can raise the ceiling.", *limit, ceiling), "rate_limit_ceiling")
}

// clientShare is how many requests browsers may send for each request of the servers: a person's session is a few requests of the
// server and some hundred frames of evidence.
const clientShare = 20

// The shared quotas of an environment.
const (
	QuotaServers = "servers" // all server and admin keys
	QuotaClients = "clients" // all client tokens and publishable keys, which take nothing from the servers
	QuotaKey     = "key"     // not shared: that of one credential or client token
)

// reserve is the part of the servers' quota (1/5) that is divided among their keys: what one key uses beyond its share comes from the rest,
// so that each key has its share however much the others use.
const reserve = 5

// divides begins the names of buckets that only divide the quota of an environment's servers: no event says that they are nearly used up.
const divides = "divided/"

// Shares returns the buckets of which one request of a server counts against one: the part of the shared quota that all keys use, or, once
// that is used up, the key's own share of the rest. It returns false for a caller that has no share, as browsers.
func (p Principal) Shares() (common, share ratelimit.Bucket, divided bool) {
	if p.Servers == 0 || p.fromBrowser() {
		return common, share, false
	}
	each := p.SharedLimit / reserve / p.Servers
	common = ratelimit.Bucket{Name: divides + QuotaPrefix(p.EnvironmentID) + "common", Limit: p.SharedLimit - each*p.Servers}
	share = ratelimit.Bucket{Name: divides + QuotaPrefix(p.EnvironmentID) + p.CredentialID, Limit: each}
	return common, share, each > 0
}

// Quotas returns the buckets that a request of the caller counts against: its own and one that it shares with its environment.
// Keys and client tokens are free to create, so that their own buckets alone limit no one.
func (p Principal) Quotas() (own, shared ratelimit.Bucket) {
	own = ratelimit.Bucket{Name: QuotaPrefix(p.EnvironmentID) + p.CredentialID, Limit: p.RateLimit}
	shared = ratelimit.Bucket{Name: QuotaPrefix(p.EnvironmentID) + QuotaServers, Limit: p.SharedLimit}
	if p.Client != nil {
		own.Name = QuotaPrefix(p.EnvironmentID) + p.Client.TokenID
	}
	if p.fromBrowser() {
		shared.Name = QuotaPrefix(p.EnvironmentID) + QuotaClients
	}
	return own, shared
}

func (p Principal) fromBrowser() bool { return p.Client != nil || p.Publishable }

// QuotaPrefix begins the names of an environment's buckets.
func QuotaPrefix(environment string) string { return environment + "/" }

// QuotaOf returns which quota of its environment a bucket is, and the credential or client token whose own it is.
func QuotaOf(bucket string) (quota, owner string) {
	_, name, _ := strings.Cut(bucket, "/")
	switch {
	case strings.HasPrefix(bucket, divides):
		return QuotaServers, ""
	case name == QuotaServers, name == QuotaClients:
		return name, ""
	}
	return QuotaKey, name
}

// RecordNearlyUsed records quota.nearly_used for each of the buckets, except for those of single client tokens and those that divide a quota.
func (s *Service) RecordNearlyUsed(ctx context.Context, p Principal, buckets []ratelimit.Bucket) error {
	for _, b := range buckets {
		quota, owner := QuotaOf(b.Name)
		if quota == QuotaKey && p.Client != nil || strings.HasPrefix(b.Name, divides) {
			continue
		}
		data := events.QuotaNearlyUsedData{Quota: quota, Credential: owner, Limit: b.Limit, UsedPercent: nearlyUsedPercent}
		err := events.Append(ctx, s.store.Q, entry(p.Store(), data, s.clock.Now(), p.Actor(), p.RequestID))
		if err != nil {
			return err
		}
	}
	return nil
}

// nearlyUsedPercent is the share of a bucket from which it is nearly used up (ratelimit.QuotaUse).
const nearlyUsedPercent = 80

// servers are the server and admin keys of an environment.
type servers struct {
	keys    int
	largest int // the limit of the largest, in requests an hour
}

// shared returns the quota of the environment's servers together, in requests an hour, and how many keys share it. The quota is that which the
// operator set, or the limit of the environment's largest key and as much more as the keys' shares are.
func (s *Service) shared(ctx context.Context, env models.Environment, now time.Time) (limit, keys int, err error) {
	found, until := s.limits.Get(env.ID)
	if !now.Before(until) {
		if found, err = s.limits.Fetch(ctx, env.ID, now.Add(cacheFor), func(ctx context.Context) (servers, error) { return s.servers(ctx, env, now) }); err != nil {
			return 0, 0, err
		}
	}
	if env.RateLimit != nil {
		return *env.RateLimit, found.keys, nil
	}
	return found.largest + found.largest/(reserve-1), found.keys, nil
}

func (s *Service) servers(ctx context.Context, env models.Environment, now time.Time) (servers, error) {
	all, err := rateLimits(ctx, s.store.Q, pg.Scope{Tenant: env.TenantID, Environment: env.ID}, now)
	out := servers{keys: len(all), largest: effectiveLimit(nil, "", env)}
	for i, c := range all {
		if limit := effectiveLimit(c.RateLimit, c.CreatedBy, env); i == 0 || limit > out.largest {
			out.largest = limit
		}
	}
	return out, err
}

// effectiveLimit returns the quota that applies to a credential, in requests an hour. A lowered ceiling applies to existing
// keys as well, except to those that the operator created.
func effectiveLimit(limit *int, createdBy string, env models.Environment) int {
	ceiling := Ceiling(env)
	switch {
	case limit == nil && env.Kind == models.Live:
		return min(LiveQuota, ceiling)
	case limit == nil:
		return min(SandboxQuota, ceiling)
	case byOperator(createdBy):
		return *limit
	default:
		return min(*limit, ceiling)
	}
}
