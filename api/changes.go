package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// changeHandlers handle change requests.
type changeHandlers struct {
	Changes *change.Service
	Decider *change.Decider
}

type changeView struct {
	ID            string                    `json:"id"`
	Kind          models.ChangeKind         `json:"kind"`
	Status        models.ChangeStatus       `json:"status"`
	ActionID      *string                   `json:"action_id"`
	Action        *string                   `json:"action"`
	PolicyVersion *int                      `json:"policy_version"`
	Team          *string                   `json:"team"`
	Endpoint      *string                   `json:"endpoint"`
	List          *string                   `json:"list"`
	Differences   []change.Difference       `json:"differences"`
	RequestedBy   string                    `json:"requested_by"`
	RequestedAt   string                    `json:"requested_at"`
	ExpiresAt     string                    `json:"expires_at"`
	ResolvedBy    *string                   `json:"resolved_by"`
	ResolvedAt    *string                   `json:"resolved_at"`
	Approvable    bool                      `json:"approvable"`
	Applies       *bool                     `json:"applies"`
	Simulation    *authorization.Simulation `json:"simulation"`
}

func viewChange(v change.View) changeView {
	out := changeView{
		ID: v.ID, Kind: v.Kind, Status: v.Status, Differences: v.Differences, RequestedBy: v.ProposedBy, RequestedAt: apitime.Time(v.CreatedAt),
		ExpiresAt: apitime.Time(v.ExpiresAt), ResolvedBy: v.ResolvedBy, ResolvedAt: apitime.OptionalTime(v.ResolvedAt),
		Approvable: v.Approvable, Applies: v.Applies, Simulation: v.Simulation,
	}
	switch {
	case v.Team != "":
		out.Team = &v.Team
	case v.Endpoint != "":
		out.Endpoint = &v.Endpoint
	case v.List != "":
		out.List = &v.List
	case v.Change.Action != "":
		out.ActionID, out.Action = &v.Target, &v.Change.Action
	}
	if v.PolicyVersion > 0 {
		out.PolicyVersion = &v.PolicyVersion
	}
	return out
}

// sendMade sends a change that was applied with a status, or with 202 the change request that waits for a second approver.
func sendMade[T, V any](c *fiber.Ctx, made change.Made[T], err error, view func(T) V, status int) error {
	switch {
	case err != nil:
		return err
	case made.Requested != nil:
		return send(c, fiber.StatusAccepted, viewChange(*made.Requested))
	}
	return send(c, status, view(made.Applied))
}

func (h *changeHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	filter := change.Filter{Status: models.ChangeStatus(query(c, "status")), Kind: models.ChangeKind(query(c, "kind"))}
	rows, next, err := h.Changes.List(request.Context(c), principal(c), filter, pg)
	if err != nil {
		return err
	}
	return sendViews(c, rows, viewChange, next)
}

func (h *changeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Changes.Get(request.Context(c), principal(c), param(c, "change_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewChange(*v))
}

// decide returns the handler that settles a change request with a resolution.
func (h *changeHandlers) decide(resolution string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		v, err := h.Decider.Decide(request.Context(c), principal(c), param(c, "change_id"), resolution, "")
		if err != nil {
			return err
		}
		return send(c, fiber.StatusOK, viewChange(*v))
	}
}
