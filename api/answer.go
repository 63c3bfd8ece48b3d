package api

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

const problemJSON = "application/problem+json"

// problemBody is an RFC 9457 answer. Its type is a page of the documentation, relative to the service.
type problemBody struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      problem.Code `json:"code"`
	RequestID string       `json:"request_id"`
}

type validationBody struct {
	Detail []problem.Field `json:"detail"`
}

// answerError is the only place where an error becomes an answer. What is not a problem of the domain is a bare 500 (503
// where the database is away) and its text goes to the log alone.
func (s *server) answerError(c *fiber.Ctx, err error) error {
	if requestID(c) == "" {
		s.identify(c) // what cannot be read as HTTP comes here without having passed the chain
		if !errors.Is(err, fiber.ErrRequestTimeout) {
			leftUnread(c) // a client that was too slow has had its time
		}
	}
	p := toProblem(err)
	kind := problem.Of(p.Code)
	if kind.Status >= http.StatusInternalServerError {
		s.log.LogAttrs(requestContext(c), slog.LevelError, "request failed",
			slog.String("request_id", requestID(c)), slog.String("route", routeName(c)), slog.String("error", err.Error()))
	}
	c.Locals(localCode, string(p.Code))
	if p.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Code == problem.Unprocessable {
		return send(c, kind.Status, validationBody{Detail: p.Fields})
	}
	if p.Code == problem.Unauthenticated {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="countersign"`)
	}
	body := problemBody{
		Type: "/docs/errors#" + string(p.Code), Title: kind.Title, Status: kind.Status, Detail: p.Detail, Code: p.Code,
		RequestID: requestID(c),
	}
	if err := send(c, kind.Status, body); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, problemJSON)
	return nil
}

func toProblem(err error) *problem.Error {
	if p := problem.As(err); p != nil {
		return p
	}
	var f *fiber.Error
	switch {
	case errors.As(err, &f):
		return fromFiber(f)
	case errors.Is(err, store.ErrNotFound):
		return problem.NewNotFound()
	case store.IsAway(err):
		return problem.NewUnavailable("The service cannot do its work just now. Nothing was changed.", err)
	default:
		return &problem.Error{Code: problem.Internal, Detail: "The request failed on our side. Quote the request id to support.", Cause: err}
	}
}

func fromFiber(f *fiber.Error) *problem.Error {
	switch f.Code {
	case http.StatusNotFound:
		return problem.NewNotFound()
	case http.StatusMethodNotAllowed:
		return problem.New(problem.MethodNotAllowed, "This path does not know the method: see Allow.")
	case http.StatusRequestEntityTooLarge:
		return problem.New(problem.BodyTooLarge, "The body is larger than this operation takes.")
	case http.StatusRequestHeaderFieldsTooLarge:
		return problem.Newf(problem.BadRequest, "The request line and the headers are larger than %d KiB.", maxHeaders>>10)
	default:
		return problem.New(problem.BadRequest, "The request is not HTTP that can be read.")
	}
}

func requestID(c *fiber.Ctx) string {
	id, _ := c.Locals(localRequestID).(string)
	return id
}

func routeName(c *fiber.Ctx) string {
	name, _ := c.Locals(localRoute).(string)
	return name
}
