package middleware

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

// The header lists of cross-origin requests (https://fetch.spec.whatwg.org/#http-cors-protocol).
const (
	corsAllowedHeaders = "Authorization, Content-Type, X-Service-Research-Optin"
	corsExposedHeaders = "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	corsMaxAge         = "7200" // seconds; the most that browsers cache a preflight
)

// crossOrigin allows pages of other origins to send evidence, and nothing else: the collector runs on the relying party's
// origin. Any origin is allowed because the bearer token, which no browser adds by itself, authenticates the request; admit
// compares the token's origin with the Origin header. Cookies are not allowed.
func (m *Chain) crossOrigin(c *fiber.Ctx) error {
	if c.Get(fiber.HeaderOrigin) == "" || !isEvidence(c.Path()) {
		return c.Next()
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	if c.Method() != fiber.MethodOptions || c.Get(fiber.HeaderAccessControlRequestMethod) == "" {
		c.Set(fiber.HeaderAccessControlExposeHeaders, corsExposedHeaders)
		return c.Next()
	}
	request.SetRoute(c, "preflight")
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsAllowedHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}

// isEvidence matches the path of submitEvidence. It runs before routing, for OPTIONS requests too.
func isEvidence(path string) bool {
	id, found := strings.CutPrefix(path, "/api/v1/sessions/")
	id, rest, _ := strings.Cut(id, "/")
	return found && id != "" && rest == "evidence"
}
