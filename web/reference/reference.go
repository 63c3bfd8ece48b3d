// Package reference serves the front page and the documentation under /docs: the guides, the operations and schemas of the
// API, the error codes and the event types.
//
// It may not read stored data or load anything from other hosts: all pages come from this binary and are the same for every
// visitor.
package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/docs"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates
var files embed.FS

// Options say which pages the front page leads to.
type Options struct {
	Version string // of the build
	Try     bool   // the deployment has the page for trying the service
}

// section has the handlers of the pages, with everything they show.
type section struct {
	Options
	router *web.Router
	// load reads the contract and the guides, when a page is first opened.
	load        func() error
	contract    contract
	groups      []group
	uses        map[string][]link // operations by the schemas that they use
	guides      map[string]*guide // by the path below guidePath
	guideGroups []guideGroup
	index       *index
	gate        *admission.Gate // of all its pages, which anyone can open
}

// Section returns the section under /docs.
func Section(o Options) (web.Section, error) {
	templates, err := fs.Sub(files, "templates")
	if err != nil {
		return web.Section{}, err
	}
	s := &section{Options: o, uses: map[string][]link{}, guides: map[string]*guide{}, gate: admission.New(1, 1, maxReaders)}
	s.load = sync.OnceValue(s.read)
	return web.Section{Prefix: "/docs", Templates: templates, Routes: s.routes, Unknown: s.unknown}, nil
}

// read reads the contract and the guides.
func (s *section) read() (err error) {
	if err := json.Unmarshal(openapi.Document(), &s.contract); err != nil {
		return fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	s.groups = s.groupsOf()
	if s.guideGroups, err = s.guidesOf(); err != nil {
		return err
	}
	s.index = newIndex(s.passages())
	return nil
}

// How many readers may wait for a page, and for how long.
const (
	maxReaders  = 512
	maxReadTime = 10 * time.Second
)

// loaded returns a handler of a page that shows what load reads. One page is made at a time, and for as long as it took no other, so that however
// many are requested they take at most half of one CPU from decisions. Networks are served in turn.
func (s *section) loaded(page fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := s.load(); err != nil {
			return err
		}
		reader := request.Network(c)
		if err := s.gate.Enter(request.Context(c), reader, maxReadTime); err != nil {
			e := problem.New(problem.RateLimited, "Too many pages of the documentation are being requested. Try again in a few seconds.")
			e.RetryAfter = maxReadTime
			return e
		}
		began := time.Now() //nolint:forbidigo // measures how long the page took
		defer func() { time.AfterFunc(time.Since(began), func() { s.gate.Leave(reader) }) }()
		return page(c)
	}
}

func (s *section) routes(r *web.Router) {
	s.router = r
	r.Get("/", "page_front", s.front)
	r.Get("/docs", "page_docs", s.loaded(s.overview))
	r.Get("/docs/openapi.json", "page_docs", document)
	r.Get(verifierPath, "page_docs", verifier)
	r.Get("/docs/search", "page_docs", s.loaded(s.search))
	r.Get("/docs/errors", "page_docs", s.loaded(s.errors))
	r.Get("/docs/events", "page_docs", s.loaded(s.events))
	r.Get("/docs/operations/:group", "page_docs", s.loaded(s.operations))
	r.Get("/docs/schemas", "page_docs", s.loaded(s.schemas))
	r.Get("/docs/schemas/:name", "page_docs", s.loaded(s.oneSchema))
	r.Get(guidePath+"*", "page_docs", s.loaded(s.guide))
}

// view is the data of every page of the documentation.
type view struct {
	Path        string
	Query       string // of a search
	Version     string // of the build
	Groups      []group
	GuideGroups []guideGroup
	Contents    []link // of this page
	Body        any
}

// page renders a page of the documentation, compressed if the browser accepts it: the pages contain no secrets.
func (s *section) page(c *fiber.Ctx, p web.Page) error {
	if err := s.router.Render(c, fiber.StatusOK, p); err != nil {
		return err
	}
	c.Append(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		c.Response().SetBodyRaw(fasthttp.AppendGzipBytes(nil, c.Response().Body()))
	}
	return nil
}

func (s *section) show(c *fiber.Ctx, template, title string, contents []link, body any) error {
	return s.page(c, web.Page{
		Template: template, Title: title, Script: "docs.js", Style: "docs.css", Wide: true,
		Data: view{Path: c.Path(), Query: c.Query("q"), Version: s.Version, Groups: s.groups, GuideGroups: s.guideGroups, Contents: contents, Body: body},
	})
}

func (s *section) front(c *fiber.Ctx) error {
	return s.page(c, web.Page{
		Template: "front.html", Title: "Know who is acting before it cannot be undone", Script: "docs.js", Style: "docs.css", Wide: true, Data: view{Body: s.Options},
	})
}

func (s *section) overview(c *fiber.Ctx) error {
	return s.show(c, "docs.html", "Documentation", nil, s.markdown(s.contract.Info.Description))
}

func (s *section) operations(c *fiber.Ctx) error {
	for _, g := range s.groups {
		if g.Slug != c.Params("group") {
			continue
		}
		var contents []link
		for _, op := range g.Operations {
			contents = append(contents, link{URL: "#" + op.ID, Text: op.Summary})
		}
		return s.show(c, "operations.html", g.Name, contents, g)
	}
	return fiber.ErrNotFound
}

func (s *section) schemas(c *fiber.Ctx) error {
	var all []link
	for name, found := range s.contract.Components.Schemas.all() {
		first, _, _ := strings.Cut(found.Description, "\n")
		all = append(all, link{URL: schemaURL(name), Text: name, Detail: first})
	}
	return s.show(c, "schemas.html", "Schemas", nil, all)
}

func (s *section) oneSchema(c *fiber.Ctx) error {
	found, ok := s.schema(c.Params("name"))
	if !ok {
		return fiber.ErrNotFound
	}
	return s.show(c, "schema.html", found.Name, nil, found)
}

func (s *section) guide(c *fiber.Ctx) error {
	g, ok := s.guides[c.Params("*")]
	if !ok {
		return fiber.ErrNotFound
	}
	return s.show(c, "guide.html", g.Title, g.Headings, g)
}

// unknown is the page for addresses that lead nowhere, with what the search finds for their last part.
func (s *section) unknown(c *fiber.Ctx) error {
	if err := s.load(); err != nil {
		return err
	}
	if err := s.show(c, "unknown.html", "Page not found", nil, s.index.find(path.Base(c.Path()))); err != nil {
		return err
	}
	c.Status(fiber.StatusNotFound)
	return nil
}

func document(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return cached(c, openapi.ETag(), openapi.Document())
}

// verifierPath is the path of the page that verifies audit exports.
const verifierPath = "/docs/" + docs.VerifierName

// verifier sends the page that verifies audit exports as a file: opened from a disk it works, and stays as it was examined.
func verifier(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+docs.VerifierName+`"`)
	return cached(c, `"`+docs.VerifierDigest()+`"`, docs.Verifier)
}

// cached writes the body with an entity tag, or 304 if the browser's copy is current.
func cached(c *fiber.Ctx, tag string, body []byte) error {
	c.Set(fiber.HeaderCacheControl, "public, no-cache")
	c.Set(fiber.HeaderETag, tag)
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if c.Get(fiber.HeaderIfNoneMatch) == tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		body = fasthttp.AppendGzipBytes(nil, body)
	}
	return c.Send(body)
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
