package api

import (
	"github.com/gofiber/fiber/v2"

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
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Evaluations.List(request.Context(c), principal(c).Store(), models.EvaluationStatus(query(c, "status")), pg)
	if err != nil {
		return err
	}
	return sendList(c, rows, next)
}

func (h *evaluationHandlers) create(c *fiber.Ctx) error {
	body, err := bind[struct {
		Name       string               `json:"name"`
		ActionKeys []string             `json:"action_keys"`
		StartsAt   *string              `json:"starts_at"`
		EndsAt     *string              `json:"ends_at"`
		Criteria   *evaluation.Criteria `json:"success_criteria"`
	}](c)
	if err != nil {
		return err
	}
	in := evaluation.Create{Name: body.Name, ActionKeys: body.ActionKeys, Criteria: evaluation.DefaultCriteria()}
	if in.StartsAt, err = bodyTime(body.StartsAt, "starts_at"); err != nil {
		return err
	}
	if in.EndsAt, err = bodyTime(body.EndsAt, "ends_at"); err != nil {
		return err
	}
	if body.Criteria != nil {
		in.Criteria = *body.Criteria
	}
	v, err := h.Evaluations.Create(request.Context(c), principal(c), in)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusCreated, v)
}

func (h *evaluationHandlers) get(c *fiber.Ctx) error {
	v, err := h.Evaluations.Get(request.Context(c), principal(c).Store(), param(c, "evaluation_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, v)
}

func (h *evaluationHandlers) close(c *fiber.Ctx) error {
	v, finished, err := h.Closer.Close(request.Context(c), principal(c), param(c, "evaluation_id"))
	if err != nil {
		return err
	}
	if !finished {
		return send(c, fiber.StatusAccepted, v)
	}
	return send(c, fiber.StatusOK, v)
}

func (h *evaluationHandlers) report(c *fiber.Ctx) error {
	r, err := h.Evaluations.Report(request.Context(c), principal(c).Store(), param(c, "evaluation_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, r)
}
