package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// hides types characters as a keyboard on a touch screen does: key events without a key, then the inserted character.
func (b *tab) hides(text string) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, letter := range text {
			for _, kind := range []input.KeyType{input.KeyRawDown, input.KeyUp} {
				event := keyEvent{Type: kind, Key: "Unidentified", VirtualKey: 229, Timestamp: float64(time.Now().UnixMicro()) / 1e6}
				if err := cdp.Execute(ctx, input.CommandDispatchKeyEvent, event, nil); err != nil {
					return err
				}
				if kind == input.KeyRawDown {
					if err := input.InsertText(string(letter)).Do(ctx); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}))
}

// begins agrees and waits for the first passage.
func (v *visit) begins() {
	v.tab.t.Helper()
	v.click("#agree")
	v.see("Passage 1 of 3")
	v.until("document.activeElement?.id === 'enroll-text'")
}

// A visitor whose keyboard hides its keys learns so within ten characters, and may watch a simulated typist instead.
func TestTryPageOffersASimulatedTypistToAHiddenKeyboard(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.size(390, 844)
	v.begins()
	v.hides("the quick ")
	v.see("This keyboard hides when its keys are pressed")
	v.requireFits()
	v.requireAccessible()
	v.screenshot("try-hidden-keyboard")
	v.click("#simulate")
	v.see("The simulated typist is recognised")
	v.until("document.querySelectorAll('#timeline circle').length >= 2")
	v.pay("allow")
	v.climax("Recognised.")
	v.handToStranger()
	v.see("A different simulated typist is typing")
	v.climax("Someone else.")
	v.requireFits()
	v.requireAccessible()
}

// Characters that are pasted or inserted have no timing, and the page says so.
func TestTryPageExplainsWhatHasNoTiming(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.begins()
	v.run(input.InsertText("a suggested sentence"))
	v.see("Text that appears at once")
	v.types(typist("petra").Type(8))
	var before, after float64
	v.eval("document.querySelector('#enroll-progress').value", &before)
	v.run(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, command := range []string{"selectAll", "copy", "paste", "paste"} {
			event := map[string]any{"type": "rawKeyDown", "commands": []string{command}}
			if err := cdp.Execute(ctx, input.CommandDispatchKeyEvent, event, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	v.see("Pasted text has no timing")
	v.eval("document.querySelector('#enroll-progress').value", &after)
	require.Equal(t, before, after)
}

// even returns keys at a constant pace, as a program presses them.
func even(n int) []features.KeyEvent {
	keys := make([]features.KeyEvent, n)
	for i := range keys {
		at := float64(i) * 90
		keys[i] = features.KeyEvent{Key: string("thequickbrownfoxjumps"[i%21]), Press: at, Release: at + 40}
	}
	return keys
}

// A program learns that it looks like one, before and after it is assessed.
func TestTryPageTellsAProgram(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.enrol(typist("paula"))
	v.types(even(12))
	v.see("This looks like a program")
	for range 3 {
		v.eval("document.querySelector('#free-text').focus()", nil)
		v.types(even(56))
	}
	v.until("document.querySelectorAll('#timeline circle').length >= 3")
	v.until(`document.querySelector("#climax").textContent.includes("This looks like a program")`)
}

// On a phone the result stands beside the text, without scrolling.
func TestTryPageShowsTheResultBesideTheText(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.size(390, 844)
	greta := typist("gustav")
	v.enrol(greta)
	v.write(greta)
	v.eval("window.scrollTo(0, 0)", nil)
	for _, selector := range []string{"#climax", "#free-text"} {
		var inside bool
		v.eval(`(() => { const box = document.querySelector("`+selector+`").getBoundingClientRect();
			return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight; })()`, &inside)
		require.True(t, inside, "%s is outside the window", selector)
	}
	require.Regexp(t, "It is you|Not sure yet", v.text("#climax"))
	v.screenshot("try-phone-result")
}

// A reload restores the frames, the plot, the decision and the step.
func TestTryPageSurvivesAReload(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	nora := typist("nora")
	v.begins()
	v.types(nora.Type(115))
	v.click("#next")
	v.see("Passage 2 of 3")
	v.run(reload)
	v.see("Passage 2 of 3")
	for n := 2; n <= 3; n++ {
		v.until("document.activeElement?.id === 'enroll-text'")
		v.types(nora.Type(115))
		v.click("#next")
		if n == 2 {
			v.see("Passage 3 of 3")
		}
	}
	v.see("Enrolled. Now type")
	v.write(nora)
	v.write(nora)
	v.pay("allow")
	const content = `JSON.stringify([document.querySelectorAll("#timeline circle").length,
		[...document.querySelectorAll("#frames pre")].map((e) => e.textContent), document.querySelector("#decision .outcome").textContent])`
	var before, after string
	v.eval(content, &before)
	v.run(reload)
	v.until(`document.querySelector("#decision .outcome")`)
	v.eval(content, &after)
	require.Equal(t, before, after)
	v.write(nora)
}

// Visitors see where to go next.
func TestTryPageEndsWithNextSteps(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.enrol(typist("nils"))
	var links []string
	v.eval(`[...document.querySelectorAll("#after a")].map((a) => a.getAttribute("href"))`, &links)
	require.Subset(t, links, []string{"/docs/guides/quickstart", "/docs", "/console"})
}
