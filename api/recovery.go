package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// recoveryHandlers handles recoveries.
type recoveryHandlers struct {
	Recoveries *recovery.Service
}

func (h *recoveryHandlers) begin(c *fiber.Ctx) error {
	body, err := bind[recovery.Begin](c)
	if err != nil {
		return err
	}
	v, err := h.Recoveries.Begin(request.Context(c), request.Principal(c), c.Params("subject_id"), body)
	return reply(c, fiber.StatusCreated, v, err)
}

func (h *recoveryHandlers) get(c *fiber.Ctx) error {
	v, err := h.Recoveries.Get(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"))
	return reply(c, fiber.StatusOK, v, err)
}
