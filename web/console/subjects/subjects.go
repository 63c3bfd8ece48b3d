package subjects

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// subjectView is a subject with its history.
type subjectView struct {
	Subject  models.Subject
	Status   show.Tag
	Enrolled show.Tag
	Passkeys int
	Created  show.Stamp
	Plots    []*plot // for wide and narrow windows; none without decisions
	Rows     []decisions.DecisionRow
	Standing []standingRow
	Sessions []sessionRow
	Entries  []entryRow
	More     string // URL of the search for all decisions
}

// standingRow is a standing approval of the subject.
type standingRow struct {
	standing.View
	State  show.Tag
	Ends   *show.Stamp
	Why    string // it has ended; empty otherwise
	Revoke string // URL of the form; empty if there is nothing to revoke, or for a user who does not
}

// standingPage is how many standing approvals the page shows, the newest.
const standingPage = 20

func (c *Pages) standingRows(v *shell.Visit, subject string, now show.Stamps) ([]standingRow, error) {
	views, _, err := c.Standing.List(v.Context, v.Scope(), subject, pg.Page{Limit: standingPage})
	if err != nil {
		return nil, err
	}
	tones := map[string]string{string(models.StandingActive): "good", string(models.StandingPending): "warn", standing.StatusUsedUp: "warn"}
	out := make([]standingRow, len(views))
	for i, s := range views {
		out[i] = standingRow{View: s, State: show.Tag{Text: show.Plain(s.Status), Tone: tones[s.Status]}, Ends: now.Text(s.EndsAt)}
		if s.EndReason != nil {
			out[i].Why = show.Plain(*s.EndReason)
		}
		if v.May(shell.ActivatePolicies) && (s.Live() || s.Status == string(models.StandingPending)) {
			out[i].Revoke = v.At("standing", s.ID, "revoke")
		}
	}
	return out, nil
}

// revokeStanding ends a standing approval, and returns to its subject.
func (c *Pages) revokeStanding(v *shell.Visit) error {
	ended, err := c.Standing.Revoke(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	return v.Back("subjects", ended.Subject)
}

type sessionRow struct {
	ID                      string
	Started                 show.Stamp
	Ended                   *show.Stamp
	Status, Coverage, Trust show.Tag
	Device                  string
	Windows                 int
	Active                  string
	Modalities              []string
}

type entryRow struct {
	At     show.Stamp
	Type   string
	Facts  string
	URL    string
	Weight string // first part of the event type, for its CSS class
}

func (c *Pages) subject(v *shell.Visit) error {
	seen, err := c.Reader.Subject(v.Context, v.Scope(), v.Param("subject"))
	if err != nil {
		return err
	}
	now := show.Stamps{Now: c.Clock.Now()}
	view := subjectView{
		Subject: seen.Subject, Status: show.TagOf(string(seen.Status)), Enrolled: show.Tag{Text: string(seen.Enrollment), Tone: enrollmentTone(seen.Enrollment)},
		Passkeys: seen.Passkeys, Created: now.At(seen.CreatedAt),
		More: v.At("decisions") + "?" + decisions.SearchForm{Q: seen.ExternalID}.Values(""),
	}
	for _, size := range []plotSize{widePlot, narrowPlot} {
		if drawn := plotOf(v, seen, now, size); drawn != nil {
			view.Plots = append(view.Plots, drawn)
		}
	}
	if view.Rows, err = c.DecisionPages.DecisionRows(v, seen.Decisions[:min(len(seen.Decisions), 25)]); err != nil {
		return err
	}
	if view.Standing, err = c.standingRows(v, seen.ExternalID, now); err != nil {
		return err
	}
	for _, s := range seen.Sessions {
		row := sessionRow{
			ID: s.ID, Started: now.At(s.StartedAt), Ended: now.Maybe(s.EndedAt), Status: show.TagOf(string(s.Status)), Coverage: show.TagOf(s.Coverage),
			Trust: show.TagOf(s.TrustState), Device: s.DeviceClass, Windows: s.EvidenceWindows,
			Active: show.Span(time.Duration(s.ActiveSeconds * float64(time.Second))), Modalities: s.Modalities,
		}
		view.Sessions = append(view.Sessions, row)
	}
	for _, e := range seen.Entries {
		view.Entries = append(view.Entries, entryOf(v, e, now))
	}
	return v.Page(fiber.StatusOK, "subject.html", "Subject "+seen.ExternalID, "decisions", view)
}

func enrollmentTone(e models.EnrollmentState) string {
	if e == models.EnrollmentEnrolled {
		return "good"
	}
	return "warn"
}

// facts are the fields of an event's data that the timeline shows, in this order.
var facts = []string{"decision", "method", "strength", "outcome", "from", "to", "claim", "status", "resolved_by", "child_decision", "reason", "result"}

func entryOf(v *shell.Visit, e models.Event, now show.Stamps) entryRow {
	row := entryRow{At: now.At(e.At), Type: e.Type}
	row.Weight, _, _ = strings.Cut(e.Type, ".")
	var data map[string]any
	if json.Unmarshal(e.Data, &data) == nil {
		if e.Decision != nil {
			data["decision"] = *e.Decision
		}
		var said []string
		for _, name := range facts {
			if word, ok := data[name].(string); ok && word != "" {
				said = append(said, show.Plain(name)+" "+show.Plain(word))
			}
		}
		row.Facts = strings.Join(said, ", ")
	}
	if e.AuthorizationID != nil {
		row.URL = v.At("decisions", *e.AuthorizationID)
	}
	return row
}
