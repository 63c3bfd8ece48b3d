package web

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// violationPath receives the browsers' reports of content security policy violations.
const violationPath = "/assets/violations"

// Config configures the site.
type Config struct {
	BaseURL string // public URL without a trailing slash; https enables HSTS and Secure cookies
	Log     *slog.Logger
	// OnViolation receives each report of a content security policy violation as the browser sent it; nil disables
	// reporting. It is meant for tests.
	OnViolation func(report []byte)
}

// Site serves all sections and what they share.
type Site struct {
	config   Config
	secure   bool
	assets   *assets
	sections []*section
	errors   *section
}

// Section is a part of the site.
type Section struct {
	// Prefix is the path prefix of the section, such as /console. Unknown paths below it get a 404 page.
	Prefix string
	// Templates contains *.html files in its root. Each defines "main" and may override the blocks of the base layout
	// ("header", "footer"). Files whose names begin with _ are parsed with every page of the section.
	Templates fs.FS
	// Partials contains further files whose names begin with _, which sections share; nil for none.
	Partials fs.FS
	// Unknown shows the section's own page with the status 404; nil for the site's.
	Unknown fiber.Handler
	// Routes registers the section's routes.
	Routes func(r *Router)
}

// New builds the site. It returns an error if an asset is missing. A template is parsed when its page is first opened (Check).
func New(config Config, sections ...Section) (*Site, error) {
	files, err := fs.Sub(dist, "assets/dist")
	if err != nil {
		return nil, err
	}
	s := &Site{config: config, secure: isSecure(config.BaseURL)}
	if s.assets, err = loadAssets(files); err != nil {
		return nil, err
	}
	if s.errors, err = s.prepare(Section{Templates: ownTemplates()}); err != nil {
		return nil, err
	}
	for _, declared := range sections {
		prepared, err := s.prepare(declared)
		if err != nil {
			return nil, fmt.Errorf("the pages under %s: %w", declared.Prefix, err)
		}
		s.sections = append(s.sections, prepared)
	}
	return s, nil
}

// Check parses every template, and returns an error for each that does not parse. It is for tests.
func (s *Site) Check() error {
	var errs []error
	for _, sec := range append(s.sections, s.errors) {
		for name, parse := range sec.pages {
			if _, err := parse(); err != nil {
				errs = append(errs, fmt.Errorf("%s below %s: %w", name, sec.declared.Prefix, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Mount registers the routes of all sections. It is the api.Pages of the application.
func (s *Site) Mount(app *fiber.App) {
	own := &Router{site: s, section: s.errors, app: app}
	own.Get(assetPrefix+":file", "asset", s.assets.serve)
	own.Get(accentPrefix+":file", "asset", s.accent)
	own.Get("/favicon.ico", "asset", s.favicon)
	if s.config.OnViolation != nil {
		app.Post(violationPath, s.violation)
	}
	for _, sec := range s.sections {
		if sec.declared.Routes != nil {
			sec.declared.Routes(&Router{site: s, section: sec, app: app})
		}
	}
	s.notFoundBelow(app, strings.TrimSuffix(assetPrefix, "/"), s.errors)
	for _, sec := range s.sections {
		s.notFoundBelow(app, sec.declared.Prefix, sec)
	}
	s.notFoundElsewhere(app)
}

// notFoundElsewhere shows the 404 page to a browser that opens a path which neither a page nor an operation has. Programs, and everyone below
// /api, get the problem of the API.
func (s *Site) notFoundElsewhere(app *fiber.App) {
	notFound := s.handle(s.errors, "page_unknown", func(*fiber.Ctx) error { return fiber.ErrNotFound })
	app.Use(func(c *fiber.Ctx) error {
		err := c.Next()
		if !problem.Is(err, problem.NotFound) || c.Method() != fiber.MethodGet || strings.HasPrefix(c.Path(), "/api/") ||
			c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML {
			return err
		}
		return notFound(c)
	})
}

// notFoundBelow returns the 404 page for paths below the prefix that match no route. The API's own 404 is JSON.
func (s *Site) notFoundBelow(app *fiber.App, prefix string, sec *section) {
	notFound := s.handle(sec, "page_unknown", func(*fiber.Ctx) error { return fiber.ErrNotFound })
	app.Use(prefix, func(c *fiber.Ctx) error {
		if path := c.Path(); path != prefix && !strings.HasPrefix(path, prefix+"/") {
			return c.Next()
		}
		return notFound(c)
	})
}

func (s *Site) favicon(c *fiber.Ctx) error {
	url, err := s.assets.url("icon.svg")
	if err != nil {
		return err
	}
	return c.Redirect(url, fiber.StatusFound)
}

func (s *Site) violation(c *fiber.Ctx) error {
	request.SetRoute(c, "page_violation")
	s.config.OnViolation(append([]byte{}, request.Body(c)...))
	return c.SendStatus(fiber.StatusNoContent)
}

func isSecure(baseURL string) bool { return strings.HasPrefix(baseURL, "https://") }
