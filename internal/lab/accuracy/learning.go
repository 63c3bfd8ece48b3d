package accuracy

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// learned is a figure by the number of people who enrolled in a played deployment.
type learned struct {
	name   string
	points [][2]float64 // [own people, value]
}

// learnedFigures are the figures of which learning curves are drawn: the name of the
// file, the title, and which figures are in it.
var learnedFigures = []struct {
	file, title string
	has         func(f Figure) bool
}{
	{"own-people.svg", "EER per user by the number of own people", func(f Figure) bool {
		return f.Metric == "EER per user" && (f.Protocol == "gallery" || strings.HasPrefix(f.Case, "3 sessions enrolled"))
	}},
	{"own-people-claims.svg", "Claims by the number of own people", func(f Figure) bool {
		return f.Protocol == "claims" && strings.HasPrefix(f.Case, fmt.Sprintf("frames %d", claimFrom)) &&
			(f.Metric == genuineTrusted || f.Metric == impostorRefused)
	}},
}

// learningCurves returns the figures for which has is true, by case and metric, with
// two and more numbers of own people.
func learningCurves(figures []Figure, has func(Figure) bool) []learned {
	var out []learned
	for _, f := range figures {
		of, people, ok := strings.Cut(f.Case, "; ")
		n, err := strconv.Atoi(strings.TrimSuffix(people, " own people"))
		if !ok || err != nil || !has(f) || math.IsNaN(float64(f.Value)) {
			continue
		}
		name := f.Set + ", " + of
		if f.Metric != "EER per user" {
			name = f.Metric
		}
		at := slices.IndexFunc(out, func(l learned) bool { return l.name == name })
		if at < 0 {
			at, out = len(out), append(out, learned{name: name})
		}
		out[at].points = append(out[at].points, [2]float64{float64(n), float64(f.Value)})
	}
	out = slices.DeleteFunc(out, func(l learned) bool { return len(l.points) < 2 })
	for _, l := range out {
		slices.SortFunc(l.points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	}
	return out
}

const (
	// in pixels
	learnedWidth, learnedHeight, learnedLeft, learnedTop = 440.0, 260.0, 60.0, 40.0
	// people at which the axis changes from linear to logarithmic
	learnedKnee = 10.0
)

// LearningCurve draws figures by the number of own people as a self-contained SVG.
func LearningCurve(title string, curves []learned) string {
	low, high, most := math.Inf(1), 0.0, 1.0
	for _, c := range curves {
		for _, p := range c.points {
			low, high, most = math.Min(low, p[1]), math.Max(high, p[1]), math.Max(most, p[0])
		}
	}
	low, high = math.Floor(low*50)/50, math.Ceil(high*50)/50
	x := func(n float64) float64 {
		return learnedLeft + learnedWidth*math.Log1p(n/learnedKnee)/math.Log1p(most/learnedKnee)
	}
	y := func(v float64) float64 { return learnedTop + learnedHeight*(high-v)/math.Max(high-low, .02) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 360" font-family="sans-serif" font-size="12" role="img" aria-label="%s">`, html.EscapeString(title))
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>`)
	fmt.Fprintf(&b, `<text x="%g" y="20" font-size="13">%s</text>`, learnedLeft, html.EscapeString(title))
	for v := low; v < high+.001; v += .02 {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fh%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%.0f %%</text>`,
			learnedLeft, y(v), learnedWidth, learnedLeft-6, y(v)+4, 100*v)
	}
	named := map[float64]bool{}
	colours := []string{"#0b5fa5", "#c4472b", "#2d8659", "#7d4fb3", "#b37a00", "#444444"}
	for k, c := range curves {
		colour, path := colours[k%len(colours)], ""
		for _, p := range c.points {
			path += fmt.Sprintf("%.1f,%.1f ", x(p[0]), y(p[1]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%g own people: %.2f %%</title></circle>`, x(p[0]), y(p[1]), colour, p[0], 100*p[1])
			if !named[p[0]] {
				named[p[0]] = true
				fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%g</text>`, x(p[0]), learnedTop+learnedHeight+18, p[0])
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.TrimSpace(path), colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`, learnedLeft+learnedWidth+14, learnedTop+16*float64(k+1), colour, html.EscapeString(c.name))
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">own people enrolled (0: the stated prior)</text></svg>`+"\n",
		learnedLeft+learnedWidth/2, learnedTop+learnedHeight+38)
	return b.String()
}
