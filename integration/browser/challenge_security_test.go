package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Texts from outside are escaped, and invisible characters are shown as code points.
func TestChallengePageEscapesHostileText(t *testing.T) {
	t.Parallel()
	w, _ := newTenant(t, `<b onmouseover="document.title='owned'">Alder</b> Bank`)
	asked := w.asks(t, w.subject(t), "challenge", payment{
		name: `Pay <script>document.title="owned"</script>"><img src=x onerror=alert(1)>`, consequence: "To {{.ID}} ${1} &lt;i&gt; end",
		payee: "\u202eknaB redlA\u202c acc\u200bount \u2066x\u2069 \u00adend <i>", requirements: challenging,
	})
	b := newTab(t)
	b.size(360, 740)
	b.open(w.link(t, asked.string("challenge.id"), nil))
	b.see(`Pay <script>document.title="owned"</script>"><img src=x onerror=alert(1)>`)
	require.Contains(t, b.text("body"), `<b onmouseover="document.title='owned'">Alder</b> Bank`)
	require.Equal(t, "To {{.ID}} ${1} &lt;i&gt; end", b.text(".consequence"))
	shown := strings.Join(strings.Fields(b.text(".shown")), " ")
	for _, mark := range []string{"U+202E", "U+202C", "U+200B", "U+2066", "U+2069", "U+00AD", "<i>"} {
		require.Contains(t, shown, mark)
	}
	var foreign int
	b.eval(`document.querySelectorAll("main script, main img, main b, main i").length`, &foreign)
	require.Zero(t, foreign)
	var title string
	b.eval("document.title", &title)
	require.NotEqual(t, "owned", title)
	b.requireFits()
	b.requireAccessible()
	b.screenshot("challenge-hostile-text")
	b.click("[data-confirm]")
	b.seeEnding("Confirmed")
}

// The page is not shown in a frame of a site that the environment does not allow. In a frame of an allowed site a passkey
// ceremony would be refused, so the page offers to continue in a new tab.
func TestChallengePageRefusesForeignFrames(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), nil)
	outside := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`<!doctype html><title>outside</title><iframe width="700" height="700" src="` + shared.baseURL + a.path + `"></iframe>`))
	}))
	t.Cleanup(outside.Close)
	b.expect("request to another host: " + outside.URL)
	b.expect("frame-ancestors")
	b.open(outside.URL)
	require.Eventually(t, func() bool { return b.sawFault("frame-ancestors") }, patience, patience/1000, "the browser refuses the frame")

	w.pages(t, tenancy.Settings{"frame_ancestors": []string{outside.URL}})
	b.open(outside.URL)
	b.frame(shared.baseURL).see("Confirm with your passkey in a new tab")
	b.screenshot("challenge-in-a-frame")
}

// pages changes the page settings of the environment.
func (w world) pages(t testing.TB, in tenancy.Settings) {
	t.Helper()
	_, err := shared.Tenancy.UpdateSettings(t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, in, "cli:test", "")
	require.NoError(t, err)
}

// The page that the user returns to does not receive the address of the challenge page.
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
	w.pages(t, tenancy.Settings{"return_origins": []string{outside.URL}})
	a := w.challenge(t, w.subject(t), w.payment(t), object{"return_url": outside.URL + "/back"})
	b := newTab(t)
	b.expect("request to another host: " + outside.URL)
	b.open(a.path)
	b.click("[data-cancel]")
	b.seeEnding("Go back to 127.0.0.1")
	b.click(`[data-ending="cancelled"] [data-back]`)
	b.see("back at the bank")
	require.Empty(t, (<-arrived).Get("Referer"))
	var opener bool
	b.eval("window.opener !== null", &opener)
	require.False(t, opener)
}

// A cross-site request changes nothing.
func TestChallengePageRefusesCrossSiteRequests(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	for _, move := range []string{"options", "complete", "cancel"} {
		for _, header := range []map[string]string{
			{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {},
		} {
			got := submit(t, "/challenge/"+a.challenge+"/"+move, `{"method":"sandbox_confirm","ticket":"`+a.ticket+`"}`, header)
			require.Equal(t, http.StatusForbidden, got.Status, "%s from %v", move, header)
		}
	}
	require.Equal(t, "open", w.status(t, a))
}
