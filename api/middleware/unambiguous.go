package middleware

import (
	"errors"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/framing"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// unambiguous refuses a request whose target or body could be read in two ways, before anything else looks at it. A developer's
// service, whose keys are known, does not serve pages of names that it does not have.
func (m *Chain) unambiguous(c *fiber.Ctx) error {
	if host := string(c.Request().Host()); m.config.LocalOnly && host != "" && !request.IsLocal(host, m.config.BaseURL) {
		return problem.New(problem.Forbidden, "This service is for this machine: use localhost, an address, or the host of its base URL.")
	}
	if err := request.CheckTarget(c); err != nil {
		return err
	}
	if err := request.CheckEncoding(c); err != nil {
		return err
	}
	return c.Next()
}

// explainFraming lets a request that package framing refused end with its rule. The server then closes the connection: the bytes
// behind the request may be one that a proxy in front never saw.
func (m *Chain) explainFraming(app *fiber.App) {
	inner := app.Server().ErrorHandler
	app.Server().ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		var broken *framing.Error
		if !errors.As(err, &broken) {
			inner(ctx, err)
			return
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		_ = m.WriteProblem(c, problem.New(problem.BadRequest, broken.Error())) // fails only if the body cannot be encoded
	}
}
