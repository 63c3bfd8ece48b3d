package features_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

var update = flag.Bool("update", false, "rewrite golden files")

// goldenCase is one set of synthetic raw events and the features object they must give, in Go and in the browser.
type goldenCase struct {
	Name     string          `json:"name"`
	ClockMS  float64         `json:"clock_ms"`
	Keys     []goldenKey     `json:"keys,omitempty"`
	Pointer  []goldenPointer `json:"pointer,omitempty"`
	Scroll   []goldenScroll  `json:"scroll,omitempty"`
	Features json.RawMessage `json:"features"`
}

type goldenKey struct {
	Code    string  `json:"code"`
	Press   float64 `json:"press"`
	Release float64 `json:"release"`
}

type goldenPointer struct {
	Type   string  `json:"type"`
	T      float64 `json:"t"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Button int     `json:"button"`
}

type goldenScroll struct {
	T  float64 `json:"t"`
	DX float64 `json:"dx"`
	DY float64 `json:"dy"`
}

// lcg is a tiny generator so that the golden input never changes with a library.
type lcg uint64

func (g *lcg) next() float64 {
	*g = *g*6364136223846793005 + 1442695040888963407
	return float64(uint64(*g)>>40) / (1 << 24)
}

const goldenPath = "testdata/golden_extraction.json"

func goldenInputs() []goldenCase {
	g := lcg(7)
	return []goldenCase{
		{Name: "typing with shift, punctuation and corrections", ClockMS: 1, Keys: syntheticKeys(&g, 70)},
		{Name: "pointer with strokes, clicks and a drag", ClockMS: 1, Pointer: syntheticPointer(&g, 360)},
		{Name: "everything at once", ClockMS: 0.1, Keys: syntheticKeys(&g, 45), Pointer: syntheticPointer(&g, 200), Scroll: syntheticScroll(&g, 40)},
		{Name: "three keys", Keys: syntheticKeys(&g, 3)},
		{Name: "coarse clock", ClockMS: 100, Keys: coarse(syntheticKeys(&g, 60))},
	}
}

func syntheticKeys(g *lcg, n int) []goldenKey {
	codes := []string{"KeyT", "KeyH", "KeyE", "Space", "KeyQ", "KeyU", "KeyI", "KeyC", "KeyK", "Space", "ShiftLeft", "KeyB", "KeyR",
		"KeyO", "KeyW", "KeyN", "Comma", "Space", "KeyF", "KeyO", "KeyX", "Backspace", "Backspace", "KeyZ", "Digit4", "Enter",
		"KeyL", "KeyL", "CapsLock", "KeyA", "KeyS", "KeyD", "KeyP", "KeyY", "KeyG", "Period", "F5", "KeyM", "KeyV", "KeyJ"}
	out := make([]goldenKey, n)
	t := 1000.0
	for i := range out {
		hold := math.Round(40 + 120*g.next())
		if g.next() < .03 {
			hold = 0
		}
		out[i] = goldenKey{codes[int(g.next()*float64(len(codes)))], t, t + hold}
		t += math.Round(30 + 260*g.next()*g.next()*2)
		if g.next() < .06 {
			t += math.Round(400 + 1500*g.next())
		}
	}
	return out
}

func coarse(keys []goldenKey) []goldenKey {
	for i := range keys {
		keys[i].Press = math.Floor(keys[i].Press/100) * 100
		keys[i].Release = math.Floor(keys[i].Release/100) * 100
	}
	return keys
}

func syntheticPointer(g *lcg, n int) []goldenPointer {
	t, x, y, heading, speed := 2000.0, 400.0, 300.0, 0.3, 1.0
	var out []goldenPointer
	emit := func(kind string, button int) {
		out = append(out, goldenPointer{kind, t, math.Round(x), math.Round(y), button})
	}
	held := false
	for len(out) < n {
		switch r := g.next(); {
		case r < .02:
			t += math.Round(110 + 700*g.next())
			heading += 3 * (g.next() - .5)
		case r < .03 && !held:
			t += 20
			emit("press", int(g.next()*1.2)*2)
			held = g.next() < .5
			if !held {
				t += math.Round(60 + 80*g.next())
				emit("release", 0)
			}
		case r < .06 && held:
			t += 15
			emit("release", 0)
			held = false
		}
		t += math.Round(7 + 12*g.next())
		heading += .6 * (g.next() - .5)
		speed = math.Abs(speed + .8*(g.next()-.5))
		x, y = x+14*speed*math.Cos(heading), y+14*speed*math.Sin(heading)
		if held {
			emit("drag", 0)
		} else {
			emit("move", 0)
		}
	}
	return out
}

func syntheticScroll(g *lcg, n int) []goldenScroll {
	t := 1500.0
	out := make([]goldenScroll, n)
	for i := range out {
		t += math.Round(10 + 30*g.next())
		if g.next() < .15 {
			t += math.Round(250 + 900*g.next())
		}
		out[i] = goldenScroll{t, math.Round(4 * (g.next() - .5)), math.Round(240 * (g.next() - .3))}
	}
	return out
}

func (c goldenCase) raw() features.Raw {
	raw := features.Raw{ClockMS: c.ClockMS}
	for _, k := range c.Keys {
		raw.Keys = append(raw.Keys, features.KeyEvent{Key: features.KeyName(k.Code), Press: k.Press, Release: k.Release})
	}
	kinds := map[string]features.PointerKind{"move": features.PointerMove, "drag": features.PointerDrag,
		"press": features.PointerPress, "release": features.PointerRelease}
	for _, p := range c.Pointer {
		raw.Pointer = append(raw.Pointer, features.PointerEvent{T: p.T, X: p.X, Y: p.Y, Kind: kinds[p.Type], Right: p.Button == 2})
	}
	for _, s := range c.Scroll {
		raw.Scroll = append(raw.Scroll, features.ScrollEvent{T: s.T, DX: s.DX, DY: s.DY})
	}
	return raw
}

func TestExtractionMatchesGolden(t *testing.T) {
	t.Parallel()
	if *update {
		writeGolden(t)
	}
	data, err := os.ReadFile(goldenPath)
	require.NoError(t, err)
	var file struct {
		Cases []goldenCase `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		got, err := json.Marshal(features.Extract(c.raw()))
		require.NoError(t, err)
		require.JSONEq(t, string(c.Features), string(got), c.Name)
	}
}

func writeGolden(t *testing.T) {
	t.Helper()
	cases := goldenInputs()
	for i := range cases {
		body, err := json.Marshal(features.Extract(cases[i].raw()))
		require.NoError(t, err)
		cases[i].Features = body
	}
	body, err := json.MarshalIndent(map[string]any{"feature_schema_version": features.SchemaVersion,
		"note": "made-up events; means may differ by 0.01 where a value lies on a rounding edge", "cases": cases}, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(goldenPath, append(body, '\n'), 0o644))
}
