package integration_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// marker is markup that no page may contain as it is.
const marker = `"'><b data-hostile>{{.}}`

// hostileFields are values that a script can send in the field of a form, and no browser would.
var hostileFields = []string{
	marker, "a\u202eb\u2066c", "a\x00b", "\xff\xfe", strings.Repeat("é", 40_000), "a\r\nX-Hostile: 1", "//hostile.example", "1e309", `{"a":1,"a":2}`, "9999-12-31T23:59",
}

var (
	formTags    = regexp.MustCompile(`(?s)<form[^>]*? action="([^"]*)".*?</form>`)
	fieldTags   = regexp.MustCompile(`(?s)<(?:input|textarea|select|button)\b[^>]*? name="([^"]*)"([^>]*)>([^<]*)`)
	valueOf     = regexp.MustCompile(` value="([^"]*)"`)
	firstOption = regexp.MustCompile(`<option value="([^"]*)"`)
)

// formsOf returns the values that the forms of a page would submit, or some that they could, by the paths that they are sent to.
func formsOf(page string) map[string]url.Values {
	out := map[string]url.Values{}
	for _, form := range formTags.FindAllStringSubmatch(page, -1) {
		values := url.Values{}
		for _, field := range fieldTags.FindAllStringSubmatch(form[0], -1) {
			value := strings.TrimSpace(field[3]) // of a text area
			for _, of := range [][]string{valueOf.FindStringSubmatch(field[2]), firstOption.FindStringSubmatch(field[0])} {
				if of != nil {
					value = of[1]
				}
			}
			values.Set(html.UnescapeString(field[1]), html.UnescapeString(value))
		}
		out[html.UnescapeString(form[1])] = values
	}
	return out
}

// Every field of every form of the console gets each hostile value. Nothing fails, no page repeats markup as it is or leads elsewhere, and every
// page can be read afterwards.
func TestHostileFieldsOfTheConsole(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	x := w.consoleRecords(t)
	v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	x.filter, x.change = v.savedFilter(w), w.changeRequest(t)
	judge := func(what string, got visit) {
		require.Less(t, got.status, 500, "%s: %s", what, got.body)
		require.True(t, got.header.Get("Content-Disposition") != "" || !strings.Contains(got.body, marker), "%s: %s", what, got.body)
		require.Empty(t, got.header.Get("X-Hostile"), what)
		require.NotContains(t, got.location, "hostile.example", what)
	}
	var pages []string
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet && r.Right != shell.Open && r.Right != shell.SignedIn && r.Name != "console_stream" && r.Name != "console_audit_verify" {
			pages = append(pages, w.path(r, x))
		}
	}
	forms := map[string]url.Values{}
	for _, path := range pages {
		maps.Copy(forms, formsOf(v.get(path).body))
	}
	delete(forms, "/console/sign-out")
	require.Greater(t, len(forms), 40)
	for to, values := range forms {
		for name := range values {
			for _, value := range hostileFields {
				hostile := maps.Clone(values)
				hostile.Set(name, value)
				judge(to+" "+name+" "+value[:min(len(value), 40)], v.submit(to, hostile))
			}
		}
	}
	for _, path := range pages {
		seen := v.get(path)
		judge(path, seen)
		require.NotContains(t, seen.body, "\u202e", path)
	}
}
