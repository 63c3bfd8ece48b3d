package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// evaluationHandlers serve evaluations.
type evaluationHandlers struct {
	Evaluations *evaluation.Service
	Closer      *evaluation.Closer
}

func (h *evaluationHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Evaluations.List(request.Context(c), request.Principal(c).Store(), models.EvaluationStatus(c.Query("status")), page(c))
	return replyList(c, asStored, rows, next, err)
}

func (h *evaluationHandlers) create(c *fiber.Ctx) error {
	body, err := bind[wire.EvaluationCreate](c)
	if err != nil {
		return err
	}
	in := evaluation.Create{
		Name: body.Name, ActionKeys: body.ActionKeys, StartsAt: body.StartsAt.Time(), EndsAt: body.EndsAt.Time(), Criteria: evaluation.DefaultCriteria(),
	}
	if body.SuccessCriteria != nil {
		in.Criteria = *body.SuccessCriteria
	}
	v, err := h.Evaluations.Create(request.Context(c), request.Principal(c), in)
	return reply(c, fiber.StatusCreated, v, err)
}

func (h *evaluationHandlers) get(c *fiber.Ctx) error {
	v, err := h.Evaluations.Get(request.Context(c), request.Principal(c).Store(), c.Params("evaluation_id"))
	return reply(c, fiber.StatusOK, v, err)
}

func (h *evaluationHandlers) close(c *fiber.Ctx) error {
	v, finished, err := h.Closer.Close(request.Context(c), request.Principal(c), c.Params("evaluation_id"))
	if !finished {
		return reply(c, fiber.StatusAccepted, v, err)
	}
	return reply(c, fiber.StatusOK, v, err)
}

func (h *evaluationHandlers) report(c *fiber.Ctx) error {
	r, err := h.Evaluations.Report(request.Context(c), request.Principal(c).Store(), c.Params("evaluation_id"))
	return reply(c, fiber.StatusOK, r, err)
}
