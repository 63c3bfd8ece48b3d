package console

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

type auditRow struct {
	Seq      int64
	At       stamp
	Type     string
	Sentence string       // what happened
	Fields   []auditField // what the entry says, changed ones first
	Who      actor
	URL      string
	Short    string
	Erased   bool
}

// Changes returns the first fields that changed, for one line.
func (r auditRow) Changes() []auditField {
	n := slices.IndexFunc(r.Fields, func(f auditField) bool { return !f.Changed })
	if n < 0 {
		n = len(r.Fields)
	}
	return r.Fields[:min(n, 2)]
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
	Export exportLinks
	Verify string // URL that verifies the whole log
}

// auditFilter reads the filter of the URL. A fault is a message for the user.
func (v *visit) auditFilter() (f audit.Filter, fault string, err error) {
	f = audit.Filter{Type: v.query("type")}
	if f.Since, f.Until, fault = window(v.query("since"), v.query("until")); fault != "" {
		return f, fault, nil
	}
	f.Actor, err = v.console.Reader.ActorNamed(v.ctx, v.grant.Environment.TenantID, v.query("actor"))
	if f.Actor == "" && v.query("actor") != "" {
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
func (c *console) audit(v *visit) error {
	f, fault, err := v.auditFilter()
	if err != nil {
		return err
	}
	view := auditView{
		Actor: v.query("actor"), Type: f.Type, Since: v.query("since"), Until: v.query("until"), Fault: fault, Verify: v.at("audit", "verify"), Types: eventTypes(),
	}
	if fault != "" {
		return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
	}
	links, reach, next, err := c.Reader.AuditEntries(v.ctx, v.scope(), f, pg.Page{Limit: auditPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view.Links = reach.Links
	if err := c.auditRows(v, &view, links); err != nil {
		return err
	}
	q := nonEmpty(map[string]string{"actor": view.Actor, "type": view.Type, "since": view.Since, "until": view.Until})
	view.Export = v.exports(q, "audit")
	if next != "" {
		q.Set("cursor", next)
		view.Next = v.at("audit") + "?" + q.Encode()
	}
	return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
}

// auditRows adds the rows of a page.
func (c *console) auditRows(v *visit, view *auditView, links []audit.Link) error {
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actorsOf(links))
	if err != nil {
		return err
	}
	states, err := c.earlierStates(v, links)
	if err != nil {
		return err
	}
	now := stamps{c.Clock.Now()}
	for _, l := range links {
		data, err := events.Payload(*l.Event)
		if err != nil {
			return err
		}
		row := auditRow{
			Seq: l.Seq, At: now.at(l.Event.At), Type: l.Event.Type, Sentence: sentenceOf(l.Event.Type), Fields: auditFields(data, states.before(l.Event.ID)),
			Who: actorOf(l.Event.Actor, names), Erased: l.Event.ErasedAt != nil,
		}
		if id := l.Event.AuthorizationID; id != nil {
			row.URL, row.Short = v.at("decisions", *id), short(*id)
		} else if id, ok := data["change"].(string); ok {
			row.URL, row.Short = v.at("changes", id), short(id)
		}
		if row.Who.Kind != "person" {
			row.Who.Name = short(row.Who.Name)
		} else if !slices.Contains(view.Names, row.Who.Name) {
			view.Names = append(view.Names, row.Who.Name)
		}
		view.Rows = append(view.Rows, row)
	}
	return nil
}
