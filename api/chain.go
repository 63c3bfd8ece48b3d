package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// handle builds the chain of one route: load shedding, authentication and quota, the contract's rules for path, query and
// body, idempotency, and the handler. A step ends the request by returning an error.
func (s *server) handle(r Route) fiber.Handler {
	body := s.bodyCheck(r)
	handler := naming(r)
	if op, ok := s.operations[r.Operation]; ok && op.Idempotent {
		handler = s.idempotent(r.Operation, handler)
	}
	if r.Old {
		handler = mayBeOld(handler)
	}
	if r.Personal {
		handler = s.counting(r, handler)
	}
	checked := s.shedding(r, func(c *fiber.Ctx, key identity.Key) error {
		if r.Access != AccessOpen {
			if err := s.admit(c, r, key); err != nil {
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
	if s.operations[r.Operation].AuthZEN {
		checked = followAuthZEN(checked)
	}
	return func(c *fiber.Ctx) error {
		request.SetRoute(c, r.Operation)
		return checked(c)
	}
}

// observe wraps every request: it sets the id, the deadline and the trace, turns an error or a panic into a response, and
// writes one log line and one measurement, and has a refusal recorded.
func (s *server) observe(c *fiber.Ctx) error {
	start := time.Now()
	id := s.identify(c)
	ctx, cancel := context.WithTimeout(s.base, s.config.RequestTimeout)
	defer cancel()
	ctx, span, trace := s.startSpan(ctx, c)
	request.SetTraceID(c, trace)
	request.SetContext(c, ctx)

	if err := s.recovered(c); err != nil {
		if err := s.writeProblem(c, err); err != nil {
			return err
		}
	}
	took := time.Since(start)
	route, code, status := request.Route(c), string(request.ProblemCode(c)), c.Response().StatusCode()
	s.tally.Refused(principal(c), route, request.ForbiddenCode(c))
	endSpan(span, route, c.Method(), code, status)
	s.metrics.request(handled{principal(c).EnvironmentID, route, c.Method(), status, took})
	s.log.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("request_id", id), slog.String("trace_id", trace), slog.String("route", route), slog.String("method", c.Method()),
		slog.Int("status", status), slog.String("code", code), slog.String("credential", principal(c).CredentialID),
		slog.Float64("ms", float64(took.Microseconds())/1000))
	return nil
}

// identify sets the request id, which is the caller's own if it is safe to log, and the headers of every response.
func (s *server) identify(c *fiber.Ctx) string {
	id := c.Get(fiber.HeaderXRequestID)
	if !validRequestID(id) {
		id = ids.New(ids.Request)
	}
	request.SetID(c, id)
	c.Set(fiber.HeaderXRequestID, id)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	return id
}

// recovered runs the rest of the chain and turns a panic into an error.
func (s *server) recovered(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(c, r)
		}
	}()
	return c.Next()
}

// validRequestID limits a caller's own request id to characters that no log format interprets.
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

// finds is the field of the body that identifies a resource, of operations on a path without parameters.
var finds = map[string]string{
	"createClientToken": "subject", "createSession": "subject",
	"legacyIngest": "session_id", "legacySessionEnd": "session_id", "legacyAuth": "user_id",
}

// naming adds the name of the parameter to a not_found of a route's handler. The services name it themselves if a request has several.
func naming(r Route) fiber.Handler {
	names := r.pathParams
	if field, ok := finds[r.Operation]; ok {
		names = []string{field}
	}
	return func(c *fiber.Ctx) error {
		err := r.Handler(c)
		if err == nil || len(names) == 0 {
			return err
		}
		if p := request.ProblemOf(err); p.Code == problem.NotFound && p.Parameter == "" {
			return problem.NotFoundBy(strings.Join(names, " and "))
		}
		return err
	}
}

// unmatched returns 405 for a path that supports other methods, and 404 for an unknown path.
func (s *server) unmatched(c *fiber.Ctx) error {
	if allow := s.methodsOf(c.Path()); allow != "" {
		c.Set(fiber.HeaderAllow, allow)
		return fiber.NewError(http.StatusMethodNotAllowed)
	}
	detail := "No operation has this path. /docs lists the paths of all operations."
	if path := strings.TrimRight(c.Path(), "/"); path != c.Path() && s.methodsOf(path) != "" {
		detail = "No operation has this path: remove the slash at its end."
	}
	return problem.New(problem.NotFound, detail)
}
