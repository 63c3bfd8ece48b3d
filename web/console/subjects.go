package console

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/models"
)

// subjectView is a subject with its history.
type subjectView struct {
	Subject  models.Subject
	Status   tag
	Enrolled tag
	Passkeys int
	Created  stamp
	Plot     *plot // nil without decisions
	Rows     []decisionRow
	Sessions []sessionRow
	Entries  []entryRow
	More     string // URL of the search for all decisions
}

type sessionRow struct {
	ID                      string
	Started                 stamp
	Ended                   *stamp
	Status, Coverage, Trust tag
	Device                  string
	Windows                 int
	Active                  string
	Modalities              []string
}

type entryRow struct {
	At     stamp
	Type   string
	Facts  string
	URL    string
	Weight string // first part of the event type, for its CSS class
}

func (c *console) subject(v *visit) error {
	seen, err := c.Reader.Subject(v.ctx, v.scope(), v.param("subject"))
	if err != nil {
		return err
	}
	now := stamps{c.Clock.Now()}
	view := subjectView{
		Subject: seen.Subject, Status: tagOf(string(seen.Status)), Enrolled: tag{string(seen.Enrollment), enrollmentTone(seen.Enrollment)},
		Passkeys: seen.Passkeys, Created: now.at(seen.CreatedAt), Plot: plotOf(v, seen, now),
		More: v.at("decisions") + "?" + searchForm{Q: seen.ExternalID}.values(""),
	}
	for _, t := range seen.Decisions[:min(len(seen.Decisions), 25)] {
		view.Rows = append(view.Rows, c.decisionRow(v, t))
	}
	for _, s := range seen.Sessions {
		row := sessionRow{
			ID: s.ID, Started: now.at(s.StartedAt), Ended: now.maybe(s.EndedAt), Status: tagOf(string(s.Status)), Coverage: tagOf(s.Coverage),
			Trust: tagOf(s.TrustState), Device: s.DeviceClass, Windows: s.EvidenceWindows,
			Active: span(time.Duration(s.ActiveSeconds * float64(time.Second))), Modalities: s.Modalities,
		}
		view.Sessions = append(view.Sessions, row)
	}
	for _, e := range seen.Entries {
		view.Entries = append(view.Entries, entryOf(v, e, now))
	}
	return v.page(fiber.StatusOK, "subject.html", "Subject "+seen.ExternalID, "decisions", view)
}

func enrollmentTone(e models.EnrollmentState) string {
	if e == models.EnrollmentEnrolled {
		return "good"
	}
	return "warn"
}

// facts are the fields of an event's data that the timeline shows, in this order.
var facts = []string{"decision", "method", "strength", "outcome", "from", "to", "claim", "status", "resolved_by", "child_decision", "reason", "result"}

func entryOf(v *visit, e models.Event, now stamps) entryRow {
	row := entryRow{At: now.at(e.At), Type: e.Type}
	row.Weight, _, _ = strings.Cut(e.Type, ".")
	var data map[string]any
	if json.Unmarshal(e.Data, &data) == nil {
		if e.Decision != nil {
			data["decision"] = *e.Decision
		}
		var said []string
		for _, name := range facts {
			if word, ok := data[name].(string); ok && word != "" {
				said = append(said, plain(name)+" "+plain(word))
			}
		}
		row.Facts = strings.Join(said, ", ")
	}
	if e.AuthorizationID != nil {
		row.URL = v.at("decisions", *e.AuthorizationID)
	}
	return row
}

// profile is the part of a decision's assurance profile that the plot uses.
type profile struct {
	Coverage string `json:"coverage"`
	Claims   []struct {
		Claim  string `json:"claim"`
		Status string `json:"status"`
	} `json:"claims"`
}

func profileOf(t authorization.Trace) profile {
	var p profile
	_ = json.Unmarshal(t.Assurance, &p) // fields that a different version wrote may be missing
	return p
}

func coverageOf(t authorization.Trace) string { return profileOf(t).Coverage }

func (p profile) continuity() string {
	for _, c := range p.Claims {
		if c.Claim == "operator_continuity" {
			return c.Status
		}
	}
	return "insufficient_evidence"
}

// The levels of operator continuity and of coverage, lowest first.
var (
	continuityLevels = []string{"insufficient_evidence", "not_confirmed", "uncertain", "likely", "confirmed"}
	coverageLevels   = []string{"none", "sparse", "partial", "sufficient"}
)

// plot is a subject's continuity and coverage over time, in SVG coordinates.
type plot struct {
	Levels   []plotLevel
	Points   []plotPoint
	Trust    string // points of the trust score's polyline; empty for none
	Sessions []plotSpan
	Ticks    []plotTick
	Summary  string // text alternative
	From, To stamp
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

// The dimensions of the plot, in SVG units.
const (
	plotLeft, plotRight  = 150, 985
	plotTop, plotBottom  = 20, 170
	coverTop, coverFloor = 195, 235
)

// plotOf draws the plot of a subject; nil without decisions.
func plotOf(v *visit, s reads.Subject, now stamps) *plot {
	if len(s.Decisions) == 0 {
		return nil
	}
	from, to := extent(s, now)
	p := &plot{From: now.at(from), To: now.at(to)}
	x := func(t time.Time) int {
		return plotLeft + int(float64(plotRight-plotLeft)*float64(t.Sub(from))/float64(to.Sub(from)))
	}
	y := func(level int) int { return plotBottom - level*(plotBottom-plotTop)/(len(continuityLevels)-1) }
	for i, l := range continuityLevels {
		p.Levels = append(p.Levels, plotLevel{plain(l), y(i)})
	}
	seen := map[string]int{}
	for _, t := range slices.Backward(s.Decisions) {
		at := now.text(t.DecidedAt)
		if at == nil {
			continue
		}
		prof := profileOf(t)
		level := max(slices.Index(continuityLevels, prof.continuity()), 0)
		height := slices.Index(coverageLevels, prof.Coverage) * (coverFloor - coverTop) / (len(coverageLevels) - 1)
		seen[string(t.Decision)]++
		p.Points = append(p.Points, plotPoint{
			X: x(at.Time), Y: y(level), CoverageHeight: max(height, 1), CoverageY: coverFloor - max(height, 1), Decision: string(t.Decision),
			Label: at.Exact() + ": " + string(t.Decision) + ", continuity " + plain(prof.continuity()) + ", coverage " + prof.Coverage,
			URL:   v.at("decisions", t.ID),
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
func extent(s reads.Subject, now stamps) (from, to time.Time) {
	from, to = now.now, time.Time{}
	for _, t := range s.Decisions {
		if at := now.text(t.DecidedAt); at != nil {
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
			line = append(line, itoa(x(t.At))+","+itoa(plotBottom-int(*t.Score*float64(plotBottom-plotTop))))
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
	const n = 5
	for i := range n {
		at := from.Add(to.Sub(from) * time.Duration(i) / (n - 1))
		anchor := "middle"
		if i == n-1 {
			anchor = "end"
		}
		p.Ticks = append(p.Ticks, plotTick{x(at), at.UTC().Format(layout), anchor})
	}
}

func summary(seen map[string]int, n int) string {
	said := itoa(n) + " decisions"
	for _, d := range []string{"allow", "challenge", "hold", "deny"} {
		if seen[d] > 0 {
			said += ", " + itoa(seen[d]) + " " + d
		}
	}
	return said
}
