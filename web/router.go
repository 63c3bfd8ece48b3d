package web

import (
	"encoding/json"
	"html/template"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Router registers the routes of one section. Paths are Fiber's, from the root of the service. The name is what logs and
// metrics show; they never show a path.
type Router struct {
	site    *Site
	section *section
	app     *fiber.App
}

// Get registers a page, or what a page's script reads. An error that the handler returns becomes the error page where a
// page was asked for, and the API's problem document where a script asked for JSON.
func (r *Router) Get(path, name string, handler fiber.Handler) {
	r.app.Get(path, r.site.handle(r.section, name, handler))
}

// Post registers what a page sends. A request from anywhere but a page of this very origin is refused (403) before the
// handler runs.
func (r *Router) Post(path, name string, handler fiber.Handler) {
	r.app.Post(path, r.site.handle(r.section, name, func(c *fiber.Ctx) error {
		if err := sameOrigin(c); err != nil {
			return err
		}
		return handler(c)
	}))
}

// Land registers what a page's own form sends to get the next page. It is for what does no harm from anywhere: older
// browsers do not say where a form comes from.
func (r *Router) Land(path, name string, handler fiber.Handler) {
	r.app.Post(path, r.site.handle(r.section, name, handler))
}

// Render answers a page of the section's templates.
func (r *Router) Render(c *fiber.Ctx, status int, p Page) error {
	return r.site.render(c, r.section, status, p)
}

// JSON answers a script.
func (r *Router) JSON(c *fiber.Ctx, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(body)
}

// Bind reads the JSON body of a script's POST. The type must be application/json and the size within limit bytes; unknown
// fields are ignored, because pages and scripts of two versions may meet during a deployment.
func Bind[T any](c *fiber.Ctx, limit int) (T, error) {
	var v T
	switch {
	case !c.Is("json"):
		return v, problem.New(problem.BadRequest, "The body must be application/json.")
	case len(c.Body()) > limit:
		return v, problem.New(problem.BodyTooLarge, "The body is larger than this page takes.")
	}
	if err := json.Unmarshal(c.Body(), &v); err != nil {
		return v, problem.New(problem.BadRequest, "The body cannot be read.")
	}
	return v, nil
}

// SetCookie sets a cookie that scripts cannot read and that no other site's request carries: HttpOnly, SameSite=Strict, of
// this host alone, and Secure where the service is https (with the __Host- prefix, so that no sibling host can set it).
func (r *Router) SetCookie(c *fiber.Ctx, name, value string, life time.Duration) {
	c.Cookie(&fiber.Cookie{
		Name: r.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second), Secure: r.site.secure,
		HTTPOnly: true, SameSite: fiber.CookieSameSiteStrictMode,
	})
}

// Cookie is the value of a cookie set by SetCookie; empty where there is none.
func (r *Router) Cookie(c *fiber.Ctx, name string) string { return c.Cookies(r.cookieName(name)) }

// DropCookie makes the browser forget the cookie.
func (r *Router) DropCookie(c *fiber.Ctx, name string) {
	c.Cookie(&fiber.Cookie{
		Name: r.cookieName(name), Path: "/", Expires: time.Unix(1, 0), Secure: r.site.secure, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode,
	})
}

func (r *Router) cookieName(name string) string {
	if r.site.secure {
		return "__Host-" + name
	}
	return name
}

// AssetURL is the address of a bundled file, such as "try.js".
func (r *Router) AssetURL(name string) (string, error) { return r.site.assets.url(name) }

// handle puts the chain of a page's route together.
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

// wantsPage tells a person's visit from a script's request.
func wantsPage(c *fiber.Ctx) bool {
	return c.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) == fiber.MIMETextHTML
}

// functions are what templates may call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   s.assets.url,
		"visible": Visible,
		"json":    toJSON,
		"iso":     func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"utc":     func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
	}
}

// toJSON is a value for a data attribute; html/template escapes it for where it stands.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
