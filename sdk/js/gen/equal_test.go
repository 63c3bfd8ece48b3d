package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// wild generates events that no person makes: anything that a keyboard and a mouse could report, ordered by time, with coarse
// and fine clocks.
type wild struct {
	*rand.Rand
	codes []string
}

type wildCase struct {
	ClockMS float64       `json:"clock_ms"`
	Keys    []wildKey     `json:"keys"`
	Pointer []wildPointer `json:"pointer"`
	Scroll  []wildScroll  `json:"scroll"`
}

type wildKey struct {
	Code    string  `json:"code"`
	Press   float64 `json:"press"`
	Release float64 `json:"release"`
}

type wildPointer struct {
	Type   string  `json:"type"`
	T      float64 `json:"t"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Button int     `json:"button"`
}

type wildScroll struct {
	T  float64 `json:"t"`
	DX float64 `json:"dx"`
	DY float64 `json:"dy"`
}

func (w wild) next(n int) wildCase {
	c := wildCase{ClockMS: []float64{.1, 1, 5, 16, 100}[w.IntN(5)]}
	tick := func(v float64) float64 { return math.Floor(v/c.ClockMS) * c.ClockMS }
	step := func(usual float64) float64 {
		if w.Float64() < .05 {
			return 4000 * w.Float64()
		}
		return usual * w.ExpFloat64()
	}
	at := 1000 * w.Float64()
	for range w.IntN(n) {
		at += step(140)
		c.Keys = append(c.Keys, wildKey{w.codes[w.IntN(len(w.codes))], tick(at), tick(at + step(90))})
	}
	at = 1000 * w.Float64()
	x, y := 500.0, 400.0
	for range w.IntN(3 * n) {
		at += step(14)
		x, y = math.Round(x+6*w.NormFloat64()*w.ExpFloat64()), math.Round(y+6*w.NormFloat64())
		kind := "move"
		switch r := w.Float64(); {
		case r < .04:
			kind = "press"
		case r < .08:
			kind = "release"
		case r < .2:
			kind = "drag"
		}
		c.Pointer = append(c.Pointer, wildPointer{kind, tick(at), x, y, 2 * w.IntN(2)})
	}
	at = 1000 * w.Float64()
	for range w.IntN(n / 2) {
		at += step(40)
		c.Scroll = append(c.Scroll, wildScroll{tick(at), math.Round(20 * w.NormFloat64()), math.Round(100 * w.NormFloat64())})
	}
	return c
}

func (c wildCase) raw() features.Raw {
	raw := features.Raw{ClockMS: c.ClockMS}
	for _, k := range c.Keys {
		raw.Keys = append(raw.Keys, features.KeyEvent{Key: features.KeyName(k.Code), Press: k.Press, Release: k.Release})
	}
	kinds := map[string]features.PointerKind{"move": features.PointerMove, "drag": features.PointerDrag, "press": features.PointerPress, "release": features.PointerRelease}
	for _, p := range c.Pointer {
		raw.Pointer = append(raw.Pointer, features.PointerEvent{T: p.T, X: p.X, Y: p.Y, Kind: kinds[p.Type], Right: p.Button == 2})
	}
	for _, s := range c.Scroll {
		raw.Scroll = append(raw.Scroll, features.ScrollEvent{T: s.T, DX: s.DX, DY: s.DY})
	}
	return raw
}

// The page computes the same features as the service, far from the golden cases too. The libraries' logarithms and angles differ
// in their last bit, so a mean on a rounding edge may differ by a hundredth, and that bit alone decides whether a pointer that
// reverses has turned left or right.
func TestThePageComputesWhatTheServiceComputes(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../node_modules/esbuild"); err != nil {
		t.Skip("npm ci has not been run in sdk/js: make test-js does")
	}
	var tables features.Tables
	require.NoError(t, json.Unmarshal(features.CollectorTables(), &tables))
	w := wild{rand.New(rand.NewPCG(4, 2)), []string{"F13", "Unidentified"}}
	for code := range tables.Codes {
		w.codes = append(w.codes, code)
	}
	slices.Sort(w.codes)
	const cases = 400
	var input bytes.Buffer
	want := make([]features.Frame, cases)
	for i := range cases {
		c := w.next(120)
		line, err := json.Marshal(c)
		require.NoError(t, err)
		input.Write(append(line, '\n'))
		want[i] = features.Extract(c.raw())
	}
	cmd := exec.CommandContext(t.Context(), "node", "scripts/extract.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = "..", &input, os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	edges, cells := 0, 0
	for i := range cases {
		require.True(t, lines.Scan())
		tree, err := strictjson.Decode(lines.Bytes(), strictjson.Limits{AnyFinite: true})
		require.NoError(t, err)
		parsed := features.Read(tree)
		require.NotEqual(t, features.Rejected, parsed.Status, "case %d: %s", i, parsed.Detail)
		edges += differences(t, fmt.Sprint("case ", i), want[i], parsed.Frame)
		for _, b := range want[i].Blocks {
			cells += b.Cells.Filled()
		}
	}
	t.Logf("%d of %d cells lie on a rounding edge", edges, cells)
	require.Less(t, edges, cells/1000)
}

// differences requires two frames to be equal and counts the cells and scalars that differ by a hundredth.
func differences(t *testing.T, name string, want, got features.Frame) int {
	t.Helper()
	edges := 0
	near := func(what string, a, b float64) {
		within := .0101
		if what == "turnsgn" || what == "tflip" {
			within = .1
		}
		require.InDelta(t, a, b, within, "%s, %s", name, what)
		if a != b {
			edges++
		}
	}
	require.Equal(t, want.Present(), got.Present(), name)
	require.InDelta(t, want.ClockMS, got.ClockMS, 0)
	for m, b := range want.Blocks {
		other := got.Blocks[m]
		require.Equal(t, b.Events, other.Events, "%s, %s", name, m)
		require.InDelta(t, b.ActiveMS, other.ActiveMS, 1, "%s, %s", name, m)
		require.Equal(t, b.Cells.N, other.Cells.N, "%s, %s", name, m)
		for i, cell := range features.Cells(m) {
			near(cell.Name, b.Cells.M[i], other.Cells.M[i])
		}
	}
	require.Equal(t, want.Presence.Has, got.Presence.Has, name)
	for i, s := range features.PresenceScalars() {
		if want.Presence.Has != nil && want.Presence.Has[i] {
			near(s.Name, want.Presence.Values[i], got.Presence.Values[i])
		}
	}
	return edges
}
