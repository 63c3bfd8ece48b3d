package middleware

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// followAuthZEN adapts the responses of an operation to the Authorization API: a malformed request is 400, and the caller's
// request id is returned as it was sent.
func followAuthZEN(next fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if id := c.Get(fiber.HeaderXRequestID); id != "" {
			c.Set(fiber.HeaderXRequestID, id)
		}
		return AsBadRequest(next(c))
	}
}

// AsBadRequest turns the violations of a contract and an unsupported content type into a bad_request that names them.
func AsBadRequest(err error) error {
	p := problem.As(err)
	if p == nil || p.Code != problem.Unprocessable && p.Code != problem.UnsupportedMedia {
		return err
	}
	texts := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		texts[i] = strings.TrimSuffix(f.Msg, ".")
	}
	if len(texts) == 0 {
		return problem.New(problem.BadRequest, p.Detail)
	}
	return problem.New(problem.BadRequest, strings.Join(texts, "; ")+".")
}
