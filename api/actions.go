package api

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// actionHandlers handles protected actions and their policy versions.
type actionHandlers struct {
	Actions *action.Service
	Changes *change.Service
}

func viewAction(a models.Action) wire.ProtectedAction {
	return wire.ProtectedAction{
		ID: a.ID, Environment: a.EnvironmentID, Key: a.Key, Name: a.Name, Consequence: a.Consequence, Labels: json.RawMessage(a.Labels), RiskClass: a.RiskClass,
		ResourceType: a.ResourceType, ContextSchema: json.RawMessage(a.ContextSchema), Mode: string(a.Mode),
		AllowedAudiences: nonNil(a.AllowedAudiences), AllowedCallers: nonNil(a.AllowedCallers), ProofTTLSeconds: a.ProofTTLSeconds,
		ActivePolicyVersion: a.ActivePolicyVersion, CreatedAt: wire.Time(a.CreatedAt), UpdatedAt: wire.Time(a.UpdatedAt),
	}
}

func (h *actionHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Actions.List(request.Context(c), request.Principal(c).Store(), page(c))
	return replyList(c, viewAction, rows, next, err)
}

func (h *actionHandlers) create(c *fiber.Ctx) error {
	in, err := bind[action.Create](c)
	if err != nil {
		return err
	}
	a, err := h.Actions.Create(request.Context(c), request.Principal(c), in)
	return replyView(c, fiber.StatusCreated, viewAction, a, err)
}

func (h *actionHandlers) get(c *fiber.Ctx) error {
	a, err := h.Actions.Get(request.Context(c), request.Principal(c).Store(), c.Params("action_id"))
	return replyView(c, fiber.StatusOK, viewAction, a, err)
}

func (h *actionHandlers) update(c *fiber.Ctx) error {
	in, err := bind[wire.ActionUpdate](c)
	if err != nil {
		return err
	}
	fields := action.Change{Name: in.Name, Consequence: in.Consequence, Mode: (*models.ActionMode)(in.Mode), Labels: in.Labels}
	made, err := h.Changes.UpdateAction(request.Context(c), request.Principal(c), c.Params("action_id"), fields)
	return replyMade(c, fiber.StatusOK, viewAction, made, err)
}

func (h *actionHandlers) archive(c *fiber.Ctx) error {
	return replyNothing(c, h.Actions.Archive(request.Context(c), request.Principal(c), c.Params("action_id")))
}

func viewPolicy(v models.PolicyVersion) wire.PolicyVersion {
	return wire.PolicyVersion{
		ID: v.ID, Action: v.ActionID, Version: v.Version, Status: string(v.Status), Requirements: json.RawMessage(v.Requirements),
		ContextSchema: json.RawMessage(v.ContextSchema), AllowedAudiences: nonNil(v.AllowedAudiences), AllowedCallers: nonNil(v.AllowedCallers),
		ProofTTLSeconds: v.ProofTTLSeconds, ContentHash: v.ContentHash, CreatedAt: wire.Time(v.CreatedAt),
		ActivatedAt: (*wire.Time)(v.ActivatedAt), RetiredAt: (*wire.Time)(v.RetiredAt), Reason: v.Reason,
	}
}

func (h *actionHandlers) versions(c *fiber.Ctx) error {
	rows, next, err := h.Actions.Versions(request.Context(c), request.Principal(c).Store(), c.Params("action_id"), page(c))
	return replyList(c, viewPolicy, rows, next, err)
}

func (h *actionHandlers) createVersion(c *fiber.Ctx) error {
	in, err := bind[action.CreateVersion](c)
	if err != nil {
		return err
	}
	v, err := h.Actions.CreateVersion(request.Context(c), request.Principal(c), c.Params("action_id"), in)
	if err != nil {
		return err
	}
	contract, err := action.Contract(v)
	if err != nil {
		return err
	}
	view := viewPolicy(v)
	view.Warnings = rules.Warnings(contract.Requirements, contract.ContextSchema)
	for i, w := range view.Warnings {
		view.Warnings[i].Loc = append([]string{"body", "requirements"}, w.Loc...)
	}
	return c.Status(fiber.StatusCreated).JSON(view)
}

func (h *actionHandlers) version(c *fiber.Ctx) error {
	v, err := h.Actions.Version(request.Context(c), request.Principal(c).Store(), c.Params("action_id"), version(c))
	return replyView(c, fiber.StatusOK, viewPolicy, v, err)
}

func (h *actionHandlers) activate(c *fiber.Ctx) error {
	made, err := h.Changes.Activate(request.Context(c), request.Principal(c), c.Params("action_id"), version(c))
	return replyMade(c, fiber.StatusOK, viewPolicy, made, err)
}
