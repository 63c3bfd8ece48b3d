package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// evaluationRuns are the runs of evaluations (workflows.Client).
type evaluationWorkflows interface {
	CloseEvaluation(ctx context.Context, r evaluation.WorkflowInput, by workflows.EvaluationClose) (workflows.EvaluationResult, error)
}

// evaluationHandlers answer for evaluations.
type evaluationHandlers struct {
	Evaluations *evaluation.Service
	Workflows   evaluationWorkflows
}

func (h *evaluationHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Evaluations.List(requestContext(c), principal(c).Store(), models.EvaluationStatus(query(c, "status")), pg)
	if err != nil {
		return err
	}
	return sendList(c, rows, next)
}

func (h *evaluationHandlers) create(c *fiber.Ctx) error {
	body, err := bind[struct {
		Name       string          `json:"name"`
		ActionKeys []string        `json:"action_keys"`
		StartsAt   *string         `json:"starts_at"`
		EndsAt     *string         `json:"ends_at"`
		Criteria   json.RawMessage `json:"success_criteria"`
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
	if len(body.Criteria) > 0 {
		if err := json.Unmarshal(body.Criteria, &in.Criteria); err != nil {
			return problem.Invalid([]any{"body", "success_criteria"}, "success_criteria does not have the shape of the contract.", "model_type")
		}
	}
	v, err := h.Evaluations.Create(requestContext(c), principal(c), in)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusCreated, v)
}

// bodyTime reads an optional RFC 3339 time, to the millisecond: that is what answers show.
func bodyTime(s *string, field string) (*time.Time, error) {
	if s == nil {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, *s)
	if err != nil {
		return nil, problem.Invalid([]any{"body", field}, fmt.Sprintf("%s must be an RFC 3339 time.", field), "format")
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t, nil
}

func (h *evaluationHandlers) get(c *fiber.Ctx) error {
	v, err := h.Evaluations.Get(requestContext(c), principal(c).Store(), param(c, "evaluation_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, v)
}

func (h *evaluationHandlers) close(c *fiber.Ctx) error {
	ctx, p, id := requestContext(c), principal(c), param(c, "evaluation_id")
	run, err := h.Evaluations.PrepareClose(ctx, p.Store(), id)
	if err != nil {
		return err
	}
	status := fiber.StatusOK
	_, err = h.Workflows.CloseEvaluation(ctx, run, workflows.EvaluationClose{Actor: machineActor(p), RequestID: p.RequestID})
	switch {
	case errors.Is(err, workflows.ErrAccepted):
		status = fiber.StatusAccepted
	case err != nil && !errors.Is(err, workflows.ErrClosed):
		return err
	}
	v, err := h.Evaluations.Get(ctx, p.Store(), id)
	if err != nil {
		return err
	}
	return send(c, status, v)
}

// machineActor names the caller without naming a person: it travels in a workflow's payload.
func machineActor(p identity.Principal) string {
	p.Person = ""
	return p.Actor()
}

func (h *evaluationHandlers) report(c *fiber.Ctx) error {
	r, err := h.Evaluations.Report(requestContext(c), principal(c).Store(), param(c, "evaluation_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, r)
}
