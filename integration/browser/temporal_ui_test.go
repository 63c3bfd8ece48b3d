package browser_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
)

// An auditor reads a hold's history in the Temporal UI, and finds its page in the console from there; a reviewer sees that it is
// encrypted.
func TestTemporalUIShowsHistoriesToAuditors(t *testing.T) {
	t.Parallel()
	ui := os.Getenv(temporaltest.UIEnv)
	if ui == "" {
		t.Skip("the runner of the tests starts no Temporal UI: " + temporaltest.UIEnv + " is not set")
	}
	needChromium(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(shared.StartCodec(wiring.CodecOptions{Origin: ui}, make(chan error, 1), l))
	codec := fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port)

	w := newSandbox(t)
	held, _ := w.holdOf(t, w.payments(t, holding))
	waiting := `CountersignKind = "hold" and CountersignState in ("pending", "partly_approved") and CountersignEnvironment = "` + w.ID + `"`
	space := ui + "/namespaces/" + shared.namespace + "/workflows"
	for role, sees := range map[models.Role]string{models.RoleAuditor: `"DueAt"`, models.RoleReviewer: "Codec Server could not connect"} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			b.enter(w, "Ann", role)
			b.expect("") // the UI's own requests and messages
			b.open(ui + "/favicon.ico")
			b.eval(fmt.Sprintf(`localStorage.setItem("endpoint", JSON.stringify(%q)), localStorage.setItem("includeCredentials", "true"),
				localStorage.setItem("overrideRemoteCodecConfiguration", "true"), true`, codec), nil)
			b.open(space + "?query=" + url.QueryEscape(waiting))
			b.see("hold/" + held)
			b.open(space + "/hold%2F" + held)
			b.see(sees)
			b.screenshot("temporal-ui-" + string(role))
			var text string
			b.eval("document.body.innerText", &text)
			require.Equal(t, role == models.RoleAuditor, strings.Contains(text, `"DueAt"`))
			require.NotContains(t, text, "0001-01-01", "a time that is not set")
			if role == models.RoleAuditor {
				b.requireLink(shared.baseURL + w.console("decisions", held))
			}
		})
	}
}

// requireLink opens the tab of the UI with the texts of the workflow, which link to the console.
func (b *tab) requireLink(to string) {
	b.t.Helper()
	b.click(`a[href*="/user-metadata"]`)
	b.until(fmt.Sprintf(`[...document.querySelector("#user-metadata-details")?.contentDocument?.links ?? []].some(a => a.href === %q)`, to))
	b.screenshot("temporal-ui-metadata")
}
