package web

import (
	"encoding/json"
	"html/template"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Router registers the routes of one section. Paths are Fiber patterns from the root of the service. Logs and metrics show
// the name of a route and never its path.
type Router struct {
	site    *Site
	section *section
	app     *fiber.App
}

// Get registers a page or a resource that a page's script reads. An error of the handler becomes the error page if the
// client accepts HTML, and the API's problem document otherwise.
func (r *Router) Get(path, name string, handler fiber.Handler) {
	r.app.Get(path, r.site.handle(r.section, name, handler))
}

// Post registers a handler for requests that change something. Requests from pages of other origins are refused with 403
// before the handler runs.
func (r *Router) Post(path, name string, handler fiber.Handler) {
	r.app.Post(path, r.site.handle(r.section, name, func(c *fiber.Ctx) error {
		if err := sameOrigin(c); err != nil {
			return err
		}
		if err := request.ReadForm(c); err != nil {
			return err
		}
		return handler(c)
	}))
}

// Land registers a form POST that only displays a page and changes nothing. It does not check the origin, because older
// browsers do not send one with forms.
func (r *Router) Land(path, name string, handler fiber.Handler) {
	r.app.Post(path, r.site.handle(r.section, name, func(c *fiber.Ctx) error {
		if err := request.ReadForm(c); err != nil {
			return err
		}
		return handler(c)
	}))
}

// Receive registers a POST of another server, which sends no origin and no cookie. The handler must authenticate its body.
func (r *Router) Receive(path, name string, handler fiber.Handler) { r.Land(path, name, handler) }

// Render writes a page of the section.
func (r *Router) Render(c *fiber.Ctx, status int, p Page) error {
	return r.site.render(c, r.section, status, p)
}

// Stream writes a page whose data comes while it is written, from a channel that its template ranges over. It takes at most limit, and calls
// ended once no one reads the page any more.
func (r *Router) Stream(c *fiber.Ctx, p Page, limit time.Duration, ended func()) error {
	return r.site.stream(c, r.section, p, limit, ended)
}

// JSON writes a JSON response for a page's script.
func (r *Router) JSON(c *fiber.Ctx, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(body)
}

// Bind decodes the JSON body of a script's POST. The content type must be application/json and the size at most limit bytes.
// Unknown fields are ignored: during a deployment a page may meet a service of a different version.
func Bind[T any](c *fiber.Ctx, limit int) (T, error) {
	var v T
	switch {
	case !c.Is("json"):
		return v, problem.New(problem.BadRequest, "Content-Type must be application/json.")
	case len(request.Body(c)) > limit:
		return v, problem.New(problem.BodyTooLarge, "The body is larger than this page allows.")
	}
	if err := strictjson.Unmarshal(request.Body(c), &v); err != nil {
		return v, problem.New(problem.BadRequest, "The body is not valid JSON: "+err.Error())
	}
	return v, nil
}

// SetCookie sets a cookie with HttpOnly and SameSite=Strict for this host only. If the service is https the cookie is Secure
// and has the __Host- prefix, so that no sibling host can set it.
func (r *Router) SetCookie(c *fiber.Ctx, name, value string, life time.Duration) {
	r.setCookie(c, name, value, life, fiber.CookieSameSiteStrictMode)
}

// SetReturnCookie is SetCookie with SameSite=Lax: the browser also sends the cookie when another site's page redirects to this
// host, as an identity provider does. It must not authenticate anyone.
func (r *Router) SetReturnCookie(c *fiber.Ctx, name, value string, life time.Duration) {
	r.setCookie(c, name, value, life, fiber.CookieSameSiteLaxMode)
}

func (r *Router) setCookie(c *fiber.Ctx, name, value string, life time.Duration, sameSite string) {
	c.Cookie(&fiber.Cookie{
		Name: r.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second), Secure: r.site.secure, HTTPOnly: true, SameSite: sameSite,
	})
}

// Cookie returns the value of a cookie set by SetCookie; empty if there is none.
func (r *Router) Cookie(c *fiber.Ctx, name string) string { return c.Cookies(r.cookieName(name)) }

// Cookies returns the values of the cookies set by SetCookie whose names begin with the prefix, by name.
func (r *Router) Cookies(c *fiber.Ctx, prefix string) map[string]string {
	out := map[string]string{}
	c.Request().Header.VisitAllCookie(func(name, value []byte) {
		if rest, ok := strings.CutPrefix(string(name), r.cookieName(prefix)); ok {
			out[prefix+rest] = string(value)
		}
	})
	return out
}

// DropCookie deletes a cookie set by SetCookie.
func (r *Router) DropCookie(c *fiber.Ctx, name string) {
	c.Cookie(&fiber.Cookie{
		Name: r.cookieName(name), Path: "/", Expires: time.Unix(1, 0), Secure: r.site.secure, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode,
	})
}

func (r *Router) cookieName(name string) string { return cookieName(name, r.site.secure) }

func cookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// CookieName returns the name that SetCookie gives a cookie of the site with the base URL.
func CookieName(name, baseURL string) string { return cookieName(name, isSecure(baseURL)) }

// AssetURL returns the path of a bundled file, such as "try.js".
func (r *Router) AssetURL(name string) (string, error) { return r.site.assets.url(name) }

// handle wraps a page's handler with its route name, security headers and error page.
func (s *Site) handle(sec *section, name string, handler fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		request.SetRoute(c, name)
		s.harden(c)
		err := handler(c)
		if err == nil || !wantsPage(c) {
			return err
		}
		return s.fail(c, sec, err)
	}
}

// wantsPage reports whether the client prefers HTML to JSON: a navigation, not a script's request.
func wantsPage(c *fiber.Ctx) bool {
	return c.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) == fiber.MIMETextHTML
}

// functions returns the functions that templates can call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   s.assets.url,
		"visible": Visible,
		"json":    toJSON,
		"iso":     func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"utc":     func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
	}
}

// toJSON encodes a value for a data attribute; html/template escapes it.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
