package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

var reload = chromedp.Reload()

// What comes from outside is shown as text, and what cannot be seen is marked.
func TestChallengePageEscapesHostileText(t *testing.T) {
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
	b.ends("Confirmed")
}

// The page does not show in a frame of a site that the environment does not name, and does in one that it names. A passkey
// ceremony would be refused there, so the page offers to go on in a tab of its own.
func TestChallengePageRefusesForeignFrames(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	b.authenticator(true)
	b.register(w, subject)
	a := w.challenge(t, subject, w.payment(t), nil)
	outside := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`<!doctype html><title>outside</title><iframe width="700" height="700" src="` + shared.baseURL + a.path + `"></iframe>`))
	}))
	t.Cleanup(outside.Close)
	b.expect("request to another host: " + outside.URL)
	b.expect("frame-ancestors")
	b.open(outside.URL)
	require.Eventually(t, func() bool { return b.noticed("frame-ancestors") }, patience, patience/1000, "the browser refuses the frame")

	w.pages(t, tenancy.Pages{FrameAncestors: []string{outside.URL}})
	b.open(outside.URL)
	b.frame(shared.baseURL).see("Confirm with your passkey in a new tab")
	b.screenshot("challenge-in-a-frame")
}

// pages changes the settings of the world's pages.
func (w world) pages(t testing.TB, in tenancy.Pages) {
	t.Helper()
	_, err := shared.Tenancy.UpdatePages(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID}, in, "cli:test")
	require.NoError(t, err)
}

// The site where a person goes on does not learn the address that they come from: it holds the ticket.
func TestChallengePageSendsNoReferrer(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	arrived := make(chan http.Header, 4)
	outside := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			arrived <- r.Header.Clone()
		}
		_, _ = rw.Write([]byte("<!doctype html><title>outside</title><link rel=icon href=data:,>back at the bank"))
	}))
	t.Cleanup(outside.Close)
	w.pages(t, tenancy.Pages{ReturnOrigins: []string{outside.URL}})
	a := w.challenge(t, w.subject(t), w.payment(t), object{"return_url": outside.URL + "/back"})
	b := newTab(t)
	b.expect("request to another host: " + outside.URL)
	b.open(a.path)
	b.click("[data-cancel]")
	b.ends("Go back to 127.0.0.1")
	b.click(`[data-ending="cancelled"] [data-back]`)
	b.see("back at the bank")
	require.Empty(t, (<-arrived).Get("Referer"))
	var opener bool
	b.eval("window.opener !== null", &opener)
	require.False(t, opener)
}

// A request that another site has the browser send changes nothing.
func TestChallengePageRefusesCrossSiteRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	for _, move := range []string{"options", "complete", "cancel"} {
		for _, header := range []http.Header{
			{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}, {},
		} {
			req, err := http.NewRequest(http.MethodPost, shared.baseURL+"/challenge/"+a.challenge+"/"+move,
				strings.NewReader(`{"method":"sandbox_confirm","ticket":"`+a.ticket+`"}`))
			require.NoError(t, err)
			req.Header = header
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusForbidden, resp.StatusCode, "%s from %v", move, header)
		}
	}
	require.Equal(t, "open", w.status(t, a))
}
