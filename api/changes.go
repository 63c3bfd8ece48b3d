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
	Subject       *string                   `json:"subject"`
	Differences   []change.Difference       `json:"differences"`
	RequestedBy   string                    `json:"requested_by"`
	RequestedAt   string                    `json:"requested_at"`
	ExpiresAt     string                    `json:"expires_at"`
	ResolvedBy    *string                   `json:"resolved_by"`
	ResolvedAt    *string                   `json:"resolved_at"`
	Reason        string                    `json:"reason"`
	Resolution    string                    `json:"resolution_reason"`
	Approvable    bool                      `json:"approvable"`
	Applies       *bool                     `json:"applies"`
	Simulation    *authorization.Simulation `json:"simulation"`
}

func viewChange(v *change.View) changeView {
	out := changeView{
		ID: v.ID, Kind: v.Kind, Status: v.Status, Differences: v.Differences, RequestedBy: v.ProposedBy, RequestedAt: apitime.Time(v.CreatedAt),
		ExpiresAt: apitime.Time(v.ExpiresAt), ResolvedBy: v.ResolvedBy, ResolvedAt: apitime.OptionalTime(v.ResolvedAt),
		Reason: v.Reason, Resolution: v.ResolvedFor, Approvable: v.Approvable, Applies: v.Applies, Simulation: v.Simulation,
	}
	switch {
	case v.Team != "":
		out.Team = &v.Team
	case v.Endpoint != "":
		out.Endpoint = &v.Endpoint
	case v.List != "":
		out.List = &v.List
	case v.Subject != "":
		out.Subject = &v.Subject
	case v.Change.Action != "":
		out.ActionID, out.Action = &v.Target, &v.Change.Action
	}
	if v.PolicyVersion > 0 {
		out.PolicyVersion = &v.PolicyVersion
	}
	return out
}

func (h *changeHandlers) list(c *fiber.Ctx) error {
	filter := change.Filter{Status: models.ChangeStatus(c.Query("status")), Kind: models.ChangeKind(c.Query("kind"))}
	rows, next, err := h.Changes.List(request.Context(c), request.Principal(c), filter, page(c))
	return replyList(c, func(v change.View) changeView { return viewChange(&v) }, rows, next, err)
}

func (h *changeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Changes.Get(request.Context(c), request.Principal(c), c.Params("change_id"))
	return replyView(c, fiber.StatusOK, viewChange, v, err)
}

// reasonBody is the body of an operation that takes a reason and nothing else.
type reasonBody struct {
	Reason string `json:"reason"`
}

// explain sets the requester's reason.
func (h *changeHandlers) explain(c *fiber.Ctx) error {
	in, err := bind[reasonBody](c)
	if err != nil {
		return err
	}
	if err := h.Changes.Explain(request.Context(c), request.Principal(c), c.Params("change_id"), in.Reason); err != nil {
		return err
	}
	return h.get(c)
}

// decide returns the handler that settles a change request with a resolution.
func (h *changeHandlers) decide(resolution string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		in, err := bind[reasonBody](c)
		if err != nil {
			return err
		}
		v, err := h.Decider.Decide(request.Context(c), request.Principal(c), c.Params("change_id"), resolution, in.Reason)
		return replyView(c, fiber.StatusOK, viewChange, v, err)
	}
}
