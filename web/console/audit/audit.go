package audit

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

type auditRow struct {
	Seq      int64
	At       show.Stamp
	Type     string
	Sentence string       // what the actor did
	Fields   []auditField // what the entry says, changed ones first
	Who      show.Actor
	URL      string
	Short    string
	Erased   bool
}

// Changes returns the first fields that changed, for one line. Digests say nothing to people.
func (r auditRow) Changes() []auditField {
	changed := slices.DeleteFunc(slices.Clone(r.Fields), func(f auditField) bool { return !f.Changed || f.Name == digestLabel })
	return changed[:min(len(changed), 2)]
}

type auditView struct {
	Rows   []auditRow
	Next   string
	Actor  string
	Type   string
	Names  []string // of the people on the page, to choose from
	Types  []string
	Links  int64
	Since  string
	Until  string
	Fault  string
	Export exports.Links
	Verify string // URL that verifies the whole log
}

// auditFilter reads the filter of the URL. A fault is a message for the user.
func (c *Pages) auditFilter(v *shell.Visit) (f audit.Filter, fault string, err error) {
	if kind := v.Query("type"); kind != "" {
		if f.Types = typesNamed(kind); len(f.Types) == 0 {
			return f, "Nothing that is logged is described by these words. Use fewer or other words, such as \"approved hold\", or choose a type of the list.", nil
		}
	}
	if f.Since, f.Until, fault = forms.Window(v.Query("since"), v.Query("until")); fault != "" {
		return f, fault, nil
	}
	f.Actor, err = c.Reader.ActorNamed(v.Context, v.Grant.Environment.TenantID, v.Query("actor"))
	if f.Actor == "" && v.Query("actor") != "" {
		fault = "Actor is not the name of one person. Choose an actor of the list, such as person:prs_ and the rest of an id."
	}
	return f, fault, err
}

func actorsOf(links []audit.Link) []string {
	out := make([]string, len(links))
	for i, l := range links {
		out[i] = l.Event.Actor
	}
	return out
}

// auditPage is how many entries a page has. Each has all of its fields.
const auditPage = 50

// audit lists the sealed log, newest first.
func (c *Pages) audit(v *shell.Visit) error {
	f, fault, err := c.auditFilter(v)
	if err != nil {
		return err
	}
	view := auditView{
		Actor: v.Query("actor"), Type: v.Query("type"), Since: v.Query("since"), Until: v.Query("until"), Fault: fault, Verify: v.At("audit", "verify"), Types: eventTypes(),
	}
	if fault != "" {
		return v.Page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
	}
	links, reach, next, err := c.Reader.AuditEntries(v.Context, v.Scope(), f, pg.Page{Limit: auditPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	view.Links = reach.Links
	if err := c.auditRows(v, &view, links); err != nil {
		return err
	}
	q := shell.NonEmpty(map[string]string{"actor": view.Actor, "type": view.Type, "since": view.Since, "until": view.Until})
	view.Export = exports.Of(v, q, "audit")
	if next != "" {
		q.Set("cursor", next)
		view.Next = v.At("audit") + "?" + q.Encode()
	}
	return v.Page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
}

// auditRows adds the rows of a page.
func (c *Pages) auditRows(v *shell.Visit, view *auditView, links []audit.Link) error {
	people, payloads := actorsOf(links), make([]map[string]any, len(links))
	for i, l := range links {
		data, err := events.Payload(*l.Event)
		if err != nil {
			return err
		}
		payloads[i], people = data, append(people, peopleIn(data)...)
	}
	names, err := c.Reader.Names(v.Context, v.Grant.Environment.TenantID, people)
	if err != nil {
		return err
	}
	states, err := c.earlierStates(v, links)
	if err != nil {
		return err
	}
	now := show.Stamps{Now: c.Clock.Now()}
	for i, l := range links {
		data := payloads[i]
		row := auditRow{
			Seq: l.Seq, At: now.At(l.Event.At), Type: l.Event.Type, Sentence: sentenceOf(*l.Event, data, names), Fields: auditFields(data, states.before(l.Event.ID)),
			Who: show.ActorOf(l.Event.Actor, names), Erased: l.Event.ErasedAt != nil,
		}
		if id := l.Event.AuthorizationID; id != nil {
			row.URL, row.Short = v.At("decisions", *id), show.Short(*id)
		} else if id, ok := data["change"].(string); ok {
			row.URL, row.Short = v.At("changes", id), show.Short(id)
		}
		if row.Who.Kind != "person" {
			row.Who.Name = show.Short(row.Who.Name)
		} else if !slices.Contains(view.Names, row.Who.Name) {
			view.Names = append(view.Names, row.Who.Name)
		}
		view.Rows = append(view.Rows, row)
	}
	return nil
}
