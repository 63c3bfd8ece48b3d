// Package request stores and reads what is known of the HTTP request being handled: its context, id, trace, route name and
// problem code.
//
// The API's middleware sets these values; handlers of the API and of the web pages read them. The package may not
// authenticate, log or write a response.
package request

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// The keys of the request's values among Fiber's locals.
const (
	keyContext     = "context"
	keyID          = "request_id"
	keyTraceID     = "trace_id"
	keyRoute       = "route"
	keyProblemCode = "problem_code"
)

// Context returns the context with the request's deadline and trace, which Fiber's own contexts do not have.
func Context(c *fiber.Ctx) context.Context {
	if ctx, ok := c.Locals(keyContext).(context.Context); ok {
		return ctx
	}
	return context.Background()
}

// SetContext sets what Context returns.
func SetContext(c *fiber.Ctx, ctx context.Context) { c.Locals(keyContext, ctx) } //nolint:revive // setters take the request first

// ID returns the request id that logs, responses and pages show; empty if none was set.
func ID(c *fiber.Ctx) string { return local(c, keyID) }

// SetID sets what ID returns.
func SetID(c *fiber.Ctx, id string) { c.Locals(keyID, id) }

// TraceID returns the W3C trace id of the request in lower-case hex.
func TraceID(c *fiber.Ctx) string { return local(c, keyTraceID) }

// SetTraceID sets what TraceID returns.
func SetTraceID(c *fiber.Ctx, id string) { c.Locals(keyTraceID, id) }

// Route returns the operation id or the page name of the matched route; empty if none has matched.
func Route(c *fiber.Ctx) string { return local(c, keyRoute) }

// SetRoute names the route for logs, metrics and spans, which never show the path: it may contain a ticket.
func SetRoute(c *fiber.Ctx, name string) { c.Locals(keyRoute, name) }

// ProblemCode returns the code of the problem that the request ended with; empty if it succeeded.
func ProblemCode(c *fiber.Ctx) problem.Code { return problem.Code(local(c, keyProblemCode)) }

// SetProblemCode records the code for the log line and the span of the request.
func SetProblemCode(c *fiber.Ctx, code problem.Code) { c.Locals(keyProblemCode, string(code)) }

func local(c *fiber.Ctx, key string) string {
	s, _ := c.Locals(key).(string)
	return s
}
