// Package reference serves the documentation of the API under /docs: the operations, the error codes and the event types.
//
// It may not read stored data or load anything from other hosts: all pages come from this binary and are the same for every
// visitor.
package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates static
var files embed.FS

// policy is the Content-Security-Policy of the reference page only. RapiDoc uses inline styles, which the policy of other
// pages blocks. Scripts and connections are limited to this origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// section has the handlers of the pages under /docs.
type section struct{ router *web.Router }

// Section returns the section under /docs.
func Section() (web.Section, error) {
	templates, err := fs.Sub(files, "templates")
	s := &section{}
	return web.Section{Prefix: "/docs", Templates: templates, Routes: s.routes}, err
}

func (s *section) routes(r *web.Router) {
	s.router = r
	r.Get("/docs", "page_docs", s.reference)
	r.Get("/docs/openapi.json", "page_docs", document)
	r.Get("/docs/errors", "page_docs", s.errors)
	r.Get("/docs/events", "page_docs", s.events)
	r.Get("/docs/rapidoc.js", "asset", static("rapidoc.js", "text/javascript; charset=utf-8"))
	r.Get("/docs/reference.js", "asset", static("reference.js", "text/javascript; charset=utf-8"))
	r.Get("/docs/reference.css", "asset", static("reference.css", "text/css; charset=utf-8"))
	r.Get("/docs/rapidoc.LICENSE.txt", "asset", static("rapidoc.LICENSE.txt", fiber.MIMETextPlainCharsetUTF8))
}

func (s *section) reference(c *fiber.Ctx) error {
	page, err := files.ReadFile("static/reference.html")
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(page)
}

func document(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return cached(c, openapi.ETag(), openapi.Document())
}

func static(name, contentType string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, contentType)
		return cached(c, openapi.TagOf(body), body)
	}
}

// cached writes the body with an entity tag, or 304 if the browser's copy is current.
func cached(c *fiber.Ctx, tag string, body []byte) error {
	c.Set(fiber.HeaderCacheControl, "public, no-cache")
	c.Set(fiber.HeaderETag, tag)
	if c.Get(fiber.HeaderIfNoneMatch) == tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	return c.Send(body)
}

type errorRow struct {
	Code    problem.Code
	Status  int
	Meaning string
	Remedy  string
}

func (s *section) errors(c *fiber.Ctx) error {
	catalogue := problem.Catalogue()
	var rows []errorRow
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		rows = append(rows, errorRow{code, catalogue[code].Status, catalogue[code].Title, problem.Remedy(code)})
	}
	return s.router.Render(c, fiber.StatusOK, web.Page{Template: "errors.html", Title: "Error codes", Wide: true, Data: rows})
}

type eventRow struct {
	Type                         events.Type
	Description, Example, Schema string
}

func (s *section) events(c *fiber.Ctx) error {
	var rows []eventRow
	for _, d := range events.Catalogue() {
		example, err := pretty(d.MessageExample())
		if err != nil {
			return err
		}
		schema, err := pretty(d.MessageSchema())
		if err != nil {
			return err
		}
		rows = append(rows, eventRow{d.Type, d.Description, example, schema})
	}
	return s.router.Render(c, fiber.StatusOK, web.Page{Template: "events.html", Title: "Events", Wide: true, Data: rows})
}

func pretty(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, raw, "", "  ")
	return b.String(), err
}
