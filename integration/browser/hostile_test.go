package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/tenancy"
)

var reload = chromedp.Reload()

// What comes from outside is shown as text, and what cannot be seen is marked.
func TestChallengeShowsHostileText(t *testing.T) {
	t.Parallel()
	w, _ := newTenant(t, `<b onmouseover="document.title='owned'">Alder</b> Bank`)
	action := w.action(t, "enforce", `Pay <script>document.title="owned"</script>"><img src=x onerror=alert(1)>`,
		"To \u202eknaB redlA\u202c acc\u200bount {{.ID}} ${1} \u2066x\u2069 &lt;i&gt; \u00adend", challenging)
	a := w.challenge(t, w.subject(t), action, nil)
	b := newTab(t)
	b.size(360, 740)
	b.open(a.path)
	b.see(`Pay <script>document.title="owned"</script>"><img src=x onerror=alert(1)>`)
	require.Contains(t, b.text("body"), `<b onmouseover="document.title='owned'">Alder</b> Bank`)
	consequence := strings.Join(strings.Fields(b.text(".consequence")), " ")
	for _, mark := range []string{"U+202E", "U+202C", "U+200B", "U+2066", "U+2069", "U+00AD", "{{.ID}}", "&lt;i&gt;"} {
		require.Contains(t, consequence, mark)
	}
	var foreign int
	b.eval(`document.querySelectorAll("main script, main img, main b").length`, &foreign)
	require.Zero(t, foreign)
	var title string
	b.eval("document.title", &title)
	require.NotEqual(t, "owned", title)
	b.fits()
	b.accessible()
	b.screenshot("challenge-hostile-text")
	b.click("[data-confirm]")
	b.see("Confirmed")
}

// The page does not show in a frame of a site that the environment does not name, and does in one that it names.
func TestChallengeInAFrame(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	outside := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`<!doctype html><title>outside</title><iframe width="700" height="700" src="` + shared.baseURL + a.path + `"></iframe>`))
	}))
	t.Cleanup(outside.Close)
	b := newTab(t)
	b.expect("request to another host: " + outside.URL)
	b.expect("frame-ancestors")
	b.open(outside.URL)
	require.Eventually(t, func() bool { return b.noticed("frame-ancestors") }, patience, patience/1000, "the browser refuses the frame")

	_, err := shared.Tenancy.SetPages(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID},
		tenancy.Pages{FrameAncestors: []string{outside.URL}}, "cli:test")
	require.NoError(t, err)
	b.open(outside.URL)
	b.frame(shared.baseURL).see("Release a payment")
}
