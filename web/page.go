package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/pacing"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

//go:embed all:templates
var templates embed.FS

// SiteName is the last part of every window title.
const SiteName = "Countersign"

// Page describes one HTML response.
type Page struct {
	Template string // file of the section's templates, such as "challenge.html"
	Title    string // of the window, without the site's name
	Script   string // bundled script, such as "challenge.js"; empty for none
	Style    string // bundled style sheet in addition to base.css, such as "console.css"; empty for none
	Wide     bool   // use the whole width, for pages with tables
	Data     any    // .Data of the template
	// Lang and Direction are the language of the page, BCP 47, and its writing direction; empty for English.
	Lang, Direction string
	// Accent is the path of a style sheet with a different accent colour (AccentURL); empty for none.
	Accent string
	// Site is the last part of the window's title; empty for SiteName.
	Site string
	// Foot is a sentence below the page; empty for none.
	Foot string
	// Compressed sends the page in gzip to browsers that take it. A page that has a secret, such as a new key or the token of a form, must not
	// set it: beside a text of the attacker's choice, the compressed size discloses the secret (BREACH).
	Compressed bool
	// FrameAncestors lists the origins that may embed the page in a frame; empty forbids it.
	FrameAncestors []string
}

// layout is the data of the base layout.
type layout struct {
	Page
	SiteName  string
	Path      string
	RequestID string
}

// section is a Section with its templates, each of which is parsed when its page is first opened: parsed, all of them are
// half of what the garbage collector reads in a process that serves no pages.
type section struct {
	declared Section
	pages    map[string]func() (*template.Template, error)
}

func ownTemplates() fs.FS {
	own, err := fs.Sub(templates, "templates")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return own
}

// prepare finds the pages of the section: the base layout, the section's partials (_*.html), and the page.
func (s *Site) prepare(declared Section) (*section, error) {
	base, err := template.New("base.html").Funcs(s.functions()).Option("missingkey=error").ParseFS(ownTemplates(), "base.html")
	if err != nil {
		return nil, err
	}
	sec := &section{declared: declared, pages: map[string]func() (*template.Template, error){}}
	// Without the section's partials, whose data an error page has not.
	sec.pages["error.html"] = sync.OnceValues(func() (*template.Template, error) {
		return Section{}.parse(base, ownTemplates(), "error.html")
	})
	names, err := fs.Glob(declared.Templates, "*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "_") || name == "base.html" || sec.pages[name] != nil {
			continue
		}
		sec.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			return declared.parse(base, declared.Templates, name)
		})
	}
	return sec, nil
}

func (declared Section) parse(base *template.Template, files fs.FS, name string) (*template.Template, error) {
	page, err := base.Clone()
	if err != nil {
		return nil, err
	}
	for _, folder := range []fs.FS{declared.Partials, declared.Templates} {
		if folder == nil {
			continue
		}
		if partials, err := fs.Glob(folder, "_*.html"); err != nil {
			return nil, err
		} else if len(partials) > 0 {
			if page, err = page.ParseFS(folder, partials...); err != nil {
				return nil, err
			}
		}
	}
	return page.ParseFS(files, name)
}

func (s *Site) render(c *fiber.Ctx, sec *section, status int, p Page) error {
	write, err := s.writer(c, sec, p)
	if err != nil {
		return err
	}
	var b bytes.Buffer // a template that fails must not leave half a page in the response
	if err := write(&b); err != nil {
		return err
	}
	content := b.Bytes()
	if p.Compressed {
		c.Append(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		packed, err := pack(content, gzip.DefaultCompression)
		if err != nil {
			return err
		}
		if packed != nil && strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
			c.Set(fiber.HeaderContentEncoding, "gzip")
			content = packed
		}
	}
	return c.Status(status).Send(content)
}

// stream sends a page while its template is executed, which may wait for its data. A template that fails ends the response early. At the end,
// also if the reader has gone, it calls ended.
func (s *Site) stream(c *fiber.Ctx, sec *section, p Page, limit time.Duration, ended func()) error {
	write, err := s.writer(c, sec, p)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	go func() {
		defer ended()
		_ = in.CloseWithError(write(in))
	}()
	c.Response().SetBodyStream(pacing.New(out, c.Context().Conn(), limit, limit), -1)
	return nil
}

// writer sets the headers of a page and returns the function that executes its template.
func (s *Site) writer(c *fiber.Ctx, sec *section, p Page) (func(io.Writer) error, error) {
	parse, ok := sec.pages[p.Template]
	if !ok {
		return nil, errors.New("no template named " + p.Template)
	}
	page, err := parse()
	if err != nil {
		return nil, err
	}
	if len(p.FrameAncestors) > 0 {
		s.allowFrames(c, p.FrameAncestors)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderVary, fiber.HeaderAccept)
	data := layout{Page: p, SiteName: SiteName, Path: strings.Clone(c.Path()), RequestID: request.ID(c)}
	return func(w io.Writer) error { return page.ExecuteTemplate(w, "base.html", data) }, nil
}

// failure is the data of the error page.
type failure struct {
	Status          int
	Heading, Detail string
	RequestID       string
}

// fail renders the error page, or the section's own for an unknown address. The text of an error that is not a problem of the
// domain goes to the log only.
func (s *Site) fail(c *fiber.Ctx, sec *section, err error) error {
	p := request.ProblemOf(err)
	status := problem.Of(p.Code).Status
	if status >= http.StatusInternalServerError {
		s.config.Log.ErrorContext(request.Context(c), "page failed", "request_id", request.ID(c), "error", err.Error())
	}
	request.SetProblemCode(c, p.Code)
	request.SetRetryAfter(c, p)
	if status == http.StatusNotFound && sec.declared.Unknown != nil {
		return sec.declared.Unknown(c)
	}
	f := failure{Status: status, Heading: heading(status), Detail: p.Detail, RequestID: request.ID(c)}
	if status == http.StatusNotFound {
		f.Detail = "This page does not exist. Check the address."
	}
	return s.render(c, sec, status, Page{Template: "error.html", Title: f.Heading, Data: f})
}

func heading(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "Page not found"
	case status == http.StatusForbidden:
		return "Not allowed"
	case status == http.StatusServiceUnavailable:
		return "Temporarily unavailable"
	case status >= http.StatusInternalServerError:
		return "Internal error"
	default:
		return "Request refused"
	}
}
