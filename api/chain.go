package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const localCode = "problem_code"

// handle puts one route's chain together: who is calling and may they, have they quota left, does the request keep the
// contract, was it made before, and then the handler. Each step ends the request by returning an error.
func (s *server) handle(r Route) fiber.Handler {
	body := s.bodyCheck(r)
	handler := r.Handler
	if op, ok := s.operations[r.Operation]; ok && op.Idempotent {
		handler = s.idempotent(r.Operation, handler)
	}
	checked := s.shedding(r, func(c *fiber.Ctx) error {
		if r.Access != AccessOpen {
			if err := s.admit(c, r.Access); err != nil {
				return err
			}
		}
		if err := s.checkParams(c, r); err != nil {
			return err
		}
		if err := body(c); err != nil {
			return err
		}
		return handler(c)
	})
	return func(c *fiber.Ctx) error {
		c.Locals(localRoute, r.Operation)
		return checked(c)
	}
}

// observe wraps every request: its id, its deadline, one log line, one measurement; a panic becomes a 500.
func (s *server) observe(c *fiber.Ctx) error {
	start := time.Now()
	id := s.identify(c)
	ctx, cancel := context.WithTimeout(s.base, s.config.RequestTimeout)
	defer cancel()
	ctx, span, trace := s.traced(ctx, c)
	c.Locals(localTraceID, trace)
	c.Locals(localContext, ctx)

	if err := s.guarded(c); err != nil {
		if err := s.answerError(c, err); err != nil {
			return err
		}
	}
	took := time.Since(start)
	code, _ := c.Locals(localCode).(string)
	p := principal(c)
	finish(span, routeName(c), c.Method(), code, c.Response().StatusCode())
	s.metrics.request(routeName(c), c.Method(), c.Response().StatusCode(), took)
	s.log.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("request_id", id), slog.String("trace_id", trace), slog.String("route", routeName(c)), slog.String("method", c.Method()),
		slog.Int("status", c.Response().StatusCode()), slog.String("code", code), slog.String("credential", p.CredentialID),
		slog.Float64("ms", float64(took.Microseconds())/1000))
	return nil
}

// identify gives the request its id, the caller's own where it can do no harm, and the headers that every answer has.
func (s *server) identify(c *fiber.Ctx) string {
	id := utils.CopyString(c.Get(fiber.HeaderXRequestID))
	if !validRequestID(id) {
		id = ids.New(ids.Request)
	}
	c.Locals(localRequestID, id)
	c.Set(fiber.HeaderXRequestID, id)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	return id
}

func (s *server) guarded(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(c, r)
		}
	}()
	return c.Next()
}

// admit authenticates, checks the credential against the route's access and takes one from its quota.
func (s *server) admit(c *fiber.Ctx, access Access) error {
	p, err := s.authenticate(c)
	if err != nil {
		return err
	}
	p.RequestID, p.TraceID = requestID(c), c.Locals(localTraceID).(string)
	c.Locals(localPrincipal, p)
	if err := s.takeQuota(c, p); err != nil {
		return err
	}
	if !access.permits(p) {
		return problem.Newf(problem.InsufficientScope, "This operation wants %s.", access)
	}
	if p.Client != nil && c.Get(fiber.HeaderOrigin) != p.Client.Origin {
		return problem.New(problem.OriginNotAllowed, "The Origin of the request is not the one the client token was made for.")
	}
	return nil
}

func (s *server) authenticate(c *fiber.Ctx) (identity.Principal, error) {
	key, err := bearer(c)
	if err != nil {
		return identity.Principal{}, err
	}
	return s.identity.Authenticate(requestContext(c), utils.CopyString(key))
}

// bearer is the key that the request carries.
func bearer(c *fiber.Ctx) (string, error) {
	scheme, key, ok := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", problem.New(problem.Unauthenticated, "The credential is missing, malformed, expired or revoked.")
	}
	return key, nil
}

// takeQuota counts the request and answers the quota headers. A limiter that cannot be asked lets the request pass: what
// it protects cannot be asked either, and says so itself.
func (s *server) takeQuota(c *fiber.Ctx, p identity.Principal) error {
	bucket := p.CredentialID
	if p.Client != nil {
		bucket = p.Client.TokenID
	}
	d, err := s.limiter.Take(requestContext(c), bucket, p.RateLimit)
	if err != nil {
		s.metrics.limiterAway()
		return nil //nolint:nilerr // a limiter that is away refuses nobody
	}
	quotaHeaders(c, d, p.Kind)
	if !d.Allowed {
		s.metrics.limited()
		e := problem.Newf(problem.RateLimited, "The quota of %d requests an hour is used up.", d.Limit)
		e.RetryAfter = d.Reset
		return e
	}
	return nil
}

// quotaHeaders: draft-ietf-httpapi-ratelimit-headers, and the older X- names.
func quotaHeaders(c *fiber.Ctx, d ratelimit.Decision, kind models.EnvironmentKind) {
	reset := strconv.Itoa(int((d.Reset + time.Second - 1) / time.Second))
	limit, remaining, name := strconv.Itoa(d.Limit), strconv.Itoa(d.Remaining), kind.Mode()
	window := strconv.Itoa(int(ratelimit.Window / time.Second))
	c.Set("RateLimit-Policy", `"`+name+`";q=`+limit+`;w=`+window)
	c.Set("RateLimit", `"`+name+`";r=`+remaining+`;t=`+reset)
	c.Set("X-RateLimit-Limit", limit)
	c.Set("X-RateLimit-Remaining", remaining)
	c.Set("X-RateLimit-Reset", reset)
}

// Access is what a route asks of its caller.
type Access string

// The kinds of access. A new route must name one; there is no default.
const (
	AccessOpen        Access = "no credential"
	AccessPublishable Access = "a publishable, server or admin key"
	AccessEvidence    Access = "a client token, server or admin key"
	AccessServer      Access = "a server or admin key"
	AccessAdmin       Access = "an admin key"
)

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

// validRequestID takes a caller's own request id only where it can do no harm in a log.
func validRequestID(id string) bool {
	if len(id) < 8 || len(id) > 128 {
		return false
	}
	for _, r := range id {
		known := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r)
		if !known {
			return false
		}
	}
	return true
}

// traceID is the trace of a W3C traceparent header, or a fresh one.
func traceID(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) == 4 && len(parts[1]) == 32 && isLowerHex(parts[1]) && strings.Trim(parts[1], "0") != "" {
		return utils.CopyString(parts[1])
	}
	return newTraceID()
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'; !hex {
			return false
		}
	}
	return true
}

// allowMethods answers 405 on a known path and 404 on an unknown one.
func (s *server) unknown(c *fiber.Ctx) error {
	if allow := s.methodsOf(c.Path()); allow != "" {
		c.Set(fiber.HeaderAllow, allow)
		return fiber.NewError(http.StatusMethodNotAllowed)
	}
	return problem.NewNotFound()
}
