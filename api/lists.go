package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// listHandlers serve the lists that rules read.
type listHandlers struct {
	Lists   *lists.Service
	Changes *change.Service
}

type listView struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Kind        models.ListKind `json:"kind"`
	Personal    bool            `json:"personal"`
	Description string          `json:"description"`
	Version     int             `json:"version"`
	Entries     int             `json:"entries"`
	CreatedAt   string          `json:"created_at"`
	CreatedBy   string          `json:"created_by"`
}

func viewList(l models.List) listView {
	return listView{
		ID: l.ID, Name: l.Name, Kind: l.Kind, Personal: l.Personal, Description: l.Description, Version: l.Version, Entries: l.Entries,
		CreatedAt: apitime.Time(l.CreatedAt), CreatedBy: l.CreatedBy,
	}
}

type listEntryView struct {
	ID        string  `json:"id"`
	Value     *string `json:"value"`
	Reason    string  `json:"reason"`
	ExpiresAt *string `json:"expires_at"`
	AddedAt   string  `json:"added_at"`
	AddedBy   string  `json:"added_by"`
}

func viewListEntry(e models.ListEntry) listEntryView {
	return listEntryView{
		ID: e.ID, Value: e.Value, Reason: e.Reason, ExpiresAt: apitime.OptionalTime(e.ExpiresAt), AddedAt: apitime.Time(e.AddedAt), AddedBy: e.AddedBy,
	}
}

func (h *listHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Lists.List(request.Context(c), principal(c).Store(), pg)
	if err != nil {
		return err
	}
	return sendViews(c, rows, viewList, next)
}

func (h *listHandlers) get(c *fiber.Ctx) error {
	l, err := h.Lists.Get(request.Context(c), principal(c).Store(), param(c, "list_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewList(l))
}

func (h *listHandlers) create(c *fiber.Ctx) error {
	draft, err := bind[lists.Draft](c)
	if err != nil {
		return err
	}
	by := lists.By{Actor: principal(c).Actor(), RequestID: principal(c).RequestID}
	l, err := h.Lists.Create(request.Context(c), principal(c).Store(), by, draft)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusCreated, viewList(l))
}

func (h *listHandlers) remove(c *fiber.Ctx) error {
	made, err := h.Changes.DeleteList(request.Context(c), principal(c).Store(), byCaller(c), param(c, "list_id"))
	switch {
	case err != nil:
		return err
	case made.Requested != nil:
		return send(c, fiber.StatusAccepted, viewChange(*made.Requested))
	}
	return c.SendStatus(fiber.StatusNoContent)
}

func (h *listHandlers) entries(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Lists.Entries(request.Context(c), principal(c).Store(), param(c, "list_id"), query(c, "value"), pg)
	if err != nil {
		return err
	}
	return sendViews(c, rows, viewListEntry, next)
}

func (h *listHandlers) change(c *fiber.Ctx) error {
	body, err := bind[struct {
		Add []struct {
			Value     string  `json:"value"`
			Reason    string  `json:"reason"`
			ExpiresAt *string `json:"expires_at"`
		} `json:"add"`
		Remove []lists.Removed `json:"remove"`
	}](c)
	if err != nil {
		return err
	}
	edit := lists.Edit{Remove: body.Remove}
	for i, a := range body.Add {
		expires, err := bodyTime(a.ExpiresAt, "add", i, "expires_at")
		if err != nil {
			return err
		}
		edit.Add = append(edit.Add, lists.NewEntry{Value: a.Value, Reason: a.Reason, ExpiresAt: expires})
	}
	made, err := h.Changes.ChangeList(request.Context(c), principal(c).Store(), byCaller(c), param(c, "list_id"), edit)
	return sendMade(c, made, err, viewList, fiber.StatusOK)
}
