// Package request stores and reads what is known of the HTTP request being handled: its context, id, trace, route name and
// problem code.
//
// The API's middleware sets these values; handlers of the API and of the web pages read them. The package may not
// authenticate, log or write a response.
package request

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// known has the values of a request. It is one of Fiber's locals: each of them would be an object of its own.
type known struct {
	ctx                context.Context //nolint:containedctx // of the request, which has no field for it
	id, traceID, route string
	problemCode        problem.Code
	forbidden          problem.Code
	form               Form
}

// key is the key of known among Fiber's locals.
const key = "request"

// of returns the values of the request.
func of(c *fiber.Ctx) *known {
	k, ok := c.Locals(key).(*known)
	if !ok {
		k = &known{ctx: context.Background()}
		c.Locals(key, k)
	}
	return k
}

// Context returns the context with the request's deadline and trace, which Fiber's own contexts do not have.
func Context(c *fiber.Ctx) context.Context { return of(c).ctx }

// SetContext sets what Context returns.
func SetContext(c *fiber.Ctx, ctx context.Context) { of(c).ctx = ctx } //nolint:revive // setters take the request first

// ID returns the request id that logs, responses and pages show; empty if none was set.
func ID(c *fiber.Ctx) string { return of(c).id }

// SetID sets what ID returns.
func SetID(c *fiber.Ctx, id string) { of(c).id = id }

// TraceID returns the W3C trace id of the request in lower-case hex.
func TraceID(c *fiber.Ctx) string { return of(c).traceID }

// SetTraceID sets what TraceID returns.
func SetTraceID(c *fiber.Ctx, id string) { of(c).traceID = id }

// Route returns the operation id or the page name of the matched route; empty if none has matched.
func Route(c *fiber.Ctx) string { return of(c).route }

// SetRoute names the route for logs, metrics and spans, which never show the path: it may contain a ticket.
func SetRoute(c *fiber.Ctx, name string) { of(c).route = name }

// ProblemCode returns the code of the problem that the request ended with; empty if it succeeded.
func ProblemCode(c *fiber.Ctx) problem.Code { return of(c).problemCode }

// SetProblemCode records the code for the log line and the span of the request.
func SetProblemCode(c *fiber.Ctx, code problem.Code) {
	k := of(c)
	k.problemCode = code
	if problem.Of(code).Status == http.StatusForbidden {
		k.forbidden = code
	}
}

// ForbiddenCode returns the last code of status 403 that was set; empty for none. The request may have ended with another, or with none: a
// batch goes on after an item that is refused.
func ForbiddenCode(c *fiber.Ctx) problem.Code { return of(c).forbidden }
