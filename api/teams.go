package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// teamHandlers serve the teams of reviewers.
type teamHandlers struct {
	Teams   *team.Service
	Changes *change.Service
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

func byCaller(c *fiber.Ctx) change.By {
	return change.By{Actor: principal(c).Actor(), RequestID: principal(c).RequestID}
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
	return sendViews(c, rows, viewTeam, next)
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
	draft := team.Draft{Key: body.Key, Name: body.Name, Members: body.Members}
	made, err := h.Changes.CreateTeam(request.Context(c), principal(c).Store(), byCaller(c), draft)
	return sendMade(c, made, err, viewTeam, fiber.StatusCreated)
}

func (h *teamHandlers) update(c *fiber.Ctx) error {
	body, err := bind[struct {
		Name    *string   `json:"name"`
		Members *[]string `json:"members"`
	}](c)
	if err != nil {
		return err
	}
	update := team.Update{Name: body.Name, Members: body.Members}
	made, err := h.Changes.UpdateTeam(request.Context(c), principal(c).Store(), byCaller(c), param(c, "team_id"), update)
	return sendMade(c, made, err, viewTeam, fiber.StatusOK)
}

func (h *teamHandlers) remove(c *fiber.Ctx) error {
	made, err := h.Changes.DeleteTeam(request.Context(c), principal(c).Store(), byCaller(c), param(c, "team_id"))
	switch {
	case err != nil:
		return err
	case made.Requested != nil:
		return send(c, fiber.StatusAccepted, viewChange(*made.Requested))
	}
	return c.SendStatus(fiber.StatusNoContent)
}
