package accuracy

import (
	"fmt"
	"html"
	"math"
	"sort"
	"strings"
)

// curvePoints is how many points a curve is drawn with.
const curvePoints = 120

// tradeOff computes a DET curve (Martin et al. 1997) from pooled scores, at false
// match rates spaced evenly on the probit scale. Each point is [false match rate,
// false non-match rate].
func tradeOff(genuine, impostor []float64) [][2]float64 {
	if len(genuine) == 0 || len(impostor) == 0 {
		return nil
	}
	g, i := sorted(genuine), sorted(impostor)
	var out [][2]float64
	for k := range curvePoints {
		fmr := phi(-3.3 + 4.2*float64(k)/(curvePoints-1))
		t := quantile(i, 1-fmr)
		fnmr := float64(sort.Search(len(g), func(j int) bool { return g[j] > t })) / float64(len(g))
		out = append(out, [2]float64{fmr, fnmr})
	}
	return out
}

// phi is the distribution function of the standard normal distribution.
func phi(z float64) float64 { return .5 * math.Erfc(-z/math.Sqrt2) }

// probit is the inverse of phi, bounded so that rates of 0 and 1 stay on the plot.
func probit(p float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*math.Min(math.Max(p, 3e-4), .9997)-1)
}

const (
	// in pixels
	svgSize, svgMargin = 480.0, 56.0
	// range of both axes, as rates
	axisLow, axisHigh    = 5e-4, .5
	strokeWidth, opacity = 1.6, .9
)

// axis maps a rate to its position between 0 and 1 on a probit axis.
func axis(p float64) float64 {
	lo, hi := probit(axisLow), probit(axisHigh)
	return math.Min(math.Max((probit(p)-lo)/(hi-lo), 0), 1)
}

// DET draws curves on probit axes as a self-contained SVG, without scripts or
// references to other files.
func DET(curves []Curve) string {
	colours := []string{"#0b5fa5", "#c4472b", "#2d8659", "#7d4fb3", "#b37a00", "#444444"}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`, svgSize+220, svgSize+20)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>`)
	plot := svgSize - 2*svgMargin
	x := func(p float64) float64 { return svgMargin + plot*axis(p) }
	y := func(p float64) float64 { return svgSize - svgMargin - plot*axis(p) }
	for _, p := range []float64{.001, .005, .01, .02, .05, .1, .2, .4} {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1fM%.1f %.1fH%.1f" stroke="#ddd"/>`, x(p), y(axisLow), y(axisHigh), x(axisLow), y(p), x(axisHigh))
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%g %%</text>`, x(p), y(axisLow)+16, 100*p)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%g %%</text>`, x(axisLow)-6, y(p)+4, 100*p)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">false match rate</text>`, svgSize/2, svgSize-12)
	fmt.Fprintf(&b, `<text x="14" y="%.1f" text-anchor="middle" transform="rotate(-90 14 %.1f)">false non-match rate</text>`, svgSize/2, svgSize/2)
	for k, c := range curves {
		colour := colours[k%len(colours)]
		var path strings.Builder
		for i, p := range c.Points {
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x(p[0]), y(p[1]))
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" opacity="%g"/>`, path.String(), colour, strokeWidth, opacity)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="%s">%s</text>`, svgSize-svgMargin+16, 70+16*k, colour, html.EscapeString(c.Case))
	}
	if len(curves) > 0 {
		fmt.Fprintf(&b, `<text x="%.1f" y="30" font-size="13">%s</text>`, svgMargin, html.EscapeString(curves[0].Protocol+", "+curves[0].Set))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
