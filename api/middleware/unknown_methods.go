package middleware

import (
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// handleUnknownMethods returns the contract's 404 or 405 for methods that Fiber does not know. Fiber would reject them before
// any middleware, with a body of its own.
func (m *Chain) handleUnknownMethods(app *fiber.App) {
	inner := app.Handler()
	app.Server().Handler = func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			inner(ctx)
			return
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		_ = m.WriteProblem(c, m.unmatched(c)) // fails only if the body cannot be encoded
	}
}
