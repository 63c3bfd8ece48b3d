package lists

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/changes"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// listRow is one list of values that rules read.
type listRow struct {
	models.List
	URL     string
	By      show.Actor
	Created show.Stamp
}

// listsView is the page of the lists.
type listsView struct {
	shell.Paged
	Rows   []listRow
	Second bool // changes wait for a second approver
	Notice *show.Notice
	Export exports.Links
}

func (c *Pages) lists(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "lists", shell.ActivatePolicies, func(p pg.Page) ([]models.List, string, error) {
		return c.Lists.List(v.Context, v.Scope(), p)
	})
	if err != nil {
		return err
	}
	view := listsView{Paged: paged, Second: v.Grant.Environment.SecondApproverRequired, Export: exports.Of(v, nil, "lists")}
	if v.Query("done") == "deleted" {
		view.Notice = &show.Notice{Tone: "good", Text: "The list is deleted with its entries."}
	}
	if view.Rows, err = c.listRows(v, rows...); err != nil {
		return err
	}
	return v.Page(fiber.StatusOK, "lists.html", "Lists", "lists", view)
}

func (c *Pages) listRows(v *shell.Visit, rows ...models.List) ([]listRow, error) {
	actors := make([]string, len(rows))
	for i, l := range rows {
		actors[i] = l.CreatedBy
	}
	names, err := c.Reader.Names(v.Context, v.Grant.Environment.TenantID, actors)
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]listRow, len(rows))
	for i, l := range rows {
		out[i] = listRow{List: l, URL: v.At("lists", l.ID), By: show.ActorOf(l.CreatedBy, names), Created: now.At(l.CreatedAt)}
	}
	return out, err
}

// valueRow is one entry of a list.
type valueRow struct {
	models.ListEntry
	By      show.Actor
	Added   show.Stamp
	Expires *show.Stamp
	Expired bool       // decides nothing, and is deleted soon
	Remove  *forms.Ask // nil without the right
}

// listView is one list with a page of its entries.
type listView struct {
	Up      string // URL of the lists
	List    listRow
	Rows    []valueRow
	Value   string // that is searched for
	Next    string
	Add     string // URL; empty without the right
	Many    string // URL of the form for several values
	Asks    []forms.Ask
	Waiting []changes.ChangeRow // changes of the list that wait for a second approver
	Second  bool
	Notice  *show.Notice
	Export  exports.Links
}

func (c *Pages) list(v *shell.Visit) error {
	return c.showList(v, fiber.StatusOK, listNotice(v.Query("done")))
}

// listNotice says what became of the user's last form.
func listNotice(done string) *show.Notice {
	switch done {
	case "created":
		return &show.Notice{Tone: "good", Text: "The list is created. Rules can read it, and it has no entries yet."}
	case "added":
		return &show.Notice{Tone: "good", Text: "The value is in the list."}
	case "removed":
		return &show.Notice{Tone: "good", Text: "The entry was removed from the list."}
	default:
		return nil
	}
}

// entriesPage is the page size of the entries of a list.
const entriesPage = 50

