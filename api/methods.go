package api

import (
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// answerOddMethods puts a door before the application for methods that Fiber does not know, which it would answer itself, in
// words of its own: they are answered as any method that a path does not take.
func (s *server) answerOddMethods(app *fiber.App) {
	inner := app.Handler()
	app.Server().Handler = func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			inner(ctx)
			return
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		_ = s.answerError(c, s.unknown(c)) // fails only where JSON cannot be written
	}
}
