package hosted

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/text/language"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/pagetexts"
	"github.com/countersign-dev/countersign/web"
)

// Default is the language of a user whose languages are not available, in an environment without a default of its own. Every
// message exists in it.
const Default = "en"

// scriptPrefix begins the keys of messages that the pages' scripts show.
const scriptPrefix = "script."

// placeholder is a part of a message that is replaced, such as {by}.
var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Messages are the texts of the pages in one language.
type Messages struct {
	Tag   string // BCP 47, such as "de"
	texts map[string]string
}

// Catalogue has the messages of every language.
type Catalogue struct {
	byTag   map[string]Messages
	tags    []string // the default first, then in alphabetical order
	matcher language.Matcher
}

// Shipped returns the languages of this binary. It fails if a file of messages is not complete.
func Shipped() (*Catalogue, error) { return Load(pagetexts.Files()) }

// Load reads every <tag>.json of a folder. It fails if a language lacks a message or a placeholder of the default language, or has
// one that the default language has not.
func Load(folder fs.FS) (*Catalogue, error) {
	names, err := fs.Glob(folder, "*.json") // in alphabetical order
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byTag: map[string]Messages{}, tags: []string{Default}}
	tags := []language.Tag{language.MustParse(Default)}
	for _, name := range names {
		m, err := read(folder, name)
		if err != nil {
			return nil, fmt.Errorf("messages %s: %w", name, err)
		}
		c.byTag[m.Tag] = m
		if m.Tag != Default {
			c.tags, tags = append(c.tags, m.Tag), append(tags, language.Make(m.Tag))
		}
	}
	c.matcher = language.NewMatcher(tags)
	for _, tag := range c.tags {
		if err := c.byTag[Default].sameAs(c.byTag[tag]); err != nil {
			return nil, fmt.Errorf("messages %s.json: %w", tag, err)
		}
	}
	return c, nil
}

func read(folder fs.FS, name string) (Messages, error) {
	raw, err := fs.ReadFile(folder, name)
	if err != nil {
		return Messages{}, err
	}
	m := Messages{Tag: strings.TrimSuffix(path.Base(name), ".json")}
	if !display.IsLanguage(m.Tag) {
		return m, fmt.Errorf("the name of the file must be a language tag such as de or pt-BR")
	}
	return m, json.Unmarshal(raw, &m.texts)
}

// sameAs compares another language's keys and placeholders with those of m.
func (m Messages) sameAs(other Messages) error {
	for key := range other.texts {
		if _, known := m.texts[key]; !known {
			return fmt.Errorf("the message %q does not exist in %s.json", key, m.Tag)
		}
	}
	for key, text := range m.texts {
		translated := other.texts[key]
		if strings.TrimSpace(translated) == "" {
			return fmt.Errorf("the message %q is missing", key)
		}
		if want, got := placeholders(text), placeholders(translated); want != got {
			return fmt.Errorf("the message %q has the placeholders [%s]; it must have [%s]", key, got, want)
		}
	}
	if dir := other.texts["direction"]; dir != "ltr" && dir != "rtl" {
		return fmt.Errorf("the message %q is %q; it must be ltr or rtl", "direction", dir)
	}
	return nil
}

// placeholders returns the names of a message's placeholders, each once, in alphabetical order.
func placeholders(text string) string {
	seen := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		seen[m[1]] = true
	}
	return strings.Join(sortedKeys(seen), " ")
}

// In returns the messages of a language, or those of the default if it is not available.
func (c *Catalogue) In(tag string) Messages {
	if m, ok := c.byTag[tag]; ok {
		return m
	}
	return c.byTag[Default]
}

// Has reports whether a language is available.
func (c *Catalogue) Has(tag string) bool {
	_, ok := c.byTag[tag]
	return ok
}

// Of returns the messages for a request, and whether the user asked for the language: by ?lang=, else by Accept-Language. Otherwise
// they are those of the environment's default, which may be empty.
func (c *Catalogue) Of(r *fiber.Ctx, environment string) (Messages, bool) {
	if wanted := r.Query("lang"); c.Has(wanted) {
		return c.In(wanted), true
	}
	wanted, _, err := language.ParseAcceptLanguage(r.Get(fiber.HeaderAcceptLanguage))
	if err == nil && len(wanted) > 0 {
		if _, i, confidence := c.matcher.Match(wanted...); confidence >= language.High {
			return c.In(c.tags[i]), true
		}
	}
	return c.In(environment), false
}

// HTML returns a message with its placeholders replaced. Values are pairs of a name and an external text, which is shown as
// web.Visible shows it. A message that does not exist is an error, so that a test of the page finds it.
func (m Messages) HTML(key string, values ...string) (template.HTML, error) {
	text, err := m.fill(key, html.EscapeString, func(_, s string) string { return string(web.Visible(s)) }, values)
	return template.HTML(text), err //nolint:gosec // the message and every value are escaped
}

// Slot is HTML with each value in an element with the attribute data-<name>, which the page's script can set.
func (m Messages) Slot(key string, values ...string) (template.HTML, error) {
	text, err := m.fill(key, html.EscapeString, func(name, s string) string { return `<span data-` + name + `>` + string(web.Visible(s)) + `</span>` }, values)
	return template.HTML(text), err //nolint:gosec // the message and every value are escaped, and the names are the template's
}

// Text returns a message for places without markup.
func (m Messages) Text(key string, values ...string) (string, error) {
	return m.fill(key, func(s string) string { return s }, func(_, s string) string { return web.Plain(s) }, values)
}

func (m Messages) fill(key string, own func(string) string, external func(name, value string) string, values []string) (string, error) {
	text, ok := m.texts[key]
	if !ok {
		return "", fmt.Errorf("no message %q", key)
	}
	pairs := make([]string, 0, len(values))
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, "{"+values[i]+"}", external(values[i], values[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(own(text)), nil
}

// Direction is the writing direction, ltr or rtl.
func (m Messages) Direction() string { return m.texts["direction"] }

// Script returns the messages for the page's script, without their prefix.
func (m Messages) Script() map[string]string {
	out := map[string]string{}
	for key, text := range m.texts {
		if name, ok := strings.CutPrefix(key, scriptPrefix); ok {
			out[name] = text
		}
	}
	return out
}
