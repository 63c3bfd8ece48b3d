package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// listHandlers serve the lists that rules read.
type listHandlers struct {
	Lists   *lists.Service
	Changes *change.Service
}

func viewList(l models.List) wire.NamedList {
	return wire.NamedList{
		ID: l.ID, Name: l.Name, Kind: string(l.Kind), Personal: l.Personal, Description: l.Description, Version: l.Version, Entries: l.Entries,
		CreatedAt: wire.Time(l.CreatedAt), CreatedBy: l.CreatedBy,
	}
}

func viewListEntry(e models.ListEntry) wire.NamedListEntry {
	return wire.NamedListEntry{
		ID: e.ID, Value: e.Value, Reason: e.Reason, ExpiresAt: (*wire.Time)(e.ExpiresAt), AddedAt: wire.Time(e.AddedAt), AddedBy: e.AddedBy,
	}
}

func (h *listHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Lists.List(request.Context(c), request.Principal(c).Store(), page(c))
	return replyList(c, viewList, rows, next, err)
}

func (h *listHandlers) get(c *fiber.Ctx) error {
	l, err := h.Lists.Get(request.Context(c), request.Principal(c).Store(), c.Params("list_id"))
	return replyView(c, fiber.StatusOK, viewList, l, err)
}

func (h *listHandlers) create(c *fiber.Ctx) error {
	draft, err := bind[lists.Draft](c)
	if err != nil {
		return err
	}
	by := lists.By{Actor: request.Principal(c).Actor(), RequestID: request.Principal(c).RequestID}
	l, err := h.Lists.Create(request.Context(c), request.Principal(c).Store(), by, draft)
	return replyView(c, fiber.StatusCreated, viewList, l, err)
}

func (h *listHandlers) remove(c *fiber.Ctx) error {
	made, err := h.Changes.DeleteList(request.Context(c), request.Principal(c).Store(), byCaller(c), c.Params("list_id"))
	return replyRemoved(c, made, err)
}

func (h *listHandlers) entries(c *fiber.Ctx) error {
	rows, next, err := h.Lists.Entries(request.Context(c), request.Principal(c).Store(), c.Params("list_id"), c.Query("value"), page(c))
	return replyList(c, viewListEntry, rows, next, err)
}

func (h *listHandlers) change(c *fiber.Ctx) error {
	body, err := bind[wire.NamedListChange](c)
	if err != nil {
		return err
	}
	edit := lists.Edit{Remove: body.Remove}
	for _, a := range body.Add {
		edit.Add = append(edit.Add, lists.NewEntry{Value: a.Value, Reason: a.Reason, ExpiresAt: a.ExpiresAt.Time()})
	}
	made, err := h.Changes.ChangeList(request.Context(c), request.Principal(c).Store(), byCaller(c), c.Params("list_id"), edit)
	return replyMade(c, fiber.StatusOK, viewList, made, err)
}
