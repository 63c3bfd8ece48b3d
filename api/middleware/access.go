package middleware

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// admit authenticates the caller, takes one request from its quota and checks its credential against the route's access and
// permission.
func (m *Chain) admit(c *fiber.Ctx, r Route, key identity.Key) error {
	p, err := m.deps.Identity.Check(request.Context(c), key)
	if err != nil {
		return err
	}
	p.RequestID, p.TraceID = request.ID(c), request.TraceID(c)
	request.SetPrincipal(c, p)
	if err := m.TakeQuota(c, p); err != nil && !r.Urgent {
		return err
	}
	if err := r.Permits(p); err != nil {
		return err
	}
	if p.Client != nil && c.Get(fiber.HeaderOrigin) != p.Client.Origin {
		return problem.New(problem.OriginNotAllowed, "The Origin header does not match the origin of the client token.")
	}
	return nil
}

// Bearer returns the token of the Authorization header for routes outside of the contract, which must not be used after the request.
func Bearer(c *fiber.Ctx) ([]byte, error) { return bearer(c) }

// bearer returns the key of the Authorization header, which must not be used after the request.
func bearer(c *fiber.Ctx) ([]byte, error) {
	scheme, key, ok := bytes.Cut(c.Request().Header.Peek(fiber.HeaderAuthorization), []byte{' '})
	if !ok || !bytes.EqualFold(scheme, []byte("bearer")) {
		return nil, problem.New(problem.Unauthenticated, "The Authorization header is missing or does not have the form Bearer KEY.")
	}
	return key, nil
}

// TakeQuota counts the request and sets the quota headers. If the limiter is unavailable the request passes: the limiter
// depends on the same database as the work it protects, which then fails by itself.
func (m *Chain) TakeQuota(c *fiber.Ctx, p identity.Principal) error {
	ctx := request.Context(c)
	d, err := m.deps.take(ctx, p)
	if err != nil {
		m.deps.Metrics.LimiterUnavailable()
		return nil //nolint:nilerr // an unavailable limiter refuses no request
	}
	if len(d.Nearly) > 0 {
		if err := m.deps.Identity.RecordNearlyUsed(ctx, p, d.Nearly); err != nil {
			m.deps.Log.LogAttrs(ctx, slog.LevelWarn, "a quota that is nearly used up was not recorded", slog.String("error", err.Error()))
		}
	}
	setQuotaHeaders(c, d, p.Kind)
	if d.Allowed {
		return nil
	}
	m.deps.Metrics.Limited(p.EnvironmentID)
	detail := "The quota of %d requests an hour is used up. Retry after the Retry-After header."
	if quota, _ := identity.QuotaOf(d.Name); quota != identity.QuotaKey {
		detail = "The quota of %d requests an hour, which the " + quota + " of the environment share, is used up. Retry after the Retry-After header."
	}
	e := problem.Newf(problem.RateLimited, detail, d.Limit)
	e.RetryAfter = d.Reset
	return e
}

// take counts the request against the caller's quotas. A server's request that the part of the quota for all keys refuses counts against the
// share of its key.
func (d Deps) take(ctx context.Context, p identity.Principal) (ratelimit.Decision, error) {
	own, shared := p.Quotas()
	common, share, divided := p.Shares()
	if !divided {
		return d.Limiter.Take(ctx, own, shared)
	}
	out, err := d.Limiter.Take(ctx, own, shared, common)
	if err != nil || out.Allowed || out.Name != common.Name {
		return out, err
	}
	mine, err := d.Limiter.Take(ctx, own, shared, share)
	if err == nil && !mine.Allowed && mine.Name == share.Name {
		return out, nil
	}
	return mine, err
}

// setQuotaHeaders sets the headers of draft-ietf-httpapi-ratelimit-headers and the older X-RateLimit headers. They describe the
// quota that leaves the caller the fewest requests, by its name: the key's own is called live or test. Times are in whole
// seconds, rounded up.
func setQuotaHeaders(c *fiber.Ctx, d ratelimit.Decision, kind models.EnvironmentKind) {
	reset := int64((d.Reset + time.Second - 1) / time.Second)
	h := &c.Response().Header
	var named, some [64]byte // each value is appended here and copied by the header
	name := append(append(named[:0], '"'), kind.Mode()...)
	if quota, _ := identity.QuotaOf(d.Name); quota != identity.QuotaKey {
		name = append(append(name, '-'), quota...)
	}
	name = append(name, '"')
	v := append(append(some[:0], name...), `;q=`...)
	v = append(strconv.AppendInt(v, int64(d.Limit), 10), `;w=`...)
	h.SetBytesV("RateLimit-Policy", strconv.AppendInt(v, int64(ratelimit.Window/time.Second), 10))
	v = append(append(some[:0], name...), `;r=`...)
	v = append(strconv.AppendInt(v, int64(d.Remaining), 10), `;t=`...)
	h.SetBytesV("RateLimit", strconv.AppendInt(v, reset, 10))
	h.SetBytesV("X-RateLimit-Limit", strconv.AppendInt(some[:0], int64(d.Limit), 10))
	h.SetBytesV("X-RateLimit-Remaining", strconv.AppendInt(some[:0], int64(d.Remaining), 10))
	h.SetBytesV("X-RateLimit-Reset", strconv.AppendInt(some[:0], reset, 10))
}

// Access is the credential that a route requires. Its text completes "This operation requires ...".
type Access string

// The kinds of access. Every route must name one; there is no default.
const (
	AccessOpen        Access = "no credential"
	AccessPublishable Access = "a publishable, server or admin key"
	AccessEvidence    Access = "a client token, server or admin key"
	AccessServer      Access = "a server or admin key"
	AccessAdmin       Access = "an admin key"
)

// Permits returns the problem insufficient_scope unless the caller's scope and its permissions both allow the route.
func (r Route) Permits(p identity.Principal) error {
	if !r.Access.Permits(p) {
		return problem.Newf(problem.InsufficientScope, "This operation requires %s.", r.Access)
	}
	if r.Permission == "" {
		return nil
	}
	return p.Require(r.Permission)
}

// Permits reports whether the caller's scope has the access.
func (a Access) Permits(p identity.Principal) bool {
	server := p.Scope == models.ScopeServer || p.Scope == models.ScopeAdmin
	switch a {
	case AccessPublishable:
		return server || p.Publishable
	case AccessEvidence:
		return server || p.Client != nil
	case AccessServer:
		return server
	case AccessAdmin:
		return p.Scope == models.ScopeAdmin
	default:
		return false
	}
}
