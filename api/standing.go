package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// standingHandlers serve standing approvals.
type standingHandlers struct {
	Authorizations *authorization.Service
	Standing       *standing.Service
	Links          *standing.Links
	Clock          clock.Clock
}

func (h *standingHandlers) create(c *fiber.Ctx) error {
	start := h.Clock.Now()
	in, err := bind[authorization.StandingRequest](c)
	if err != nil {
		return err
	}
	p := request.Principal(c)
	opened, err := h.Authorizations.OpenStanding(request.Context(c), p, in, start)
	if err != nil {
		return err
	}
	view, err := h.Standing.Get(request.Context(c), p.Store(), opened.ID)
	return reply(c, fiber.StatusCreated, wire.StandingApprovalOpened{StandingApproval: view, Challenge: opened.Response.Challenge, Hold: opened.Response.Hold}, err)
}

func (h *standingHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Standing.List(request.Context(c), request.Principal(c).Store(), c.Query("subject"), page(c))
	return replyList(c, func(v standing.View) standing.View { return v }, rows, next, err)
}

func (h *standingHandlers) get(c *fiber.Ctx) error {
	v, err := h.Standing.Get(request.Context(c), request.Principal(c).Store(), c.Params("standing_approval_id"))
	return reply(c, fiber.StatusOK, v, err)
}

func (h *standingHandlers) revoke(c *fiber.Ctx) error {
	v, err := h.Standing.Revoke(request.Context(c), request.Principal(c), c.Params("standing_approval_id"))
	return reply(c, fiber.StatusOK, v, err)
}

// link creates a link to the page on which the subject sees and revokes standing approvals.
func (h *standingHandlers) link(c *fiber.Ctx) error {
	l, err := h.Links.Create(request.Context(c), request.Principal(c), c.Params("subject_id"))
	return reply(c, fiber.StatusCreated, wire.StandingLink{URL: l.URL, ExpiresAt: wire.Time(l.ExpiresAt)}, err)
}
