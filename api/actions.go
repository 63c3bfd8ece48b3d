package api

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// actionHandlers handles protected actions and their policy versions.
type actionHandlers struct {
	Actions *action.Service
	Changes *change.Service
}

type actionView struct {
	ID                  string            `json:"id"`
	Environment         string            `json:"environment"`
	Key                 string            `json:"key"`
	Name                string            `json:"name"`
	Consequence         string            `json:"consequence"`
	Labels              json.RawMessage   `json:"labels,omitempty"`
	RiskClass           string            `json:"risk_class"`
	ResourceType        string            `json:"resource_type"`
	ContextSchema       json.RawMessage   `json:"context_schema"`
	Mode                models.ActionMode `json:"mode"`
	AllowedAudiences    []string          `json:"allowed_audiences"`
	AllowedCallers      []string          `json:"allowed_callers"`
	ProofTTLSeconds     int               `json:"proof_ttl_seconds"`
	ActivePolicyVersion *int              `json:"active_policy_version"`
	CreatedAt           string            `json:"created_at"`
	UpdatedAt           string            `json:"updated_at"`
}

func viewAction(a models.Action) actionView {
	return actionView{
		ID: a.ID, Environment: a.EnvironmentID, Key: a.Key, Name: a.Name, Consequence: a.Consequence, Labels: json.RawMessage(a.Labels), RiskClass: a.RiskClass,
		ResourceType: a.ResourceType, ContextSchema: json.RawMessage(a.ContextSchema), Mode: a.Mode,
		AllowedAudiences: nonNil(a.AllowedAudiences), AllowedCallers: nonNil(a.AllowedCallers), ProofTTLSeconds: a.ProofTTLSeconds,
		ActivePolicyVersion: a.ActivePolicyVersion, CreatedAt: apitime.Time(a.CreatedAt), UpdatedAt: apitime.Time(a.UpdatedAt),
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
	in, err := bind[struct {
		Name        *string            `json:"name"`
		Consequence *string            `json:"consequence"`
		Mode        *models.ActionMode `json:"mode"`

		Labels map[string]models.ActionText `json:"labels"`
	}](c)
	if err != nil {
		return err
	}
	fields := action.Change{Name: in.Name, Consequence: in.Consequence, Mode: in.Mode, Labels: in.Labels}
	made, err := h.Changes.UpdateAction(request.Context(c), request.Principal(c), c.Params("action_id"), fields)
	return replyMade(c, fiber.StatusOK, viewAction, made, err)
}

func (h *actionHandlers) archive(c *fiber.Ctx) error {
	return replyNothing(c, h.Actions.Archive(request.Context(c), request.Principal(c), c.Params("action_id")))
}

type policyView struct {
	ID               string              `json:"id"`
	Action           string              `json:"action"`
	Version          int                 `json:"version"`
	Status           models.PolicyStatus `json:"status"`
	Requirements     json.RawMessage     `json:"requirements"`
	ContextSchema    json.RawMessage     `json:"context_schema"`
	AllowedAudiences []string            `json:"allowed_audiences"`
	AllowedCallers   []string            `json:"allowed_callers"`
	ProofTTLSeconds  int                 `json:"proof_ttl_seconds"`
	ContentHash      string              `json:"content_hash"`
	CreatedAt        string              `json:"created_at"`
	ActivatedAt      *string             `json:"activated_at"`
	RetiredAt        *string             `json:"retired_at"`
	Reason           string              `json:"reason"`
	// Warnings are set in the response to its creation alone.
	Warnings []policy.Warning `json:"warnings,omitempty"`
}

func viewPolicy(v models.PolicyVersion) policyView {
	return policyView{
		ID: v.ID, Action: v.ActionID, Version: v.Version, Status: v.Status, Requirements: json.RawMessage(v.Requirements),
		ContextSchema: json.RawMessage(v.ContextSchema), AllowedAudiences: nonNil(v.AllowedAudiences), AllowedCallers: nonNil(v.AllowedCallers),
		ProofTTLSeconds: v.ProofTTLSeconds, ContentHash: v.ContentHash, CreatedAt: apitime.Time(v.CreatedAt),
		ActivatedAt: apitime.OptionalTime(v.ActivatedAt), RetiredAt: apitime.OptionalTime(v.RetiredAt), Reason: v.Reason,
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
