package reference_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/docs"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/reference"
)

// newSite returns an application with only the front page and the documentation.
func newSite(t testing.TB) *fiber.App {
	t.Helper()
	section, err := reference.Section(reference.Options{Version: "1.2.3", Try: true})
	require.NoError(t, err)
	site, err := web.New(web.Config{BaseURL: "http://localhost", Log: slog.New(slog.DiscardHandler)}, section)
	require.NoError(t, err)
	app := fiber.New()
	site.Mount(app)
	return app
}

// get returns the status, the transferred size and the text of a page.
func get(t *testing.T, app *fiber.App, path string) (status, size int, text string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	req.Header.Set("Accept", "text/html,application/json")
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := app.Test(req, -1)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if res.Header.Get("Content-Encoding") != "gzip" {
		return res.StatusCode, len(raw), string(raw)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	plain, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	return res.StatusCode, len(raw), string(plain)
}

var (
	href    = regexp.MustCompile(`(?:href|src)="(/[^"#]*)(#[^"]*)?"`)
	ids     = regexp.MustCompile(` id="([^"]+)"`)
	heading = regexp.MustCompile(`<h1[ >]`)
)

// Every page that a link leads to exists with the part that the link names, and has one heading of the first level.
func TestLinksBetweenPagesResolve(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	elsewhere := []string{"/try", "/console", "/favicon.ico"}
	seen := map[string]string{}
	wanted := map[string]map[string]string{} // ids by path, with the page that wants each
	for queue := []string{"/", "/docs"}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if _, done := seen[path]; done {
			continue
		}
		status, _, text := get(t, app, path)
		require.Equal(t, 200, status, path)
		seen[path] = text
		if !strings.HasPrefix(text, "<!doctype html>") || path == "/docs/"+docs.VerifierName { // a file to download has a policy of its own
			seen[path] = ""
			continue
		}
		require.Len(t, heading.FindAllString(text, -1), 1, "%s has not one h1", path)
		for _, m := range href.FindAllStringSubmatch(text, -1) {
			outside := false
			for _, prefix := range elsewhere {
				outside = outside || strings.HasPrefix(m[1], prefix)
			}
			if outside {
				continue
			}
			queue = append(queue, m[1])
			if m[2] != "" {
				if wanted[m[1]] == nil {
					wanted[m[1]] = map[string]string{}
				}
				wanted[m[1]][m[2][1:]] = path
			}
		}
	}
	require.Greater(t, len(seen), 200)
	inline := regexp.MustCompile(`<(?:style|script)>|<[a-z][^<>]*\s(?:style|on[a-z]+)=`)
	for path, text := range seen {
		require.Empty(t, inline.FindString(text), "%s has what its content security policy refuses", path)
	}
	for path, names := range wanted {
		found := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(seen[path], -1) {
			found[m[1]] = true
		}
		for name, from := range names {
			require.True(t, found[name], "%s links to %s#%s", from, path, name)
		}
	}
}

// The first page of the earlier reference transferred 1186 KiB of script and JSON.
const mostTransferred = 48 << 10

// Each page stays small, with everything it loads.
func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	for _, path := range []string{"/", "/docs", "/docs/guides/quickstart", "/docs/guides/security", "/docs/operations/authorization", "/docs/errors", "/docs/events", "/docs/search?q=key"} {
		begun := time.Now()
		_, total, text := get(t, app, path)
		took := time.Since(begun)
		for _, m := range href.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "/assets/") {
				_, size, _ := get(t, app, m[1])
				total += size
			}
		}
		t.Logf("%s: %.1f KiB, rendered in %s", path, float64(total)/1024, took.Round(100*time.Microsecond))
		require.Less(t, total, mostTransferred, path)
	}
}

func TestDocumentationSaysTheVersion(t *testing.T) {
	t.Parallel()
	_, _, text := get(t, newSite(t), "/docs")
	require.Contains(t, text, "Countersign 1.2.3.")
}

// A path that is no page of the documentation is not found: a browser gets a page with a way back, a program a problem.
// The front page's request is one that the service accepts, and its response has fields of the contract only.
func TestFrontPageShowsACallOfTheContract(t *testing.T) {
	t.Parallel()
	_, _, text := get(t, newSite(t), "/")
	sample := func(name string) any {
		m := regexp.MustCompile(`(?s)data-sample="` + name + `">(.*?)</(?:span|code)>`).FindStringSubmatch(text)
		require.Len(t, m, 2)
		value, err := strictjson.Decode([]byte(html.UnescapeString(m[1])), strictjson.Limits{})
		require.NoError(t, err)
		return value
	}
	contract, err := openapi.Compile()
	require.NoError(t, err)
	require.Empty(t, contract.ValidateBody("authorize", sample("request")))
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &doc))
	response, isObject := sample("response").(map[string]any)
	require.True(t, isObject)
	for name := range response {
		require.Contains(t, doc.Components.Schemas["AuthorizeResponse"].Properties, name)
	}
}

func TestUnknownPagesAreNotFound(t *testing.T) {
	t.Parallel()
	app := newSite(t)
	for _, path := range []string{"/docs/nothing", "/docs/guides/nothing", "/docs/guides/..%2fREADME.svg", "/docs/schemas/Nothing", "/docs/operations/nothing", "/docs/guides/architecture"} {
		status, _, text := get(t, app, path)
		require.Equal(t, 404, status, path)
		require.Len(t, heading.FindAllString(text, -1), 1, path)
		require.Contains(t, text, `action="/docs/search"`, path)
		require.Contains(t, text, `<a href="/docs">overview</a>`, path)
	}
	_, _, text := get(t, app, "/docs/guides/webhooks")
	require.Contains(t, text, `<a href="/docs/guides/events#webhooks">`)

	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs/nothing", nil)
	req.Header.Set("Accept", "application/json")
	res, err := app.Test(req, -1)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 404, res.StatusCode)
	require.NotContains(t, res.Header.Get("Content-Type"), "html")
}
