package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// docsPages are a page of each kind, each with a text that it must show.
var docsPages = []pageState{
	{"front", "/", "Know who is acting before", nil},
	{"docs", "/docs", "Start with the quickstart", nil},
	{"docs-guide", "/docs/guides/quickstart", "Verify the proof", nil},
	{"docs-operations", "/docs/operations/authorization", "/api/v1/authorize", nil},
	{"docs-schemas", "/docs/schemas", "AuthorizeRequest", nil},
	{"docs-schema", "/docs/schemas/AuthorizeRequest", "idempotency_key", nil},
	{"docs-errors", "/docs/errors#not_found", "resources of other tenants and environments", nil},
	{"docs-events", "/docs/events", "authorization.decided", nil},
	{"docs-found", "/docs/search?q=load+balancer", "AWS Application Load Balancer", nil},
}

// The contents of the documentation open on a phone and close when a page is chosen.
func TestDocsCanBeNavigatedOnAPhone(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.size(390, 844)
	b.open("/docs")
	b.until(`getComputedStyle(document.querySelector("#docs-nav")).display === "none"`)
	b.click(".docs-open")
	b.until(`document.querySelector("#docs-nav").matches(":popover-open")`)
	b.requireFits()
	b.requireAccessible()
	b.screenshot("docs-contents-390")
	b.click(`#docs-nav a[href="/docs/guides/events"]`)
	b.until(`location.pathname === "/docs/guides/events"`)
	b.until(`getComputedStyle(document.querySelector("#docs-nav")).display === "none"`)
}

// copies presses the button that copies an element's text, and requires that it does.
func (b *tab) copies(selector string) {
	b.t.Helper()
	b.eval(`Object.defineProperty(navigator, "clipboard", {value: {writeText: (text) => (window.copied = text, Promise.resolve())}}), true`, nil)
	b.until(fmt.Sprintf(`document.querySelector(%q + " + .button")?.textContent === "Copy"`, selector))
	b.click(selector + " + .button")
	b.until(fmt.Sprintf(`window.copied === document.querySelector(%q).textContent`, selector))
	b.until(fmt.Sprintf(`document.querySelector(%q + " + .button").textContent === "Copied"`, selector))
}

// The front page makes one claim, with one call that can be copied, and shows what users and reviewers see. It says where to begin without
// scrolling.
func TestFrontPageSaysWhatTheServiceDoes(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	for _, width := range widths {
		b.size(width, 844)
		b.open("/")
		b.see("Know who is acting before it cannot be undone")
		b.until(`document.querySelector(".front-claim .button.primary").getBoundingClientRect().bottom < innerHeight`)
		b.until(`document.querySelector(".front-call pre .key") !== null`)
		b.copies(".front-call pre")
		b.until(`window.copied.includes("/api/v1/authorize")`)
		b.until(`document.querySelector(".front-picture").getBoundingClientRect().height > 200 && document.querySelector(".front-payer .button").checkVisibility()`)
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("front-" + widthName(width))
	}
	b.press("/") // no shortcut of the console
	b.click(`.front-next a[href="/docs/guides/quickstart"]`)
	b.until(`location.pathname === "/docs/guides/quickstart"`)
	b.copies(".docs-text pre")
	b.requireClean()
}

// The documentation is searched while typing, by keyboard alone.
func TestDocsSearchFindsAnOperation(t *testing.T) {
	t.Parallel()
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			b.size(width, 844)
			ready := `document.querySelector("#docs-query")?.role === "combobox"`
			b.open("/docs")
			b.until(ready)
			b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
			b.until(`document.activeElement.id === "docs-query"`)
			b.press("revoke passkey")
			b.until(`document.querySelectorAll("#docs-found a").length > 0`)
			b.requireFits()
			b.requireAccessible()
			b.screenshot(fmt.Sprintf("docs-search-%d", width))
			b.press(kb.Escape)
			b.until(`document.querySelector("#docs-found").hidden`)
			b.eval(`document.querySelector("#docs-query").value = ""`, nil)
			b.press("/api/v1/verify")
			b.until(`document.querySelector("#docs-found [aria-selected=true]")?.textContent.includes("/api/v1/verify")`)
			b.press(kb.ArrowDown)
			b.press(kb.ArrowUp)
			b.press(kb.Enter)
			b.until(`location.pathname === "/docs/operations/proofs"`)
			b.until(ready)
			b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
			b.until(`document.activeElement.id === "docs-query"`)
			b.press("load balancer" + kb.Enter) // before anything is found
			b.until(`location.pathname === "/docs/search"`)
			b.see("AWS Application Load Balancer")
		})
	}
}

// The targets of the navigation are large enough for fingers: 24 CSS pixels (WCAG 2.2, 2.5.8).
func TestDocsTargetsAreLargeEnough(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.size(390, 844)
	b.open("/docs/errors")
	b.click(".docs-open")
	var smallest float64
	b.eval(`Math.min(...[...document.querySelectorAll(".docs-nav a, .docs-contents a, .docs-open, .docs-search input")]
		.map((e) => e.getBoundingClientRect().height).filter((h) => h > 0))`, &smallest)
	require.GreaterOrEqual(t, smallest, 24.0)
}

// An operation of the reference begins with what it is for, as its heading, and a request; edge cases follow.
func TestReferenceBeginsWithASample(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.size(1280, 800)
	b.open("/docs/operations/authorization")
	b.until(`[...document.querySelectorAll(".operation")].every((one) => {
		const sample = one.querySelector(".docs-path").nextElementSibling;
		return (sample.querySelector("pre") ?? sample).textContent.startsWith("curl");
	})`)
	b.until(`document.querySelector(".operation pre").getBoundingClientRect().top < 800`)
	b.requireNoOverflow()
	b.requireAccessible()
	b.screenshot("reference-operation")
}
