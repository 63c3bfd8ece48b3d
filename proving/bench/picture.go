package bench

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/proving/loadgen"
)

// in pixels: two panels, latencies above and CPU below them
const (
	pictureWidth, pictureLeft = 720.0, 60.0
	latencyTop, latencyHeight = 40.0, 220.0
	cpuTop, cpuHeight         = 300.0, 90.0
)

// pictureColours are those of the curves, dark enough on white.
var pictureColours = []string{"#0b5fa5", "#c4472b", "#2d8659", "#7d4fb3", "#b37a00"}

// SVG draws the latencies of each second on a logarithmic axis, and the CPU of each process below them, as a self-contained picture
// without scripts.
func (t *Timeline) SVG(title string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	quantiles := []struct {
		name string
		of   float64
	}{{"p50", .5}, {"p99", .99}, {"maximum", 1}}
	curves := make([][]float64, len(quantiles)) // in ms
	low, high := math.Inf(1), 0.0
	for _, second := range t.seconds {
		r := loadgen.Result{Latencies: slices.Clone(second)}
		for i, q := range quantiles {
			v := ms(max(r.Quantile(q.of), time.Microsecond))
			curves[i] = append(curves[i], v)
			if len(second) > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	high = max(high, 10*low)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 430" font-family="sans-serif" font-size="11" role="img" aria-label="%s">`, html.EscapeString(title))
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>`)
	fmt.Fprintf(&b, `<text x="%g" y="20" font-size="13">%s</text>`, pictureLeft, html.EscapeString(title))
	t.drawMarks(&b)
	y := func(v float64) float64 {
		return latencyTop + latencyHeight*(math.Log10(high)-math.Log10(max(v, low)))/(math.Log10(high)-math.Log10(low))
	}
	for v := low; v < 1.001*high; v *= 10 {
		grid(&b, y(v), (time.Duration(v * float64(time.Millisecond))).String())
	}
	for i, q := range quantiles {
		t.curve(&b, curves[i], y, pictureColours[i])
		legend(&b, latencyTop+16*float64(i+1), pictureColours[i], q.name)
	}
	t.drawCPU(&b)
	for minute := 0; minute*60 <= len(t.seconds); minute++ {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d min</text>`, t.x(minute*60), cpuTop+cpuHeight+16, minute)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// x is the position of a second, from the left edge of the picture. Both
// panels have the same axis.
func (t *Timeline) x(second int) float64 {
	return pictureLeft + pictureWidth*float64(second)/float64(len(t.seconds))
}

// drawCPU draws the cores that each process used, by name, so that a burst
// of one can be seen below the latencies that it causes.
func (t *Timeline) drawCPU(b *strings.Builder) {
	most := 1.0
	var names []string
	for name, used := range t.cpu {
		names = append(names, name)
		most = max(most, math.Ceil(slices.Max(used)))
	}
	slices.Sort(names)
	y := func(v float64) float64 { return cpuTop + cpuHeight*(1-v/most) }
	grid(b, y(0), "0")
	grid(b, y(most), fmt.Sprintf("%g cores", most))
	for i, name := range names {
		colour := pictureColours[i%len(pictureColours)]
		t.curve(b, t.cpu[name], y, colour)
		legend(b, cpuTop+16*float64(i), colour, name)
	}
}

// drawMarks shades the seconds in which Postgres wrote a checkpoint or vacuumed.
func (t *Timeline) drawMarks(b *strings.Builder) {
	fills := map[string]string{"checkpoint": "#f3d3ca", "autovacuum": "#e8e8e8"}
	for i, name := range []string{"autovacuum", "checkpoint"} {
		for _, second := range t.marks[name] {
			fmt.Fprintf(b, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="%s"/>`,
				t.x(second), latencyTop, max(t.x(1)-t.x(0), 1), cpuTop+cpuHeight-latencyTop, fills[name])
		}
		fmt.Fprintf(b, `<rect x="%g" y="%g" width="10" height="10" fill="%s"/>`, pictureLeft+pictureWidth+14, latencyTop+71+16*float64(i), fills[name])
		legend(b, latencyTop+80+16*float64(i), "#444444", "\u2003"+name)
	}
}

// curve draws one value a second. Seconds without a value have the lowest
// of the axis: a gap would hide that nothing succeeded.
func (t *Timeline) curve(b *strings.Builder, values []float64, y func(float64) float64, colour string) {
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" points="`, colour)
	for i, v := range values {
		fmt.Fprintf(b, "%.1f,%.1f ", t.x(i), y(v))
	}
	b.WriteString(`"/>`)
}

// grid draws a horizontal line with its value, which is at most eight
// letters wide: the margin is as wide.
func grid(b *strings.Builder, y float64, label string) {
	fmt.Fprintf(b, `<path d="M%g %.1fh%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
		pictureLeft, y, pictureWidth, pictureLeft-6, y+4, label)
}

// legend names a curve, or the shade of seconds, at the right of the panel
// that it is in.
func legend(b *strings.Builder, y float64, colour, name string) {
	fmt.Fprintf(b, `<text x="%g" y="%g" fill="%s">%s</text>`, pictureLeft+pictureWidth+14, y, colour, html.EscapeString(name))
}
