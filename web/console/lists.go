package console

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// listRow is one list of values that rules read.
type listRow struct {
	models.List
	URL     string
	By      actor
	Created stamp
}

// listsView is the page of the lists.
type listsView struct {
	Rows   []listRow
	Next   string
	New    string // URL; empty without the right
	Second bool   // changes wait for a second approver
	Notice *notice
	Export exportLinks
}

func (c *console) lists(v *visit) error {
	rows, next, err := c.Lists.List(v.ctx, v.scope(), pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view := listsView{Second: v.grant.Environment.SecondApproverRequired, Export: v.exports(nil, "lists")}
	if v.query("done") == "deleted" {
		view.Notice = &notice{"good", "The list is deleted with its entries."}
	}
	if v.may(ChangeLists) {
		view.New = v.at("lists", "new")
	}
	if view.Rows, err = c.listRows(v, rows...); err != nil {
		return err
	}
	if next != "" {
		view.Next = v.at("lists") + "?cursor=" + url.QueryEscape(next)
	}
	return v.page(fiber.StatusOK, "lists.html", "Lists", "lists", view)
}

func (c *console) listRows(v *visit, rows ...models.List) ([]listRow, error) {
	actors := make([]string, len(rows))
	for i, l := range rows {
		actors[i] = l.CreatedBy
	}
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
	now := stamps{c.Clock.Now()}
	out := make([]listRow, len(rows))
	for i, l := range rows {
		out[i] = listRow{List: l, URL: v.at("lists", l.ID), By: actorOf(l.CreatedBy, names), Created: now.at(l.CreatedAt)}
	}
	return out, err
}

// valueRow is one entry of a list.
type valueRow struct {
	models.ListEntry
	By      actor
	Added   stamp
	Expires *stamp
	Expired bool // decides nothing, and is deleted soon
	Remove  *ask // nil without the right
}

// listView is one list with a page of its entries.
type listView struct {
	Up      string // URL of the lists
	List    listRow
	Rows    []valueRow
	Value   string // that is searched for
	Next    string
	Add     string // URL; empty without the right
	Asks    []ask
	Waiting []changeRow // changes of the list that wait for a second approver
	Second  bool
	Notice  *notice
	Export  exportLinks
}

func (c *console) list(v *visit) error {
	return c.showList(v, fiber.StatusOK, listNotice(v.query("done")))
}

// listNotice says what became of the user's last form.
func listNotice(done string) *notice {
	switch done {
	case "created":
		return &notice{"good", "The list is created. Rules can read it, and it has no entries yet."}
	case "added":
		return &notice{"good", "The value is in the list."}
	case "removed":
		return &notice{"good", "The entry is not in the list any more."}
	default:
		return nil
	}
}

// entriesPage is the page size of the entries of a list.
const entriesPage = 50

func (c *console) showList(v *visit, status int, n *notice) error {
	l, err := c.Lists.Get(v.ctx, v.scope(), v.param("id"))
	if err != nil {
		return err
	}
	rows, err := c.listRows(v, l)
	if err != nil {
		return err
	}
	view := listView{Up: v.at("lists"), List: rows[0], Value: v.query("value"), Second: v.grant.Environment.SecondApproverRequired, Notice: n}
	filter := nonEmpty(map[string]string{"value": view.Value})
	view.Export = v.exports(filter, "lists", l.ID)
	if v.may(ChangeLists) {
		view.Add = v.at("lists", l.ID, "add")
		view.Asks = []ask{{ID: "delete", Label: "Delete", To: v.at("lists", l.ID, "delete"), Verb: "delete it", Danger: true,
			Text: "The list is deleted with its entries. A list that an active policy version reads cannot be deleted. This cannot be undone."}}
	}
	entries, next, err := c.Lists.Entries(v.ctx, v.scope(), l.ID, view.Value, pg.Page{Limit: entriesPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	if view.Rows, err = c.valueRows(v, l, entries); err != nil {
		return err
	}
	if next != "" {
		filter.Set("cursor", next)
		view.Next = v.at("lists", l.ID) + "?" + filter.Encode()
	}
	waiting, _, err := c.Changes.List(v.ctx, v.principal(), change.Filter{Status: models.ChangePending, Target: l.ID}, pg.Page{Limit: listPage})
	if err != nil {
		return err
	}
	names, err := c.changeNames(v, waiting...)
	if err != nil {
		return err
	}
	view.Waiting = c.changeRows(v, waiting, names)
	return v.page(status, "list.html", l.Name, "lists", view)
}

func (c *console) valueRows(v *visit, l models.List, entries []models.ListEntry) ([]valueRow, error) {
	actors := make([]string, len(entries))
	for i, e := range entries {
		actors[i] = e.AddedBy
	}
	names, err := c.Reader.Names(v.ctx, v.grant.Environment.TenantID, actors)
	now := stamps{c.Clock.Now()}
	out := make([]valueRow, len(entries))
	for i, e := range entries {
		out[i] = valueRow{
			ListEntry: e, By: actorOf(e.AddedBy, names), Added: now.at(e.AddedAt), Expires: now.maybe(e.ExpiresAt), Expired: e.ExpiresAt != nil && !e.ExpiresAt.After(now.now),
		}
		if v.may(ChangeLists) {
			out[i].Remove = &ask{ID: "remove-" + e.ID, Label: "Remove", To: v.at("lists", l.ID, "entries", e.ID, "remove"), Verb: "remove it", Danger: true,
				Text: "Rules find the value in the list no more."}
		}
	}
	return out, err
}

// listChanged redirects to the page of a list after a change of its entries.
func (v *visit) listChanged(made change.Made[models.List], err error, id, done string) error {
	return v.changed(made.Requested, err, v.at("lists", id)+"?done="+done)
}

// deleteList deletes a list. A refusal is shown on its page, with the policies that read it.
func (c *console) deleteList(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	made, err := c.Changes.DeleteList(v.ctx, v.scope(), v.changer(), v.param("id"))
	if p := problem.As(err); p != nil && p.Code == problem.Conflict {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showList(v, problem.Of(p.Code).Status, &notice{"bad", p.Detail})
	}
	return v.changed(made.Requested, err, v.at("lists")+"?done=deleted")
}

func (c *console) listsExport(v *visit) (listexport.List, error) {
	scope := v.scope()
	return listexport.List{
		Name:    "lists",
		Columns: []string{"id", "name", "kind", "personal", "description", "version", "entries", "created_at", "created_by"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]models.List, string, error) {
			return c.Lists.List(ctx, scope, p)
		}, func(l models.List) []any {
			return []any{l.ID, l.Name, string(l.Kind), l.Personal, l.Description, l.Version, l.Entries, l.CreatedAt, l.CreatedBy}
		}),
	}, nil
}

// entriesExport is the entries of a list. One of a personal list has no value.
func (c *console) entriesExport(v *visit) (listexport.List, error) {
	scope, id, value := v.scope(), v.param("id"), v.query("value")
	if _, err := c.Lists.Get(v.ctx, scope, id); err != nil {
		return listexport.List{}, err
	}
	said := exportFilters{"list=" + id}
	said.value("value", value)
	return listexport.List{
		Name: "entries", Filters: said, Columns: []string{"id", "value", "reason", "expires_at", "added_at", "added_by"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]models.ListEntry, string, error) {
			return c.Lists.Entries(ctx, scope, id, value, p)
		}, func(e models.ListEntry) []any {
			return []any{e.ID, e.Value, e.Reason, e.ExpiresAt, e.AddedAt, e.AddedBy}
		}),
	}, nil
}
