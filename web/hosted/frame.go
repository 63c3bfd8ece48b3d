package hosted

import (
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates
var templates embed.FS

// Partials returns the templates that the hosted pages share, for web.Section.Partials.
func Partials() (fs.FS, error) { return fs.Sub(templates, "templates") }

// Frame has the header, the footer and the texts of a hosted page. It is the field Frame of the page's data.
type Frame struct {
	Messages
	Customer  string // name of the customer; empty if the page does not know it yet
	Logo      template.URL
	Sandbox   bool
	Languages []Choice
	Asked     bool // the user asked for the language
}

// Choice is a link to the page in a different language.
type Choice struct {
	Tag, Name string
	Current   bool
}

// Frame returns the frame of a page for a request. Environment is the default language of the environment; empty for none.
func (c *Catalogue) Frame(r *fiber.Ctx, environment string) Frame {
	m, asked := c.Of(r, environment)
	f := Frame{Messages: m, Asked: asked}
	for _, tag := range c.tags {
		f.Languages = append(f.Languages, Choice{Tag: tag, Name: c.byTag[tag].texts["language"], Current: tag == m.Tag})
	}
	return f
}

// Page completes a page with the language and the customer's name in the window's title.
func (f Frame) Page(p web.Page) web.Page {
	p.Lang, p.Direction, p.Site = f.Tag, f.Direction(), web.Plain(f.Customer)
	return p
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
