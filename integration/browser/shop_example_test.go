package browser_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// exampleShop starts a shop of examples/shop for a new sandbox with its actions, and returns its origin.
func exampleShop(t *testing.T, w world, command *exec.Cmd) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	origin := fmt.Sprintf("http://localhost:%d", port)

	_, err = shared.Tenancy.UpdateSettings(t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, tenancy.Settings{"return_origins": []string{origin}}, "cli:test", "")
	require.NoError(t, err)
	setup := exec.CommandContext(t.Context(), "bash", "../../examples/shop/setup.sh")
	setup.Env = append(os.Environ(), "BASE="+shared.baseURL, "KEY="+w.key)
	output, err := setup.CombinedOutput()
	require.NoError(t, err, "%s", output)
	endpoint := w.post(t, "/api/v1/webhook-endpoints", object{"url": origin + "/webhooks"}).is(http.StatusCreated)

	command.Env = append(os.Environ(), "COUNTERSIGN_URL="+shared.baseURL, "COUNTERSIGN_KEY="+w.key,
		"COUNTERSIGN_WEBHOOK_SECRET="+endpoint.string("secret"), fmt.Sprintf("PORT=%d", port))
	command.Stdout, command.Stderr = t.Output(), t.Output()
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	require.Eventually(t, func() bool {
		res, err := http.Get(origin) //nolint:noctx // a probe
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, patience, 200*time.Millisecond, "the shop listens")
	return origin
}

// TestShopExamples buys in the shops of examples/shop as a user would: a book after a step-up, and a gift card after a review.
func TestShopExamples(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	for name, command := range map[string]func(t *testing.T) *exec.Cmd{
		"express": func(t *testing.T) *exec.Cmd {
			if _, err := os.Stat(filepath.Join(repository, "examples/shop/express/node_modules/express")); err != nil {
				t.Skip("Express is not installed: make test installs it")
			}
			cmd := exec.Command("node", "server.js")
			cmd.Dir = filepath.Join(repository, "examples/shop/express")
			return cmd
		},
		"go": func(t *testing.T) *exec.Cmd {
			binary := filepath.Join(t.TempDir(), "shop")
			output, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", binary, "./examples/shop/go").CombinedOutput()
			require.NoError(t, err, "%s", output)
			cmd := exec.Command(binary)
			cmd.Dir = repository
			return cmd
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(collectorFile); err != nil {
				t.Skip("the collector is not built: make test-js builds it")
			}
			w := newSandbox(t)
			origin := exampleShop(t, w, command(t))
			b := newTab(t)
			b.expect("request to another host: " + origin)
			ready := func() { b.until(`document.querySelector("#status")?.dataset.ready === "true"`) }
			status := func(want string) {
				b.until(fmt.Sprintf("document.querySelector('#status')?.dataset.status === %q", want))
			}
			b.open(origin + "/")
			ready()
			k := keyboard{b: b}
			b.eval("document.querySelector('#message').focus()", nil)
			k.types(typist("shopper").Type(105))

			b.click("[data-item=book]")
			b.see("Pay an order")
			b.see("12.00")
			b.click("[data-confirm]")
			b.seeEnding("Go back to localhost")
			b.leave(`[...document.querySelectorAll("[data-back]")].find((a) => a.offsetParent).click()`)
			ready()
			status("paid")
			subject := w.get(t, "/api/v1/subjects").is(200).list()[0]["id"].(string)
			require.NotZero(t, w.frames(t, subject), "the collector sent evidence")

			b.click("[data-item=gift_card]")
			status("held")
			held := w.get(t, "/api/v1/reviews?subject="+url.QueryEscape(subject)).is(200).list()
			require.Len(t, held, 1)
			reviewer := newWorld(t, w.Environment) // a key of its own: the shop may not review its own hold
			reviewer.post(t, "/api/v1/authorizations/"+held[0]["authorization"].(string)+"/review", object{"resolution": "approve"}).is(200)
			status("paid")
			require.Empty(t, b.unexpected())
			b.screenshot("shop-" + name)
		})
	}
}

// frames returns how many frames of the subject's sessions were accepted.
func (w world) frames(t *testing.T, subject string) (n float64) {
	t.Helper()
	for _, s := range w.get(t, "/api/v1/sessions?subject="+url.QueryEscape(subject)).is(200).list() {
		n += w.get(t, "/api/v1/sessions/"+s["id"].(string)+"/status").is(200).object()["evidence_windows"].(float64)
	}
	return n
}
