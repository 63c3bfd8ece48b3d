package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// teamHandlers serve the teams of reviewers.
type teamHandlers struct {
	Teams   *team.Service
	Changes *change.Service
}

func viewTeam(t team.View) wire.Team {
	out := wire.Team{ID: t.ID, Key: t.Key, Name: t.Name, Members: []wire.TeamMember{}, CreatedAt: wire.Time(t.CreatedAt)}
	for _, m := range t.Members {
		view := wire.TeamMember{Member: m.Actor, Reviews: m.Reviews}
		if m.Deputy != nil {
			deputy := "person:" + m.Deputy.DeputyID
			view.Deputy = &deputy
		}
		out.Members = append(out.Members, view)
	}
	return out
}

// setManager records who manages a member of staff.
func (h *teamHandlers) setManager(c *fiber.Ctx) error {
	body, err := bind[wire.PersonManagerUpdate](c)
	if err != nil {
		return err
	}
	to := staff.ManagerSet{Person: c.Params("person_id"), Manager: body.Manager}
	made, err := h.Changes.SetManager(request.Context(c), request.Principal(c).Store(), byCaller(c), to)
	return replyMade(c, fiber.StatusOK, viewManager, made, err)
}

func viewManager(m staff.ManagerSet) wire.PersonManager {
	return wire.PersonManager{Person: m.Person, Manager: m.Manager}
}

func byCaller(c *fiber.Ctx) change.By {
	return change.By{Actor: request.Principal(c).Actor(), RequestID: request.Principal(c).RequestID}
}

func (h *teamHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Teams.List(request.Context(c), request.Principal(c).Store(), page(c))
	return replyList(c, viewTeam, rows, next, err)
}

func (h *teamHandlers) get(c *fiber.Ctx) error {
	t, err := h.Teams.Get(request.Context(c), request.Principal(c).Store(), c.Params("team_id"))
	return replyView(c, fiber.StatusOK, viewTeam, t, err)
}

func (h *teamHandlers) create(c *fiber.Ctx) error {
	body, err := bind[wire.TeamCreate](c)
	if err != nil {
		return err
	}
	draft := team.Draft{Key: body.Key, Name: body.Name, Members: body.Members}
	made, err := h.Changes.CreateTeam(request.Context(c), request.Principal(c).Store(), byCaller(c), draft)
	return replyMade(c, fiber.StatusCreated, viewTeam, made, err)
}

func (h *teamHandlers) update(c *fiber.Ctx) error {
	body, err := bind[wire.TeamUpdate](c)
	if err != nil {
		return err
	}
	update := team.Update{Name: body.Name, Members: body.Members}
	made, err := h.Changes.UpdateTeam(request.Context(c), request.Principal(c).Store(), byCaller(c), c.Params("team_id"), update)
	return replyMade(c, fiber.StatusOK, viewTeam, made, err)
}

func (h *teamHandlers) remove(c *fiber.Ctx) error {
	made, err := h.Changes.DeleteTeam(request.Context(c), request.Principal(c).Store(), byCaller(c), c.Params("team_id"))
	return replyRemoved(c, made, err)
}
