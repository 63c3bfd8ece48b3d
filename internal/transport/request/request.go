// Package request stores and reads what is known of the HTTP request being handled: its context, id, trace, route name, caller,
// decoded body and problem code.
//
// The API's middleware sets these values; handlers of the API and of the web pages read them. The package may not
// authenticate, log or write a response.
package request

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// known has the values of a request. It is one of Fiber's locals: each of them would be an object of its own.
type known struct {
	ctx                context.Context //nolint:containedctx // of the request, which has no field for it
	id, traceID, route string
	problemCode        problem.Code
	forbidden          problem.Code
	form               Form
	caller             identity.Principal
	body               any
	spelled            string
	listed             *int
	unstored           bool
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

// Principal returns the caller; the zero value on routes that need no credential.
func Principal(c *fiber.Ctx) identity.Principal { return of(c).caller }

// SetPrincipal sets what Principal returns.
func SetPrincipal(c *fiber.Ctx, p identity.Principal) { of(c).caller = p }

// Decoded returns the body as the middleware has parsed and validated it; nil if there is none. Evidence, which is most of the
// traffic, is built from it so that it is parsed only once.
func Decoded(c *fiber.Ctx) map[string]any {
	body, _ := of(c).body.(map[string]any)
	return body
}

// Spelled returns the text of the field whose text the route reads too; empty if it is missing.
func Spelled(c *fiber.Ctx) string { return of(c).spelled }

// SetDecoded sets what Decoded and Spelled return.
func SetDecoded(c *fiber.Ctx, body any, spelled string) { of(c).body, of(c).spelled = body, spelled }

// Listed returns the number of records that a list has returned, for the audit log; false before.
func Listed(c *fiber.Ctx) (int, bool) {
	if n := of(c).listed; n != nil {
		return *n, true
	}
	return 0, false
}

// SetListed sets what Listed returns.
func SetListed(c *fiber.Ctx, n int) { of(c).listed = &n }

// Unstored reports whether a repetition of the request must not get this response, as one of a batch that partly failed.
func Unstored(c *fiber.Ctx) bool { return of(c).unstored }

// MarkUnstored sets what Unstored returns.
func MarkUnstored(c *fiber.Ctx) { of(c).unstored = true }
