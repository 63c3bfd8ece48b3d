package browser_test

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browserEnv names the Chromium to use; "none" skips the tests.
const browserEnv = "COUNTERSIGN_TEST_BROWSER"

// chromium is the path of a Chromium, or empty if none is installed.
var chromium = sync.OnceValue(func() string {
	if given := os.Getenv(browserEnv); given != "" {
		if given == "none" {
			return ""
		}
		return given
	}
	for _, name := range []string{
		// Chromium without windows, whose pages cost a quarter less CPU time. Debian's script on PATH would outlive a kill.
		"/usr/lib/chromium/chromium-headless-shell", "chrome-headless-shell",
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
})

// needChromium skips the test if Chromium is not installed.
func needChromium(t testing.TB) {
	t.Helper()
	if chromium() == "" {
		t.Skip("Chromium is not installed: run make browser, or name it in " + browserEnv)
	}
}

func TestWithoutABrowserNoTestFails(t *testing.T) {
	t.Parallel()
	needChromium(t) // this is that run otherwise
	run := exec.CommandContext(t.Context(), os.Args[0])
	run.Env = append(os.Environ(), browserEnv+"=none")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// instance is the one browser process of all tests; each tab has a profile of its own.
var instance struct {
	once   sync.Once
	ctx    context.Context
	cancel []context.CancelFunc
	err    error
}

func browser(t testing.TB) context.Context {
	t.Helper()
	needChromium(t)
	instance.once.Do(func() { instance.ctx, instance.cancel, instance.err = startBrowser() })
	require.NoError(t, instance.err, "Chromium at %s did not start", chromium())
	return instance.ctx
}

// startBrowser starts a browser process whose background activity does not leave the machine or disturb a test.
func startBrowser(more ...chromedp.ExecAllocatorOption) (context.Context, []context.CancelFunc, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium()), chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
		// A frame of the service in a page of this address is a target of its own, also in a Chromium without windows.
		chromedp.Flag("isolate-origins", "http://127.0.0.1"),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en"),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.WSURLReadTimeout(patience),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	return ctx, []context.CancelFunc{cancelBrowser, cancelAllocator}, chromedp.Run(ctx)
}

func closeBrowser() {
	for _, cancel := range instance.cancel {
		cancel()
	}
}
