package console

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

type auditRow struct {
	Seq    int64
	At     stamp
	Type   string
	About  string
	Who    actor
	URL    string
	Short  string
	Erased bool
}

type auditView struct {
	Rows   []auditRow
	Next   string
	Actor  string
	Type   string
	Links  int64
	Since  string
	Until  string
	Fault  string
	Export exportLinks
	Verify string // URL that verifies the whole log
}

// auditFilter reads the filter of the URL. A fault is a message for the user.
func (v *visit) auditFilter() (f audit.Filter, fault string) {
	f = audit.Filter{Actor: v.query("actor"), Type: v.query("type")}
	f.Since, f.Until, fault = window(v.query("since"), v.query("until"))
	return f, fault
}

func actorsOf(links []audit.Link) []string {
	out := make([]string, len(links))
	for i, l := range links {
		out[i] = l.Event.Actor
	}
	return out
}

// audit lists the sealed log, newest first.
func (c *console) audit(v *visit) error {
	f, fault := v.auditFilter()
	view := auditView{Actor: f.Actor, Type: f.Type, Since: v.query("since"), Until: v.query("until"), Fault: fault, Verify: v.at("audit", "verify")}
	if fault != "" {
		return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
	}
	links, reach, next, err := c.Reader.AuditEntries(v.ctx, v.scope(), f, pg.Page{Limit: 100, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view.Links = reach.Links
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actorsOf(links))
	if err != nil {
		return err
	}
	now := stamps{c.Clock.Now()}
	for _, l := range links {
		row := auditRow{Seq: l.Seq, At: now.at(l.Event.At), Type: l.Event.Type, Who: actorOf(l.Event.Actor, names), Erased: l.Event.ErasedAt != nil}
		if id := l.Event.AuthorizationID; id != nil {
			row.URL, row.Short = v.at("decisions", *id), short(*id)
		}
		view.Rows = append(view.Rows, row)
	}
	q := nonEmpty(map[string]string{"actor": view.Actor, "type": view.Type, "since": view.Since, "until": view.Until})
	view.Export = v.exports(q, "audit")
	if next != "" {
		q.Set("cursor", next)
		view.Next = v.at("audit") + "?" + q.Encode()
	}
	return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
}
