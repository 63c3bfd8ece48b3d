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

// artifactsEnv names the folder of screenshots. Without it only tests that fail save one: to draw and encode a whole page is
// much of what a test of it costs.
const artifactsEnv = "COUNTERSIGN_TEST_ARTIFACTS"

// tab is one tab of the browser with its own profile. A test fails if its tab saw a console error, an exception, a policy
// violation or a request to another host that the test did not expect.
type tab struct {
	t       testing.TB
	ctx     context.Context
	profile cdp.BrowserContextID

	mu       sync.Mutex
	faults   []string
	expected []string
}

// overloadFault is Chromium's message about a 503, which the service returns if Temporal does not respond in time. On a loaded
// machine this is not a fault of the page, which retries or reports it.
const overloadFault = "the server responded with a status of 503"

// newTab opens a tab of 1100 by 800, light and without motion, in its own profile.
func newTab(t *testing.T) *tab {
	t.Helper()
	root := browser(t)
	var profile cdp.BrowserContextID
	require.NoError(t, onBrowser(root, func(ctx context.Context) (err error) {
		profile, err = target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
		return err
	}))
	t.Cleanup(func() {
		_ = onBrowser(root, func(ctx context.Context) error { return target.DisposeBrowserContext(profile).Do(ctx) }) // it may be gone with its last tab
	})
	return openTab(t, profile)
}

// newTab opens another tab in the same profile.
func (b *tab) newTab() *tab {
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
	b := &tab{t: t, ctx: ctx, profile: profile, expected: []string{overloadFault}}
	chromedp.ListenTarget(ctx, b.watch)
	t.Cleanup(func() {
		if t.Failed() {
			b.saveFailure()
		}
		cancel()
		require.Empty(t, b.unexpected(), "the page has unexpected faults")
	})
	require.NoError(t, chromedp.Run(ctx)) // binds the tab to a context without a deadline
	b.run(network.Enable(), log.Enable(), runtime.Enable(), emulation.SetFocusEmulationEnabled(true), keepUp())
	b.size(1100, 800)
	b.dark(false)
	return b
}

// onBrowser sends commands to the browser itself, not to a tab.
func onBrowser(root context.Context, f func(ctx context.Context) error) error {
	return f(cdp.WithExecutor(root, chromedp.FromContext(root).Browser))
}

// watch records the faults of a page.
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

// expect allows faults that contain part, such as "status of 404".
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

// sawFault reports whether a fault that contains part was seen, expected or not.
func (b *tab) sawFault(part string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.faults, func(f string) bool { return strings.Contains(f, part) })
}

// frame waits for a frame of the tab that shows a page of the origin, and returns it.
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
	framed := &tab{t: b.t, ctx: ctx, profile: b.profile, expected: b.expected}
	chromedp.ListenTarget(ctx, framed.watch)
	framed.run(network.Enable(), log.Enable(), runtime.Enable()) // reports what was logged before, too
	b.t.Cleanup(func() { require.Empty(b.t, framed.unexpected(), "the page in the frame has unexpected faults") })
	return framed
}

// run runs actions within patience.
func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, b.try(actions...))
}

func (b *tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// open navigates to a path of the service or to a URL.
func (b *tab) open(path string) {
	b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = shared.baseURL + path
	}
	if strings.Contains(path, "#") { // navigating to another fragment of the same address loads nothing
		b.run(chromedp.Navigate("about:blank"))
	}
	b.run(chromedp.Navigate(path))
	b.until(`!document.querySelector("form[data-open]")`) // the page of a link submits itself
}

// reload loads the page again.
var reload = chromedp.Reload()

// see waits until the page shows the text.
func (b *tab) see(text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.shows(text) }, patience, 50*time.Millisecond,
		"waiting for %q; the artefacts include a final screenshot", text)
}

// shows reports whether the page shows the text now. While it navigates, it shows none.
func (b *tab) shows(text string) bool {
	seen := ""
	err := b.try(chromedp.Evaluate("document.body?.innerText ?? ''", &seen))
	return err == nil && strings.Contains(seen, text)
}

// text returns the visible text of an element.
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

// leave evaluates an expression that navigates to a different page, which can interrupt the evaluation. The caller waits for what the
// new page shows.
func (b *tab) leave(expression string) {
	b.t.Helper()
	if err := b.try(chromedp.Evaluate(expression, nil)); err != nil {
		require.ErrorContains(b.t, err, "Inspected target navigated or closed")
	}
}

// until waits until an expression is true in the page.
func (b *tab) until(expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var holds bool
		return b.try(chromedp.Evaluate("!!("+expression+")", &holds)) == nil && holds
	}, patience, 50*time.Millisecond, "waiting for %s", expression)
}

// click clicks the element of a CSS selector, once it is visible and enabled.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.WaitEnabled(selector, chromedp.ByQuery), chromedp.Click(selector, chromedp.ByQuery))
}

// press sends keys (kb.Tab, kb.Enter, text) to the focused element.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
}

// size sets the size of the window in CSS pixels; below 600 it emulates a phone.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, height, 1, width < 600))
}

// dark sets the preferred colour scheme. The browser always prefers reduced motion.
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

// requireFits requires that the page does not scroll horizontally.
func (b *tab) requireFits() {
	b.t.Helper()
	var over int
	b.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
	require.LessOrEqual(b.t, over, 0, "the page is wider than its window by %d px", over)
}

// screenshot saves an image of the whole page, if a folder is named.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if os.Getenv(artifactsEnv) == "" {
		return
	}
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	require.NoError(b.t, saveArtifact(name, png))
}

func (b *tab) saveFailure() {
	var png []byte
	if b.try(chromedp.FullScreenshot(&png, 100)) == nil {
		name := "failed-" + strings.NewReplacer("/", "-", " ", "-").Replace(b.t.Name()) + "-" + string(chromedp.FromContext(b.ctx).Target.TargetID)[:6]
		b.t.Logf("final screenshot: %s.png among the artefacts: %v", name, saveArtifact(name, png))
	}
}

func saveArtifact(name string, png []byte) error {
	dir := os.Getenv(artifactsEnv)
	if dir == "" {
		dir = filepath.Join("..", "..", "test-artifacts")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
}
