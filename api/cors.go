package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

// What a page of another origin may send and read (https://fetch.spec.whatwg.org/#http-cors-protocol).
const (
	corsSent  = "Authorization, Content-Type, X-Service-Research-Optin"
	corsRead  = "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	corsKeeps = "7200" // seconds; browsers keep a preflight no longer
)

// crossOrigin lets a relying party's page send evidence, and nothing else: the collector runs on the relying party's origin.
// Any origin may ask, because what opens the door is a bearer token, which no browser adds by itself; the token is held
// against the request's Origin later in the chain. Cookies are not allowed.
func (s *server) crossOrigin(c *fiber.Ctx) error {
	if c.Get(fiber.HeaderOrigin) == "" || !isEvidence(c.Path()) {
		return c.Next()
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	if c.Method() != fiber.MethodOptions || c.Get(fiber.HeaderAccessControlRequestMethod) == "" {
		c.Set(fiber.HeaderAccessControlExposeHeaders, corsRead)
		return c.Next()
	}
	c.Locals(localRoute, "preflight")
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsSent)
	c.Set(fiber.HeaderAccessControlMaxAge, corsKeeps)
	return c.SendStatus(fiber.StatusNoContent)
}

func isEvidence(path string) bool {
	id, found := strings.CutPrefix(path, "/api/v1/sessions/")
	id, rest, _ := strings.Cut(id, "/")
	return found && id != "" && rest == "evidence"
}
