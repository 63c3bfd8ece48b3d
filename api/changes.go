package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// changeHandlers handle change requests.
type changeHandlers struct {
	Changes *change.Service
	Decider *change.Decider
}

func viewChange(v *change.View) wire.ChangeRequest {
	out := wire.ChangeRequest{
		ID: v.ID, Kind: string(v.Kind), Status: string(v.Status), Differences: v.Differences, RequestedBy: v.ProposedBy, RequestedAt: wire.Time(v.CreatedAt),
		ExpiresAt: wire.Time(v.ExpiresAt), ResolvedBy: v.ResolvedBy, ResolvedAt: (*wire.Time)(v.ResolvedAt),
		Reason: v.Reason, ResolutionReason: v.ResolvedFor, Approvable: v.Approvable, Applies: v.Applies, Simulation: v.Simulation,
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
	return replyList(c, func(v change.View) wire.ChangeRequest { return viewChange(&v) }, rows, next, err)
}

func (h *changeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Changes.Get(request.Context(c), request.Principal(c), c.Params("change_id"))
	return replyView(c, fiber.StatusOK, viewChange, v, err)
}

// explain sets the requester's reason.
func (h *changeHandlers) explain(c *fiber.Ctx) error {
	in, err := bind[wire.ChangeReason](c)
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
		in, err := bind[wire.ChangeReason](c)
		if err != nil {
			return err
		}
		v, err := h.Decider.Decide(request.Context(c), request.Principal(c), c.Params("change_id"), resolution, in.Reason)
		return replyView(c, fiber.StatusOK, viewChange, v, err)
	}
}
