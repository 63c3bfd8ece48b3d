package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// artifactsEnv names the folder of screenshots.
const artifactsEnv = "COUNTERSIGN_TEST_ARTIFACTS"

// tab is one tab of the browser with a profile of its own. When its test ends, it must have seen no console error, no
// exception, no policy violation and no request to another host, but what the test said it expects.
type tab struct {
	t       testing.TB
	ctx     context.Context
	profile cdp.BrowserContextID

	mu       sync.Mutex
	faults   []string
	expected []string
}

// overloaded is what Chromium says of the service's answer that Temporal did not do its work in time. On a machine that has too
// much to do that is the truth and no fault of a page, which tries again or says so.
const overloaded = "the server responded with a status of 503"

// newTab opens a tab of 1100 by 800, light and without motion, in a profile of its own.
func newTab(t *testing.T) *tab {
	t.Helper()
	root := browser(t)
	var profile cdp.BrowserContextID
	require.NoError(t, onBrowser(root, func(ctx context.Context) (err error) {
		profile, err = target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
		return err
	}))
	t.Cleanup(func() {
		_ = onBrowser(root, func(ctx context.Context) error { return target.DisposeBrowserContext(profile).Do(ctx) }) // gone with its last tab already
	})
	return openTab(t, profile)
}

// another opens a further tab in the same profile.
func (b *tab) another() *tab {
	b.t.Helper()
	return openTab(b.t, b.profile)
}

func openTab(t testing.TB, profile cdp.BrowserContextID) *tab {
	t.Helper()
	root := browser(t)
	var id target.ID
	require.NoError(t, onBrowser(root, func(ctx context.Context) (err error) {
		id, err = target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
		return err
	}))
	ctx, cancel := chromedp.NewContext(root, chromedp.WithTargetID(id))
	b := &tab{t: t, ctx: ctx, profile: profile, expected: []string{overloaded}}
	chromedp.ListenTarget(ctx, b.watch)
	t.Cleanup(func() {
		if t.Failed() {
			b.keepFailure()
		}
		cancel()
		require.Empty(t, b.unexpected(), "the page has faults")
	})
	require.NoError(t, chromedp.Run(ctx)) // binds the tab to a context without a deadline
	b.run(network.Enable(), log.Enable(), runtime.Enable(), emulation.SetFocusEmulationEnabled(true))
	b.size(1100, 800)
	b.dark(false)
	return b
}

// onBrowser speaks to the browser itself and not to a tab.
func onBrowser(root context.Context, f func(ctx context.Context) error) error {
	return f(cdp.WithExecutor(root, chromedp.FromContext(root).Browser))
}

// watch notes whatever a page should not do.
func (b *tab) watch(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.fault("exception: " + e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.fault("console: " + strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Source == log.SourceSecurity {
			b.fault(fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		own := err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about" || u.Scheme+"://"+u.Host == shared.baseURL)
		if !own {
			b.fault("request to another host: " + e.Request.URL)
		}
	}
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, text)
}

// expect names a part of a fault that the test brings about on purpose, such as "status of 404".
func (b *tab) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}

func (b *tab) unexpected() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []string
	for _, f := range b.faults {
		known := false
		for _, part := range b.expected {
			known = known || strings.Contains(f, part)
		}
		if !known {
			left = append(left, f)
		}
	}
	return left
}

// noticed reports whether a fault with that part was seen, expected or not.
func (b *tab) noticed(part string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.faults, func(f string) bool { return strings.Contains(f, part) })
}

// frame is the frame of the tab that shows a page of that origin, once there is one.
func (b *tab) frame(origin string) *tab {
	b.t.Helper()
	var found *target.Info
	require.Eventually(b.t, func() bool {
		all, err := chromedp.Targets(b.ctx)
		for _, info := range all {
			if info.Type == "iframe" && strings.HasPrefix(info.URL, origin) {
				found = info
			}
		}
		return err == nil && found != nil
	}, patience, 50*time.Millisecond, "waiting for a frame of %s", origin)
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(found.TargetID))
	b.t.Cleanup(cancel)
	require.NoError(b.t, chromedp.Run(ctx))
	return &tab{t: b.t, ctx: ctx, profile: b.profile}
}

// run runs actions within the test's patience.
func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, b.try(actions...))
}

func (b *tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// open goes to a path of the service, or to a whole URL.
func (b *tab) open(path string) {
	b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = shared.baseURL + path
	}
	if strings.Contains(path, "#") { // the same address with another fragment would load nothing
		b.run(chromedp.Navigate("about:blank"))
	}
	b.run(chromedp.Navigate(path))
	b.until(`!document.querySelector("form[data-open]")`) // the page of a link goes on to that of its request by itself
}

// see waits until the page shows the text.
func (b *tab) see(text string) {
	b.t.Helper()
	seen := ""
	require.Eventually(b.t, func() bool {
		err := b.try(chromedp.Evaluate("document.body?.innerText ?? ''", &seen)) // the page may be on its way to the next
		return err == nil && strings.Contains(seen, text)
	}, patience, 50*time.Millisecond, "waiting for %q; a screenshot of the end is among the artefacts", text)
}

// text is what is visible of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	var text string
	b.run(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector), &text))
	return text
}

// eval evaluates an expression in the page, waiting for a promise.
func (b *tab) eval(expression string, result any) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, result, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
}

// until waits until an expression is true in the page.
func (b *tab) until(expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var holds bool
		return b.try(chromedp.Evaluate("!!("+expression+")", &holds)) == nil && holds
	}, patience, 50*time.Millisecond, "waiting for %s", expression)
}

// click clicks what the CSS selector finds, once it is visible and enabled.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.WaitEnabled(selector, chromedp.ByQuery), chromedp.Click(selector, chromedp.ByQuery))
}

// press sends keys to whatever has the focus (kb.Tab, kb.Enter, text).
func (b *tab) press(keys string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
}

// size makes the window width by height CSS pixels; below 600 it is a phone.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, height, 1, width < 600))
}

// dark switches the colour scheme that the browser asks for; it always asks for no motion.
func (b *tab) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}))
}

// offline cuts the tab's network, or gives it back.
func (b *tab) offline(on bool) {
	b.t.Helper()
	b.run(network.EmulateNetworkConditions(on, 0, -1, -1))
}

// fits requires that the page does not scroll sideways.
func (b *tab) fits() {
	b.t.Helper()
	var over int
	b.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
	require.LessOrEqual(b.t, over, 0, "the page is wider than its window by %d px", over)
}

// screenshot keeps the whole page as a picture of that name.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	require.NoError(b.t, keep(name, png))
}

func (b *tab) keepFailure() {
	var png []byte
	if b.try(chromedp.FullScreenshot(&png, 100)) == nil {
		name := "failed-" + strings.NewReplacer("/", "-", " ", "-").Replace(b.t.Name())
		b.t.Logf("the page at the end: %s.png among the artefacts: %v", name, keep(name, png))
	}
}

func keep(name string, png []byte) error {
	dir := os.Getenv(artifactsEnv)
	if dir == "" {
		dir = filepath.Join("..", "..", "test-artifacts")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
}
