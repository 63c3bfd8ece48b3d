package request

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// MaxHeaderBytes limits the request line and the headers together, as most proxies do. Each open connection, an event stream
// included, occupies a buffer of this size.
const MaxHeaderBytes = 8 << 10

// InternalDetail is the detail of a problem whose cause is for the log only.
const InternalDetail = "The request failed because of an internal error. Contact support and quote the request id."

// ProblemOf returns the problem to report to the client for an error. An error that is not a problem of the domain becomes
// unavailable if the database cannot be reached, and internal otherwise; its text is not part of the detail.
func ProblemOf(err error) *problem.Error {
	if p := problem.As(err); p != nil {
		return p
	}
	var f *fiber.Error
	var altered *pg.Altered
	switch {
	case errors.As(err, &altered):
		return &problem.Error{Code: problem.Unavailable, RetryAfter: time.Minute, Cause: err, Detail: "A stored record that this request depends on, of the table " +
			altered.Table + ", was changed outside of the service. Nothing was decided. The operator of the service finds the record in the audit log."}
	case errors.Is(err, keyring.ErrAuthentication):
		return &problem.Error{Code: problem.Unavailable, RetryAfter: time.Minute, Cause: err, Detail: "A sealed value that this request depends on was " +
			"changed outside of the service. Nothing was decided. The operator of the service finds its record in the log of the process."}
	case errors.As(err, &f):
		return problemOfFiber(f)
	case errors.Is(err, pg.ErrNotFound):
		return problem.NewNotFound()
	case errors.Is(err, pg.ErrCursor):
		return problem.Invalid([]any{"query", "cursor"}, "cursor must be the value from a Link header of this list.", "cursor_invalid")
	case pg.IsUnavailable(err):
		return problem.NewUnavailable("The database is unavailable. Nothing was changed; retry after the Retry-After header.", err)
	default:
		return &problem.Error{Code: problem.Internal, Detail: InternalDetail, Cause: err}
	}
}

// SetRetryAfter says when a request that was refused for the time being can be repeated.
func SetRetryAfter(c *fiber.Ctx, p *problem.Error) {
	if p.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
}

// problemOfFiber maps the errors that Fiber and fasthttp raise before a handler runs.
func problemOfFiber(f *fiber.Error) *problem.Error {
	switch f.Code {
	case http.StatusNotFound:
		return problem.NewNotFound()
	case http.StatusMethodNotAllowed:
		return problem.New(problem.MethodNotAllowed, "This path does not support the method. The Allow header lists the methods it supports.")
	case http.StatusRequestEntityTooLarge:
		return problem.New(problem.BodyTooLarge, "The body is larger than this operation allows.")
	case http.StatusRequestHeaderFieldsTooLarge:
		return problem.Newf(problem.BadRequest, "The request line and the headers must not exceed %d KiB.", MaxHeaderBytes>>10)
	case http.StatusRequestTimeout:
		return problem.New(problem.BadRequest, "The request did not arrive completely in time. Nothing was changed; retry the request.")
	default:
		return problem.New(problem.BadRequest, "The request is not valid HTTP/1.1.")
	}
}
