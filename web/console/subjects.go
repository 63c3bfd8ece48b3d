package console

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/models"
)

// subjectView is a subject with its history.
type subjectView struct {
	Subject  models.Subject
	Status   tag
	Enrolled tag
	Passkeys int
	Created  stamp
	Plots    []*plot // for wide and narrow windows; none without decisions
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
		Passkeys: seen.Passkeys, Created: now.at(seen.CreatedAt),
		More: v.at("decisions") + "?" + searchForm{Q: seen.ExternalID}.values(""),
	}
	for _, size := range []plotSize{widePlot, narrowPlot} {
		if drawn := plotOf(v, seen, now, size); drawn != nil {
			view.Plots = append(view.Plots, drawn)
		}
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
