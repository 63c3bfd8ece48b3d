package web

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// permissions are the powerful features of a browser that a page may use: passkeys, of its own origin, and nothing else.
const permissions = "publickey-credentials-get=(self), publickey-credentials-create=(self), accelerometer=(), autoplay=(), camera=(), " +
	"display-capture=(), fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// harden sets the headers of everything a browser gets from a section.
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

// allowFrames lets the listed origins show the page in a frame.
func (s *Site) allowFrames(c *fiber.Ctx, ancestors []string) {
	c.Set(fiber.HeaderContentSecurityPolicy, s.policy(ancestors))
	c.Response().Header.Del(fiber.HeaderXFrameOptions) // it knows no list; browsers that read it know frame-ancestors
}

// policy is the Content-Security-Policy: own scripts, own styles, own connections; no inline code, no string turned into
// markup (Trusted Types), no frame but of the listed origins.
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

// sameOrigin refuses a request that another site's page had the browser send. Every browser tells where a POST comes from,
// so one that does not tell is no page's. (Cookies of the pages are SameSite=Strict besides.)
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
	return problem.New(problem.OriginNotAllowed, "The request does not come from a page of this service.")
}
