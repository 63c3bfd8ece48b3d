package console

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/store"
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
	Rows  []auditRow
	Next  string
	Actor string
	Type  string
	Links int64
	Since string
	Until string
	Fault string
}

// audit lists the sealed log, newest first.
func (c *console) audit(v *visit) error {
	view := auditView{Actor: v.query("actor"), Type: v.query("type"), Since: v.query("since"), Until: v.query("until")}
	f := store.AuditFilter{Actor: view.Actor, Type: view.Type}
	if f.Since, f.Until, view.Fault = window(view.Since, view.Until); view.Fault != "" {
		return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
	}
	links, reach, next, err := c.Reader.AuditEntries(v.ctx, v.scope(), f, store.Page{Limit: 100, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view.Links = reach.Links
	var actors []string
	for _, l := range links {
		actors = append(actors, l.Event.Actor)
	}
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
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
	if next != "" {
		view.Next = v.at("audit") + "?" + query(map[string]string{"actor": view.Actor, "type": view.Type, "since": view.Since, "until": view.Until, "cursor": next})
	}
	return v.page(fiber.StatusOK, "audit.html", "Audit log", "audit", view)
}
