package browser_test

import (
	"context"
	"encoding/json"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// codes maps key names to KeyboardEvent.code.
var codes = sync.OnceValue(func() map[string]string {
	var tables struct{ Codes map[string]string }
	if err := json.Unmarshal(features.CollectorTables(), &tables); err != nil {
		panic(err)
	}
	byName := map[string]string{}
	for code, name := range tables.Codes {
		if known, ok := byName[name]; !ok || code < known {
			byName[name] = code
		}
	}
	return byName
})

// keyboard types into the focused element of a tab. Its events carry the typist's timestamps, which run ahead of the clock so that
// the test does not wait, and the page's clock keeps up with them (keepUp). They never lie before the page was opened.
type keyboard struct {
	b     *tab
	typed time.Time // when the last key was released
}

// types sends the key events with their times.
func (k *keyboard) types(keys []features.KeyEvent) {
	b := k.b
	b.t.Helper()
	zero := time.Now()
	if k.typed.After(zero) {
		zero = k.typed
	}
	first, last := keys[0].Press, 0.0
	for _, key := range keys {
		last = max(last, key.Release)
	}
	k.typed = zero.Add(time.Duration((last - first + 300) * float64(time.Millisecond)))
	zero = zero.Add(-time.Duration(first * float64(time.Millisecond)))
	type stroke struct {
		at   float64
		kind input.KeyType
		key  string
	}
	var strokes []stroke
	for _, key := range keys {
		strokes = append(strokes, stroke{key.Press, input.KeyDown, key.Key}, stroke{key.Release, input.KeyUp, key.Key})
	}
	sort.SliceStable(strokes, func(i, j int) bool { return strokes[i].at < strokes[j].at })
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, s := range strokes {
			at := zero.Add(time.Duration(s.at * float64(time.Millisecond)))
			event := keyEvent{Type: s.kind, Code: codes()[s.key], Timestamp: float64(at.UnixMicro()) / 1e6}
			event.label(s.key)
			if err := cdp.Execute(ctx, input.CommandDispatchKeyEvent, event, nil); err != nil {
				return err
			}
		}
		return nil
	}))
}

// keepUp lets the clock of the tab's pages jump to the time of each event that is ahead of it.
func keepUp() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{
			const now = performance.now.bind(performance);
			let ahead = 0;
			performance.now = () => now() + ahead;
			for (const type of ["keydown", "keyup"]) addEventListener(type, (e) => { ahead = Math.max(ahead, e.timeStamp - now()); }, true);
		}`).Do(ctx)
		return err
	})
}

// keyEvent is Input.dispatchKeyEvent. The library's own type rounds timestamps to whole seconds.
type keyEvent struct {
	Type       input.KeyType `json:"type"`
	Code       string        `json:"code"`
	Key        string        `json:"key"`
	Text       string        `json:"text,omitempty"`
	VirtualKey int           `json:"windowsVirtualKeyCode,omitempty"`
	Timestamp  float64       `json:"timestamp"` // Unix seconds
}

// label sets the key and the text of the event.
func (e *keyEvent) label(name string) {
	e.Key = strings.ToUpper(name[:1]) + name[1:]
	if text := map[string]string{"space": " ", "period": ".", "comma": ","}[name]; text != "" {
		e.Key = text
	} else if len(name) == 1 {
		e.Key = name
	}
	if len(e.Key) == 1 && e.Type == input.KeyDown {
		e.Text = e.Key
	}
	if name == "backspace" {
		e.VirtualKey = 8
	}
}

func TestKeyboardPreservesTypingTimes(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.expect("status of 404")
	b.open("/assets/nothing")
	b.eval(`window.seen = []; for (const type of ["keydown", "keyup"]) addEventListener(type, (e) => seen.push([type, e.code, e.timeStamp])); 1`, nil)
	keys := typist("anna").Type(20)
	(&keyboard{b: b}).types(keys)
	var seen [][]any
	b.eval("seen", &seen)
	require.Len(t, seen, 2*len(keys))
	var presses []float64
	for _, s := range seen {
		if s[0] == "keydown" {
			presses = append(presses, s[2].(float64))
		}
	}
	for i := 1; i < len(keys); i++ {
		require.InDelta(t, keys[i].Press-keys[i-1].Press, presses[i]-presses[i-1], 0.2)
	}
}
