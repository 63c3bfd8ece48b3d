package hosted

import (
	"cmp"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/models"
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
	Accent    string
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

// Branded returns the frame of a page of an environment with its brand.
func (c *Catalogue) Branded(r *fiber.Ctx, env models.Environment) Frame {
	f := c.Frame(r, env.Brand.Language)
	f.Customer, f.Sandbox, f.Accent = cmp.Or(env.Brand.Name, env.RPName), env.Kind == models.Sandbox, env.Brand.Accent
	if len(env.Brand.Logo) > 0 {
		f.Logo = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(env.Brand.Logo)) //nolint:gosec // a PNG that the service encoded
	}
	return f
}

// Page completes a page with the language and the customer's name in the window's title.
func (f Frame) Page(p web.Page) web.Page {
	p.Lang, p.Direction, p.Site = f.Tag, f.Direction(), web.Plain(f.Customer)
	p.Accent = web.AccentURL(f.Accent)
	return p
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
