package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

type assignmentView struct {
	Authorization string  `json:"authorization"`
	AssignedTo    *string `json:"assigned_to"`
	AssignedAt    *string `json:"assigned_at"`
}

func viewAssignment(a hold.Assignment) assignmentView {
	return assignmentView{Authorization: a.Authorization, AssignedTo: a.AssignedTo, AssignedAt: apitime.OptionalTime(a.AssignedAt)}
}

func (h *reviewHandlers) assign(c *fiber.Ctx) error {
	body, err := bind[struct {
		Previous string `json:"previous"`
	}](c)
	if err != nil {
		return err
	}
	taken, err := h.Holds.Take(request.Context(c), request.Principal(c), c.Params("authorization_id"), body.Previous)
	return replyView(c, fiber.StatusOK, viewAssignment, taken, err)
}

func (h *reviewHandlers) unassign(c *fiber.Ctx) error {
	released, err := h.Holds.Release(request.Context(c), request.Principal(c), c.Params("authorization_id"))
	return replyView(c, fiber.StatusOK, viewAssignment, released, err)
}
