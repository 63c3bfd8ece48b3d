package subjects

import (
	"slices"
	"strconv"
	"strings"
	"time"

	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// plot is a subject's continuity and coverage over time, in SVG coordinates.
type plot struct {
	plotSize
	Levels   []plotLevel
	Points   []plotPoint
	Trust    string // points of the trust score's polyline; empty for none
	Sessions []plotSpan
	Ticks    []plotTick
	Summary  string // text alternative
	From, To show.Stamp
}

type plotLevel struct {
	Label string
	Y     int
}

type plotPoint struct {
	X, Y, CoverageHeight, CoverageY int
	Decision, Label, URL            string
}

type plotSpan struct{ X, Width int }

type plotTick struct {
	X             int
	Label, Anchor string
}

// plotSize is the width of a plot with its margins, in SVG units, and how much it shows.
type plotSize struct {
	Class              string
	Width, Left, Right int
	Marks              int // times on the axis, at most
	decisions          int // the newest ones
}

// A phone shows fewer decisions, with their levels inside of the plot, so that letters have the size of the text around them.
var (
	widePlot   = plotSize{Class: "wide-plot", Width: 1000, Left: 150, Right: 985, Marks: 5, decisions: 200}
	narrowPlot = plotSize{Class: "narrow-plot", Width: 340, Left: 10, Right: 330, Marks: 3, decisions: 12}
)

// The heights of the parts of the plot, in SVG units.
const (
	plotTop, plotBottom  = 20, 170
	coverTop, coverFloor = 195, 235
)

// plotOf draws the plot of a subject's newest decisions; nil without decisions.
func plotOf(v *shell.Visit, s reads.Subject, now show.Stamps, size plotSize) *plot {
	if len(s.Decisions) == 0 {
		return nil
	}
	s.Decisions = s.Decisions[:min(len(s.Decisions), size.decisions)]
	from, to := extent(s, now)
	p := &plot{plotSize: size, From: now.At(from), To: now.At(to)}
	x := func(t time.Time) int {
		return size.Left + int(float64(size.Right-size.Left)*float64(t.Sub(from))/float64(to.Sub(from)))
	}
	y := func(level int) int {
		return plotBottom - level*(plotBottom-plotTop)/(len(decisions.ContinuityLevels)-1)
	}
	for i, l := range decisions.ContinuityLevels {
		p.Levels = append(p.Levels, plotLevel{show.Plain(l), y(i)})
	}
	seen := map[string]int{}
	for _, t := range slices.Backward(s.Decisions) {
		at := now.Text(t.DecidedAt)
		if at == nil {
			continue
		}
		prof := decisions.ProfileOf(t)
		level := max(slices.Index(decisions.ContinuityLevels, prof.Continuity()), 0)
		height := slices.Index(decisions.CoverageLevels, prof.Coverage) * (coverFloor - coverTop) / (len(decisions.CoverageLevels) - 1)
		seen[string(t.Decision)]++
		p.Points = append(p.Points, plotPoint{
			X: x(at.Time), Y: y(level), CoverageHeight: max(height, 1), CoverageY: coverFloor - max(height, 1), Decision: string(t.Decision),
			Label: at.Exact() + ": " + string(t.Decision) + ", continuity " + show.Plain(prof.Continuity()) + ", coverage " + prof.Coverage,
			URL:   v.At("decisions", t.ID),
		})
	}
	for _, session := range s.Sessions {
		end := session.LastActivityAt
		if session.EndedAt != nil {
			end = *session.EndedAt
		}
		if start := session.StartedAt; !end.Before(from) && !start.After(to) {
			left := x(later(start, from))
			p.Sessions = append(p.Sessions, plotSpan{left, max(x(earlier(end, to))-left, 2)})
		}
	}
	p.trust(s.Trust, x, from, to)
	p.ticks(from, to, x)
	p.Summary = summary(seen, len(p.Points))
	return p
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// extent returns the time range of the plot: from the first to the last decision, with a margin.
func extent(s reads.Subject, now show.Stamps) (from, to time.Time) {
	from, to = now.Now, time.Time{}
	for _, t := range s.Decisions {
		if at := now.Text(t.DecidedAt); at != nil {
			from, to = earlier(from, at.Time), later(to, at.Time)
		}
	}
	margin := max(to.Sub(from)/20, time.Second)
	return from.Add(-margin), to.Add(margin)
}

// trust adds the line of the trust score for the sessions that have one.
func (p *plot) trust(points []reads.TrustPoint, x func(time.Time) int, from, to time.Time) {
	var line []string
	for _, t := range points {
		if t.Score != nil && !t.At.Before(from) && !t.At.After(to) {
			line = append(line, strconv.Itoa(x(t.At))+","+strconv.Itoa(plotBottom-int(*t.Score*float64(plotBottom-plotTop))))
		}
	}
	if len(line) > 1 {
		p.Trust = strings.Join(line, " ")
	}
}

func (p *plot) ticks(from, to time.Time, x func(time.Time) int) {
	layout := "2 Jan 15:04"
	if to.Sub(from) < 20*time.Hour {
		layout = "15:04:05"
	}
	last := ""
	for i := range p.Marks {
		at := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(p.Marks-1))
		label := at.UTC().Format(layout)
		if label == last { // a period shorter than the ticks' precision
			continue
		}
		last = label
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case p.Marks - 1:
			anchor = "end"
		}
		p.Ticks = append(p.Ticks, plotTick{x(at), label, anchor})
	}
}

func summary(seen map[string]int, n int) string {
	said := strconv.Itoa(n) + " decisions"
	for _, d := range []string{"allow", "challenge", "hold", "deny"} {
		if seen[d] > 0 {
			said += ", " + strconv.Itoa(seen[d]) + " " + d
		}
	}
	return said
}