func (c *Pages) showList(v *shell.Visit, status int, n *show.Notice) error {
	l, err := c.Lists.Get(v.Context, v.Scope(), v.Param("id"))
	if err != nil {
		return err
	}
	rows, err := c.listRows(v, l)
	if err != nil {
		return err
	}
	view := listView{Up: v.At("lists"), List: rows[0], Value: v.Query("value"), Second: v.Grant.Environment.SecondApproverRequired, Notice: n}
	filter := shell.NonEmpty(map[string]string{"value": view.Value})
	view.Export = exports.Of(v, filter, "lists", l.ID)
	if v.May(shell.ActivatePolicies) {
		view.Add, view.Many = v.At("lists", l.ID, "add"), v.At("lists", l.ID, "many")
		view.Asks = []forms.Ask{{ID: "delete", Label: "Delete", To: v.At("lists", l.ID, "delete"), Verb: "delete it", Danger: true,
			Text: "The list is deleted with its entries. A list that an active policy version reads cannot be deleted. This cannot be undone."}}
	}
	entries, next, err := c.Lists.Entries(v.Context, v.Scope(), l.ID, view.Value, pg.Page{Limit: entriesPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	if view.Rows, err = c.valueRows(v, l, entries); err != nil {
		return err
	}
	if next != "" {
		filter.Set("cursor", next)
		view.Next = v.At("lists", l.ID) + "?" + filter.Encode()
	}
	waiting, _, err := c.Changes.List(v.Context, v.Principal(), change.Filter{Status: models.ChangePending, Target: l.ID}, pg.Page{Limit: shell.ListPage})
	if err != nil {
		return err
	}
	names, err := c.ChangePages.ChangeNames(v, waiting...)
	if err != nil {
		return err
	}
	view.Waiting = c.ChangePages.ChangeRows(v, waiting, names)
	return v.Page(status, "list.html", l.Name, "lists", view)
}

func (c *Pages) valueRows(v *shell.Visit, l models.List, entries []models.ListEntry) ([]valueRow, error) {
	actors := make([]string, len(entries))
	for i, e := range entries {
		actors[i] = e.AddedBy
	}
	names, err := c.Reader.Names(v.Context, v.Grant.Environment.TenantID, actors)
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]valueRow, len(entries))
	for i, e := range entries {
		out[i] = valueRow{
			ListEntry: e, By: show.ActorOf(e.AddedBy, names), Added: now.At(e.AddedAt), Expires: now.Maybe(e.ExpiresAt), Expired: e.ExpiresAt != nil && !e.ExpiresAt.After(now.Now),
		}
		if v.May(shell.ActivatePolicies) {
			out[i].Remove = &forms.Ask{ID: "remove-" + e.ID, Label: "Remove", To: v.At("lists", l.ID, "entries", e.ID, "remove"), Verb: "remove it", Danger: true,
				Text: "Rules no longer find the value in the list."}
		}
	}
	return out, err
}

// listChanged redirects to the page of a list after a change of its entries.
func listChanged(v *shell.Visit, made change.Made[models.List], err error, id, done string) error {
	return v.Changed(made.Requested, err, v.At("lists", id)+"?done="+done)
}

// deleteList deletes a list. A refusal is shown on its page, with the policies that read it.
func (c *Pages) deleteList(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	made, err := c.Changes.DeleteList(v.Context, v.Scope(), v.Changer(), v.Param("id"))
	if p := problem.As(err); p != nil && p.Code == problem.Conflict {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showList(v, problem.Of(p.Code).Status, &show.Notice{Tone: "bad", Text: p.Detail})
	}
	return v.Changed(made.Requested, err, v.At("lists")+"?done=deleted")
}

func (c *Pages) listsExport(v *shell.Visit) (listexport.List, error) {
	scope := v.Scope()
	return listexport.List{
		Name:    "lists",
		Columns: []string{"id", "name", "kind", "personal", "description", "version", "entries", "created_at", "created_by"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]models.List, string, error) {
			return c.Lists.List(ctx, scope, p)
		}, func(l models.List) []any {
			return []any{l.ID, l.Name, string(l.Kind), l.Personal, l.Description, l.Version, l.Entries, l.CreatedAt, l.CreatedBy}
		}),
	}, nil
}

// entriesExport is the entries of a list. One of a personal list has no value.
func (c *Pages) entriesExport(v *shell.Visit) (listexport.List, error) {
	scope, id, value := v.Scope(), v.Param("id"), v.Query("value")
	if _, err := c.Lists.Get(v.Context, scope, id); err != nil {
		return listexport.List{}, err
	}
	said := exports.Said{"list=" + id}
	said.Value("value", value)
	return listexport.List{
		Name: "entries", Filters: said, Columns: []string{"id", "value", "reason", "expires_at", "added_at", "added_by"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]models.ListEntry, string, error) {
			return c.Lists.Entries(ctx, scope, id, value, p)
		}, func(e models.ListEntry) []any {
			return []any{e.ID, e.Value, e.Reason, e.ExpiresAt, e.AddedAt, e.AddedBy}
		}),
	}, nil
}
