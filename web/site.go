package web

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

// violationPath takes a browser's reports of what the content security policy stopped.
const violationPath = "/assets/violations"

// Config is what may be set of the site.
type Config struct {
	BaseURL string // what the world calls the service, no slash at the end; https switches HSTS and Secure cookies on
	Log     *slog.Logger
	// OnViolation, where set, gets each report of a content security policy violation as the browser sent it; for tests.
	OnViolation func(report []byte)
}

// Site is the shell around all sections.
type Site struct {
	config   Config
	secure   bool
	assets   *assets
	sections []*section
	errors   *section
}

// Section is a part of the site.
type Section struct {
	// Prefix is where the section lives, such as /console; a path below it that it does not know answers the page 404.
	Prefix string
	// Templates holds *.html files in its root. Each defines "main" and may define what the base layout leaves open ("header",
	// "footer"); files whose names begin with _ are parsed with every page of the section.
	Templates fs.FS
	// Routes registers the section's routes.
	Routes func(r *Router)
}

// New makes the site of its sections. A template that does not parse is an error here, not at the first visit.
func New(config Config, sections ...Section) (*Site, error) {
	files, err := fs.Sub(dist, "assets/dist")
	if err != nil {
		return nil, err
	}
	s := &Site{config: config, secure: strings.HasPrefix(config.BaseURL, "https://")}
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

// Mount registers the site with the application (api.Deps.Pages).
func (s *Site) Mount(app *fiber.App) {
	own := &Router{site: s, section: s.errors, app: app}
	own.Get(assetPrefix+":file", "asset", s.assets.serve)
	own.Get("/favicon.ico", "asset", s.favicon)
	if s.config.OnViolation != nil {
		app.Post(violationPath, s.violation)
	}
	for _, sec := range s.sections {
		if sec.declared.Routes != nil {
			sec.declared.Routes(&Router{site: s, section: sec, app: app})
		}
	}
	s.absentBelow(app, strings.TrimSuffix(assetPrefix, "/"), s.errors)
	for _, sec := range s.sections {
		s.absentBelow(app, sec.declared.Prefix, sec)
	}
}

// absentBelow answers what no route below the prefix took.
func (s *Site) absentBelow(app *fiber.App, prefix string, sec *section) {
	absent := s.handle(sec, "page_unknown", func(*fiber.Ctx) error { return fiber.ErrNotFound })
	app.Use(prefix, func(c *fiber.Ctx) error {
		if path := c.Path(); path != prefix && !strings.HasPrefix(path, prefix+"/") {
			return c.Next()
		}
		return absent(c)
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
	s.config.OnViolation(append([]byte{}, c.Body()...))
	return c.SendStatus(fiber.StatusNoContent)
}
