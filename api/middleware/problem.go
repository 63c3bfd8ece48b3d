package middleware

import (
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/linger"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

const problemJSON = "application/problem+json"

// problemBody is a problem document (RFC 9457). Type is the path of the code's documentation on this service.
type problemBody struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      problem.Code `json:"code"`
	RequestID string       `json:"request_id"`
}

// validationBody is the body of a 422: a list of fields in place of a problem document, as the contract defines it.
type validationBody struct {
	Detail []problem.Field `json:"detail"`
}

// validationProblem is a 422 as a problem document, for clients that accept that.
type validationProblem struct {
	problemBody
	Errors []problem.Field `json:"errors"`
}

// WriteProblem writes the response for an error of the chain or of a handler. It is the only place that does. The cause of an
// error that is not a problem of the domain goes to the log only.
func (m *Chain) WriteProblem(c *fiber.Ctx, err error) error {
	if request.ID(c) == "" {
		m.identify(c) // a request that cannot be parsed gets here without having passed the chain
		if !errors.Is(err, fiber.ErrRequestTimeout) {
			linger.MarkUnread(c) // not for a client that was too slow: it has had its time
		}
	}
	p := request.ProblemOf(err)
	kind := problem.Of(p.Code)
	if kind.Status >= http.StatusInternalServerError {
		m.deps.Log.LogAttrs(request.Context(c), slog.LevelError, "request failed",
			slog.String("request_id", request.ID(c)), slog.String("route", request.Route(c)), slog.String("error", err.Error()))
	}
	request.SetProblemCode(c, p.Code)
	request.SetRetryAfter(c, p)
	if p.Code == problem.Unprocessable && !acceptsProblem(c) {
		return c.Status(kind.Status).JSON(validationBody{Detail: p.Fields})
	}
	if p.Code == problem.Unauthenticated {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="countersign"`)
	}
	body := problemBody{
		Type: "/docs/errors#" + string(p.Code), Title: kind.Title, Status: kind.Status, Detail: p.Detail, Code: p.Code,
		RequestID: request.ID(c),
	}
	var document any = body
	if p.Code == problem.Unprocessable {
		document = validationProblem{body, p.Fields}
	}
	return c.Status(kind.Status).JSON(document, problemJSON)
}

// acceptsProblem reports whether the Accept header names problem documents, and not with q=0. A wildcard is not enough: clients send
// it that know only the contract's 422.
func acceptsProblem(c *fiber.Ctx) bool {
	for part := range strings.SplitSeq(c.Get(fiber.HeaderAccept), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err == nil && media == problemJSON {
			q, err := strconv.ParseFloat(params["q"], 64)
			return params["q"] == "" || err == nil && q > 0
		}
	}
	return false
}
