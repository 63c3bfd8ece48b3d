package hosted_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pagetexts"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/hosted"
	"github.com/countersign-dev/countersign/web/register"
)

func TestShippedLanguagesAreComplete(t *testing.T) {
	t.Parallel()
	c, err := hosted.Shipped()
	require.NoError(t, err)
	require.Subset(t, pagetexts.Languages(), []string{"ar", "de", "en", "es", "fr"})
	for _, tag := range pagetexts.Languages() {
		require.True(t, c.Has(tag), tag)
	}
}

// A file of messages is all that a new language needs, also one that is written from right to left.
func TestAFileOfMessagesAddsALanguage(t *testing.T) {
	t.Parallel()
	english, err := fs.ReadFile(pagetexts.Files(), "en.json")
	require.NoError(t, err)
	var texts map[string]string
	require.NoError(t, json.Unmarshal(english, &texts))
	for key, text := range texts {
		texts[key] = "\u05e2" + text // a letter of the language before each text
	}
	texts["language"], texts["direction"] = "\u05e2\u05d1\u05e8\u05d9\u05ea", "rtl"
	hebrew, err := json.Marshal(texts)
	require.NoError(t, err)
	languages, err := hosted.Load(fstest.MapFS{"en.json": {Data: english}, "he.json": {Data: hebrew}})
	require.NoError(t, err)
	section, err := register.Section(register.Deps{Languages: languages})
	require.NoError(t, err)
	site, err := web.New(web.Config{BaseURL: "http://localhost", Log: slog.New(slog.DiscardHandler)}, section)
	require.NoError(t, err)
	app := fiber.New()
	site.Mount(app)
	for name, r := range map[string]struct{ query, accept, lang, dir, title string }{
		"the user's language": {"", "he-IL", "he", "rtl", texts["register.title"]},
		"by the address":      {"?lang=he", "en", "he", "rtl", texts["register.title"]},
		"English beside it":   {"", "en", "en", "ltr", strings.TrimPrefix(texts["register.title"], "\u05e2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequestWithContext(t.Context(), fiber.MethodGet, "/register"+r.query, nil)
			req.Header.Set("Accept", "text/html")
			req.Header.Set("Accept-Language", r.accept)
			res, err := app.Test(req, -1)
			require.NoError(t, err)
			page, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, fiber.StatusOK, res.StatusCode)
			require.Contains(t, string(page), `<html lang="`+r.lang+`" dir="`+r.dir+`">`)
			require.Contains(t, string(page), r.title)
			require.Contains(t, string(page), texts["language"], "the footer offers the language")
		})
	}
}

