package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

func viewAssignment(a hold.Assignment) wire.ReviewAssignment {
	return wire.ReviewAssignment{Authorization: a.Authorization, AssignedTo: a.AssignedTo, AssignedAt: (*wire.Time)(a.AssignedAt)}
}

func (h *reviewHandlers) assign(c *fiber.Ctx) error {
	body, err := bind[wire.ReviewAssign](c)
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
