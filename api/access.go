package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// unauthenticatedDetail does not say which of the causes applies: that would help to guess keys.
const unauthenticatedDetail = "The credential is missing, malformed, expired or revoked."

// admit authenticates the caller, takes one request from its quota and checks its credential against the route's access and
// permission.
func (s *server) admit(c *fiber.Ctx, r Route) error {
	p, err := s.authenticate(c)
	if err != nil {
		return err
	}
	p.RequestID, p.TraceID = request.ID(c), request.TraceID(c)
	c.Locals(localPrincipal, p)
	if err := s.takeQuota(c, p); err != nil {
		return err
	}
	if err := r.permits(p); err != nil {
		return err
	}
	if p.Client != nil && c.Get(fiber.HeaderOrigin) != p.Client.Origin {
		return problem.New(problem.OriginNotAllowed, "The Origin header does not match the origin of the client token.")
	}
	return nil
}

func (s *server) authenticate(c *fiber.Ctx) (identity.Principal, error) {
	key, err := bearer(c)
	if err != nil {
		return identity.Principal{}, err
	}
	return s.identity.Authenticate(request.Context(c), key)
}

// bearer returns the key of the Authorization header. The string may outlive the request.
func bearer(c *fiber.Ctx) (string, error) {
	scheme, key, ok := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", problem.New(problem.Unauthenticated, unauthenticatedDetail)
	}
	return key, nil
}

// takeQuota counts the request and sets the quota headers. If the limiter is unavailable the request passes: the limiter
// depends on the same database as the work it protects, which then fails by itself.
func (s *server) takeQuota(c *fiber.Ctx, p identity.Principal) error {
	bucket := p.CredentialID
	if p.Client != nil {
		bucket = p.Client.TokenID
	}
	d, err := s.limiter.Take(request.Context(c), bucket, p.RateLimit)
	if err != nil {
		s.metrics.limiterUnavailable()
		return nil //nolint:nilerr // an unavailable limiter refuses no request
	}
	setQuotaHeaders(c, d, p.Kind)
	if !d.Allowed {
		s.metrics.limited()
		e := problem.Newf(problem.RateLimited, "The quota of %d requests an hour is used up. Retry after the Retry-After header.", d.Limit)
		e.RetryAfter = d.Reset
		return e
	}
	return nil
}

// setQuotaHeaders sets the headers of draft-ietf-httpapi-ratelimit-headers and the older X-RateLimit headers. Times are in
// whole seconds, rounded up.
func setQuotaHeaders(c *fiber.Ctx, d ratelimit.Decision, kind models.EnvironmentKind) {
	reset := strconv.Itoa(int((d.Reset + time.Second - 1) / time.Second))
	limit, remaining, name := strconv.Itoa(d.Limit), strconv.Itoa(d.Remaining), kind.Mode()
	window := strconv.Itoa(int(ratelimit.Window / time.Second))
	c.Set("RateLimit-Policy", `"`+name+`";q=`+limit+`;w=`+window)
	c.Set("RateLimit", `"`+name+`";r=`+remaining+`;t=`+reset)
	c.Set("X-RateLimit-Limit", limit)
	c.Set("X-RateLimit-Remaining", remaining)
	c.Set("X-RateLimit-Reset", reset)
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

// permits returns the problem insufficient_scope unless the caller's scope and its permissions both allow the route.
func (r Route) permits(p identity.Principal) error {
	if !r.Access.permits(p) {
		return problem.Newf(problem.InsufficientScope, "This operation requires %s.", r.Access)
	}
	if r.Permission == "" {
		return nil
	}
	return p.Require(r.Permission)
}

func (a Access) permits(p identity.Principal) bool {
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
