package browser_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// finger makes the tab a phone's and taps the field, as a user does before the on-screen keyboard appears.
func (s *shop) finger(selector string) {
	s.tab.t.Helper()
	var at struct{ X, Y float64 }
	s.eval(`(() => { const r = document.querySelector('`+selector+`').getBoundingClientRect(); return { x: r.x + 5, y: r.y + 5 } })()`, &at)
	s.run(emulation.SetTouchEmulationEnabled(true), chromedp.ActionFunc(func(ctx context.Context) error {
		if err := input.DispatchTouchEvent(input.TouchStart, []*input.TouchPoint{{X: at.X, Y: at.Y}}).Do(ctx); err != nil {
			return err
		}
		return input.DispatchTouchEvent(input.TouchEnd, []*input.TouchPoint{}).Do(ctx)
	}))
	s.until("document.activeElement?.matches('" + selector + "')")
}

// taps composes a word letter by letter as Android's keyboards do: a key without code and key code 229, then the composition.
func (s *shop) taps(word string) {
	s.tab.t.Helper()
	s.run(chromedp.ActionFunc(func(ctx context.Context) error {
		for n := 1; n <= len(word); n++ {
			for _, step := range []func() error{
				func() error {
					return cdp.Execute(ctx, input.CommandDispatchKeyEvent, map[string]any{"type": "rawKeyDown", "windowsVirtualKeyCode": 229}, nil)
				},
				func() error { return input.ImeSetComposition(word[:n], int64(n), int64(n)).Do(ctx) },
				func() error {
					return cdp.Execute(ctx, input.CommandDispatchKeyEvent, map[string]any{"type": "keyUp", "windowsVirtualKeyCode": 229}, nil)
				},
			} {
				if err := step(); err != nil {
					return err
				}
			}
		}
		return input.InsertText(word).Do(ctx) // ends the composition
	}))
}

// inserted is text that appears at once, as a swiped or dictated word does.
func (s *shop) inserted(text string) {
	s.tab.t.Helper()
	s.run(input.InsertText(text))
}

// On a phone nothing is sent, and the decision asks for the passkey at once.
func TestCollectorSendsNothingOfAPhone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	session := s.beginOn("score", "mobile")
	pays := func() {
		key := s.world.action(t, "enforce", "Send a payment", "The money leaves.", object{"claims": object{"operator_continuity": "likely"}})
		a := s.world.post(t, "/api/v1/authorize", object{
			"subject": s.subject, "action": key, "audience": audience, "requested_at": time.Now().Unix(), "nonce": unique() + unique(), "idempotency_key": unique() + unique(),
			"actor": object{"type": "human", "id": s.subject}, "resource": object{"type": "resource", "id": "1"}, "session": session,
		}).is(200)
		require.Equal(t, "challenge", a.string("decision"))
		require.Contains(t, string(a.body), "touch_not_scored")
	}
	pays() // before anything was typed
	s.finger("#message")
	for _, word := range strings.Fields("please transfer that amount to the account before noon today") {
		s.taps(word)
	}
	var seen struct {
		Keyboard                     string
		Keys, Taps, Inserted, Pasted int
	}
	s.eval("collector.typing", &seen)
	require.Equal(t, "touch", seen.Keyboard)
	require.Zero(t, seen.Keys)
	require.GreaterOrEqual(t, seen.Taps, 45)
	require.Zero(t, seen.Pasted)

	s.inserted("seventeen ")
	s.inserted("thousand ")
	before := seen.Inserted
	s.eval("collector.typing", &seen)
	require.Equal(t, before+2, seen.Inserted)

	s.eval("collector.flush().then(() => 1)", nil)
	var sent []object
	s.eval("frames_", &sent)
	require.Empty(t, sent)
	require.Equal(t, "insufficient_evidence", s.continuity(session))
	pays()
}

func TestCollectorCountsPastes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.begin("score")
	s.types(typist("anna").Type(12))
	s.run(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, command := range []string{"selectAll", "copy", "paste"} {
			event := map[string]any{"type": "rawKeyDown", "commands": []string{command}}
			if err := cdp.Execute(ctx, input.CommandDispatchKeyEvent, event, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	s.until("collector.typing.pasted === 1")
	var keyboard string
	s.eval("collector.typing.keyboard", &keyboard)
	require.Equal(t, "physical", keyboard)
}