func TestLoadRefusesAnIncompleteLanguage(t *testing.T) {
	t.Parallel()
	const english = `{"language": "English", "direction": "ltr", "asks": "{by} asks you"}`
	for name, c := range map[string]struct{ file, content, want string }{
		"a missing message":     {"fr.json", `{"language": "Français", "direction": "ltr"}`, `messages fr.json: the message "asks" is missing`},
		"an empty message":      {"fr.json", `{"language": "Français", "direction": "ltr", "asks": " "}`, `the message "asks" is missing`},
		"an unknown message":    {"fr.json", `{"language": "Français", "direction": "ltr", "asks": "{by} demande", "more": "x"}`, `the message "more" does not exist in en.json`},
		"a lost placeholder":    {"fr.json", `{"language": "Français", "direction": "ltr", "asks": "On demande"}`, `the message "asks" has the placeholders []; it must have [by]`},
		"a changed placeholder": {"fr.json", `{"language": "Français", "direction": "ltr", "asks": "{par} demande"}`, `has the placeholders [par]; it must have [by]`},
		"no direction":          {"fr.json", `{"language": "Français", "direction": "up", "asks": "{by} demande"}`, `must be ltr or rtl`},
		"no language tag":       {"french.json", english, "must be a language tag such as de or pt-BR"},
		"no JSON":               {"fr.json", `{`, "messages fr.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hosted.Load(fstest.MapFS{"en.json": {Data: []byte(english)}, c.file: {Data: []byte(c.content)}})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A message of the pages exists, and an unused one is deleted.
func TestEveryMessageIsUsed(t *testing.T) {
	t.Parallel()
	raw, err := fs.ReadFile(pagetexts.Files(), "en.json")
	require.NoError(t, err)
	var texts map[string]string
	require.NoError(t, json.Unmarshal(raw, &texts))
	var source strings.Builder
	for _, pattern := range []string{"*.go", "templates/*", "../challenge/*.go", "../challenge/templates/*", "../register/*.go", "../register/templates/*", "../status/*.go", "../status/templates/*", "../standing/*.go", "../standing/templates/*", "../assets/src/*.ts", "../assets/src/*/*.ts"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			source.Write(text)
		}
	}
	composed := regexp.MustCompile(`^(ending|link)\.|^register\.(unknown|expired|used)\.|^status\.(waiting|approved|declined|expired|withdrawn|unknown)\.|^script\.left_`) // whose keys the pages compose
	for key := range texts {
		if !composed.MatchString(key) {
			require.Contains(t, source.String(), `"`+strings.TrimPrefix(key, "script.")+`"`, key)
		}
	}
	for _, m := range regexp.MustCompile(`(?:\$m|[fF]rame)\.(?:HTML|Text|Slot)[ (]"([a-z_.]*[a-z])"|say\("(\w+)"`).FindAllStringSubmatch(source.String(), -1) {
		if m[1] != "" {
			require.Contains(t, texts, m[1])
		} else {
			require.Contains(t, texts, "script."+m[2])
		}
	}
}

func TestLanguageOfARequest(t *testing.T) {
	t.Parallel()
	c, err := hosted.Shipped()
	require.NoError(t, err)
	for name, r := range map[string]struct{ query, accept, environment, want string }{
		"nothing is known":                        {"", "", "", "en"},
		"the environment's default":               {"", "", "de", "de"},
		"a language of the user":                  {"", "de", "en", "de"},
		"a regional form":                         {"", "de-AT,en;q=0.5", "", "de"},
		"the user's order":                        {"", "ja;q=0.9, en;q=0.3, de;q=0.7", "", "de"},
		"only unknown languages":                  {"", "ja,ko", "de", "de"},
		"English before the environment's":        {"", "en-GB", "de", "en"},
		"the address before the user's languages": {"?lang=de", "en", "en", "de"},
		"an unknown language in the address":      {"?lang=xx", "de", "", "de"},
		"a malformed header":                      {"", "de;;q=,", "", "en"},
		"markup in the address":                   {"?lang=%22%3E%3Cscript%3E", "", "", "en"},
		"an environment with a removed language":  {"", "", "xx", "en"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fiber.New()
			app.Get("/", func(f *fiber.Ctx) error {
				m, _ := c.Of(f, r.environment)
				return f.SendString(m.Tag)
			})
			req := httptest.NewRequest(fiber.MethodGet, "/"+r.query, nil)
			req.Header.Set("Accept-Language", r.accept)
			resp, err := app.Test(req, -1)
			require.NoError(t, err)
			body := make([]byte, 8)
			n, _ := resp.Body.Read(body)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, r.want, string(body[:n]))
		})
	}
}

func TestMessagesShowExternalTextAsText(t *testing.T) {
	t.Parallel()
	c, err := hosted.Shipped()
	require.NoError(t, err)
	for name, values := range map[string]struct{ by, html, text string }{
		"markup":             {"<b>Bank</b>", "<bdi>&lt;b&gt;Bank&lt;/b&gt;</bdi> asks you to confirm", "<b>Bank</b> asks you to confirm"},
		"a placeholder":      {"{by}", "<bdi>{by}</bdi> asks you to confirm", "{by} asks you to confirm"},
		"a bidi control":     {"a\u202eb", `<bdi>a<span class="mark" title="invisible character">U+202E</span>b</bdi> asks you to confirm`, "a[U+202E]b asks you to confirm"},
		"right-to-left text": {"بنك", "<bdi>بنك</bdi> asks you to confirm", "بنك asks you to confirm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html, err := c.In("en").HTML("request.asks", "by", values.by)
			require.NoError(t, err)
			require.Equal(t, values.html, string(html))
			text, err := c.In("en").Text("request.asks", "by", values.by)
			require.NoError(t, err)
			require.Equal(t, values.text, text)
		})
	}
	_, err = c.In("en").HTML("no.such.message")
	require.ErrorContains(t, err, `no message "no.such.message"`)
}

// The style sheets of the hosted pages name sides by the direction of writing.
func TestStylesSuitBothWritingDirections(t *testing.T) {
	t.Parallel()
	side := regexp.MustCompile(`(?:^|[\s;{])(?:(?:margin|padding|border)-(?:left|right)|left|right|text-align: (?:left|right)|float)\s*:`)
	for _, name := range []string{"base.css", "challenge.css"} {
		text, err := os.ReadFile("../assets/src/" + name)
		require.NoError(t, err)
		require.Empty(t, side.FindAllString(string(text), -1), name)
	}
}
