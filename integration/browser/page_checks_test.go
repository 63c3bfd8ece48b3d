package browser_test

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// overflowing lists the elements whose content is wider than they are. Elements that cut off or scroll their content are among them,
// except those that only screen readers see, the navigation, plots and examples of code, which scroll.
const overflowing = `JSON.stringify([...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() &&
	!e.closest(".visually-hidden, .tucked, svg, .bar nav, pre, select, input") && !e.querySelector("svg.plot") &&
	e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map((e) => e.tagName + "." + e.className + ": " + e.scrollWidth + " > " + e.clientWidth))`

// requireNoOverflow requires that no element of the page is narrower than its content.
func (b *tab) requireNoOverflow() {
	b.t.Helper()
	b.requireFits()
	b.requireNone(overflowing, "elements that are narrower than their content")
}

// moving lists the elements that would move. The tab prefers reduced motion.
const moving = `(() => {
	const lasts = (times) => times.split(",").some((time) => parseFloat(time) > 0);
	return JSON.stringify([...document.querySelectorAll("*")].flatMap((e) => ["", "::before", "::after"].filter((part) => {
		const style = getComputedStyle(e, part || null);
		return lasts(style.transitionDuration) || (style.animationName !== "none" && lasts(style.animationDuration)) || style.scrollBehavior === "smooth";
	}).map((part) => e.tagName + "." + e.className + part)));
})()`

// requireNoMotion requires that nothing on the page moves for a user who prefers reduced motion.
func (b *tab) requireNoMotion() {
	b.t.Helper()
	b.requireNone(moving, "elements that move although the user prefers reduced motion")
}

// requireLabelled requires that the page has a language, a title and one heading of the first level.
func (b *tab) requireLabelled() {
	b.t.Helper()
	b.requireNone(`JSON.stringify([
		[document.documentElement.lang, "a language"], [document.title, "a title"],
		[[...document.querySelectorAll("h1")].filter((e) => e.checkVisibility()).length === 1, "one visible h1"],
	].filter(([is]) => !is).map(([, name]) => name))`, "missing on the page")
}

// faintInForcedColours lists what a user of forced colours, such as Windows' contrast themes, cannot see: backgrounds and shadows are gone, so
// what is selected needs an outline, and a button needs a border.
const faintInForcedColours = `(() => {
	if (!matchMedia("(forced-colors: active)").matches) return JSON.stringify(["forced colours are not active"]);
	const lined = (style) => style.outlineStyle !== "none" || style.borderTopStyle !== "none" || style.textDecorationLine !== "none";
	const found = document.querySelectorAll(".button, [aria-current]:not([aria-current=false]), [aria-selected=true], [aria-pressed=true]");
	return JSON.stringify([...found].filter((e) => e.checkVisibility() && !lined(getComputedStyle(e))).map((e) => e.outerHTML.slice(0, 120)));
})()`

// requireForcedColours requires that the page shows its states without colours of its own.
func (b *tab) requireForcedColours() {
	b.t.Helper()
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "forced-colors", Value: "active"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}))
	b.requireNone(faintInForcedColours, "elements whose state is not seen in forced colours")
	b.dark(false)
}

// singleKeys are the characters that a page may have as shortcuts.
const singleKeys = "abcdefghijklmnopqrstuvwxyz0123456789/?"

// requireNoSingleKeys requires that single characters, outside of a field, do nothing for a user who has switched them off: speech input and
// tremor press them (WCAG 2.2, 2.1.4).
func (b *tab) requireNoSingleKeys() {
	b.t.Helper()
	const state = `[location.href, document.activeElement === document.body || document.activeElement.id, document.querySelectorAll("dialog[open]").length].join()`
	var before, after string
	b.eval(`localStorage.setItem("single-keys", "off"), document.activeElement?.blur(), `+state, &before)
	b.press(singleKeys)
	b.eval(state, &after)
	b.eval(`localStorage.removeItem("single-keys")`, nil)
	require.Equal(b.t, before, after, "a single key acts, at %s", b.address())
}

// untimed lists the time limits of the page that it does not announce (WCAG 2.2, 2.2.1). They are essential: a confirmation is of now.
const untimed = `JSON.stringify([...document.querySelectorAll("[role=timer]")].filter((e) => e.checkVisibility() &&
	(!/[0-9]/.test(e.textContent) || !document.querySelector("[data-announce][aria-live]"))).map((e) => e.outerHTML))`

// watchFocus notes each control that gets the focus, and whether a user sees that it has it: its outline is at least two pixels wide
// (WCAG 2.2, 2.4.13) and no other element covers it (2.4.11).
const watchFocus = `(() => {
	const seen = new Map();
	const shows = (e) => {
		const style = getComputedStyle(e), box = e.getBoundingClientRect();
		if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return "no outline";
		if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return "outside the window";
		return "";
	};
	const stop = (e) => e.tabIndex >= 0 && !e.matches(":disabled, [type=hidden]") && !e.closest("[inert]") && e.checkVisibility({visibilityProperty: true}) &&
		(e.type !== "radio" || e.checked || !e.name || (e === document.getElementsByName(e.name)[0] && ![...document.getElementsByName(e.name)].some((r) => r.checked)));
	const within = document.querySelector("dialog:modal") ?? document;
	const wanted = () => [...within.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(stop);
	const name = (e) => e.outerHTML.slice(0, 120);
	document.addEventListener("focusin", (event) => seen.set(event.target, shows(event.target)));
	window.focusFaults = () => JSON.stringify([
		...wanted().filter((e) => !seen.has(e)).map((e) => "not reached: " + name(e)),
		...[...seen].filter(([e, fault]) => fault && e !== document.body).map(([e, fault]) => fault + ": " + name(e)),
	]);
	window.focusLeft = () => wanted().filter((e) => !seen.has(e)).length;
	document.activeElement?.blur();
	return wanted().length;
})()`

// requireKeyboard presses Tab until each control of the page had the focus, and requires that each showed it.
func (b *tab) requireKeyboard() {
	b.t.Helper()
	var left int
	b.eval(watchFocus, &left)
	for pressed := 0; left > 0 && pressed < maxTabs; {
		presses := slices.Repeat(chromedp.Tasks{chromedp.KeyEvent(kb.Tab)}, min(left, 20))
		pressed += len(presses)
		b.run(presses)
		b.eval("window.focusLeft()", &left)
	}
	b.requireNone("window.focusFaults()", "controls that the keyboard does not reach or whose focus is not visible")
}

// requireNone requires that an expression, which returns a JSON array of texts, returns none.
func (b *tab) requireNone(expression, of string) {
	b.t.Helper()
	var raw string
	var found []string
	b.eval(expression, &raw)
	require.NoError(b.t, json.Unmarshal([]byte(raw), &found))
	require.Empty(b.t, found, "%s, at %s:\n%s", of, b.address(), strings.Join(found, "\n"))
}
