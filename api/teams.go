package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// teamHandlers serve the teams of reviewers.
type teamHandlers struct {
	Teams *team.Service
}

type teamView struct {
	ID        string           `json:"id"`
	Key       string           `json:"key"`
	Name      string           `json:"name"`
	Members   []teamMemberView `json:"members"`
	CreatedAt string           `json:"created_at"`
}

type teamMemberView struct {
	Member  string  `json:"member"`
	Reviews bool    `json:"reviews"`
	Deputy  *string `json:"deputy"`
}

func viewTeam(t team.View) teamView {
	out := teamView{ID: t.ID, Key: t.Key, Name: t.Name, Members: []teamMemberView{}, CreatedAt: apitime.Time(t.CreatedAt)}
	for _, m := range t.Members {
		view := teamMemberView{Member: m.Actor, Reviews: m.Reviews}
		if m.Deputy != nil {
			deputy := "person:" + m.Deputy.DeputyID
			view.Deputy = &deputy
		}
		out.Members = append(out.Members, view)
	}
	return out
}

// byCaller is the author of a change by the caller.
func byCaller(c *fiber.Ctx) team.By {
	return team.By{Actor: principal(c).Actor(), RequestID: principal(c).RequestID}
}

func (h *teamHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Teams.List(request.Context(c), principal(c).Store(), pg)
	if err != nil {
		return err
	}
	views := make([]teamView, len(rows))
	for i, r := range rows {
		views[i] = viewTeam(r)
	}
	return sendList(c, views, next)
}

func (h *teamHandlers) get(c *fiber.Ctx) error {
	t, err := h.Teams.Get(request.Context(c), principal(c).Store(), param(c, "team_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewTeam(t))
}

func (h *teamHandlers) create(c *fiber.Ctx) error {
	body, err := bind[struct {
		Key     string   `json:"key"`
		Name    string   `json:"name"`
		Members []string `json:"members"`
	}](c)
	if err != nil {
		return err
	}
	t, err := h.Teams.Create(request.Context(c), principal(c).Store(), byCaller(c), team.Draft{Key: body.Key, Name: body.Name, Members: body.Members})
	if err != nil {
		return err
	}
	return send(c, fiber.StatusCreated, viewTeam(t))
}

func (h *teamHandlers) update(c *fiber.Ctx) error {
	body, err := bind[struct {
		Name    *string   `json:"name"`
		Members *[]string `json:"members"`
	}](c)
	if err != nil {
		return err
	}
	change := team.Update{Name: body.Name, Members: body.Members}
	t, err := h.Teams.Update(request.Context(c), principal(c).Store(), byCaller(c), param(c, "team_id"), change)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewTeam(t))
}

func (h *teamHandlers) remove(c *fiber.Ctx) error {
	if err := h.Teams.Delete(request.Context(c), principal(c).Store(), byCaller(c), param(c, "team_id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
