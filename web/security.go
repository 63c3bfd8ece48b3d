package web

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// permissions is the Permissions-Policy: pages may use passkeys of their own origin and no other powerful browser feature.
const permissions = "publickey-credentials-get=(self), publickey-credentials-create=(self), accelerometer=(), autoplay=(), camera=(), " +
	"display-capture=(), fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// harden sets the security headers of every response of a section.
func (s *Site) harden(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentSecurityPolicy, s.policy(nil))
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.Set("Permissions-Policy", permissions)
	if s.secure {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=63072000")
	}
}

// allowFrames allows the listed origins to embed the page in a frame.
func (s *Site) allowFrames(c *fiber.Ctx, ancestors []string) {
	c.Set(fiber.HeaderContentSecurityPolicy, s.policy(ancestors))
	c.Response().Header.Del(fiber.HeaderXFrameOptions) // it cannot list origins; every supported browser prefers frame-ancestors
}

// policy returns the Content-Security-Policy: scripts, styles and connections of this origin only, no inline code, no markup
// from strings (Trusted Types), and no embedding except by the listed origins.
func (s *Site) policy(ancestors []string) string {
	frames := "'none'"
	if len(ancestors) > 0 {
		frames = strings.Join(ancestors, " ")
	}
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; " +
		"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors " + frames +
		"; require-trusted-types-for 'script'; trusted-types 'none'"
	if s.config.OnViolation != nil {
		policy += "; report-uri " + violationPath
	}
	return policy
}

// sameOrigin refuses requests that a page of another site made the browser send (CSRF). Browsers always send Sec-Fetch-Site
// or Origin with a POST; a request with neither does not come from a page. Cookies are SameSite=Strict as well.
func sameOrigin(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); site {
	case "same-origin":
		return nil
	case "":
		from, err := url.Parse(c.Get(fiber.HeaderOrigin))
		if err == nil && from.Host != "" && from.Host == string(c.Request().Host()) {
			return nil
		}
	}
	return problem.New(problem.OriginNotAllowed, "The request must come from a page of this service.")
}
