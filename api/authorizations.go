package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// authorizationHandlers handles decisions.
type authorizationHandlers struct {
	Authorizations *authorization.Service
	Clock          clock.Clock
	metrics        *metrics.Metrics
}

// authorize makes a decision. A repeated idempotency key gets the stored response, byte for byte.
func (h *authorizationHandlers) authorize(c *fiber.Ctx) error {
	start := h.Clock.Now()
	in, ok := authorization.ReadRequest(request.Decoded(c), request.Spelled(c))
	if !ok {
		return problem.Invalid([]any{"body"}, "The body does not match the contract.", "model_type")
	}
	decided, err := h.Authorizations.Authorize(request.Context(c), request.Principal(c), in, start)
	if err != nil {
		return err
	}
	if decided.Replayed {
		c.Set(middleware.HeaderReplayed, "true")
	} else {
		h.metrics.Decided(request.Principal(c).EnvironmentID, decided, h.Clock.Now().Sub(start))
	}
	return sendRaw(c, fiber.StatusOK, decided.Body)
}

func (h *authorizationHandlers) get(c *fiber.Ctx) error {
	t, err := h.Authorizations.GetFor(request.Context(c), request.Principal(c), c.Params("authorization_id"))
	return reply(c, fiber.StatusOK, t, err)
}

func (h *authorizationHandlers) list(c *fiber.Ctx) error {
	f := authorization.TraceFilter{
		Subject: c.Query("subject"), Action: c.Query("action"), Decision: c.Query("decision"), Mode: c.Query("mode"),
		ReviewStatus: models.HoldStatus(c.Query("review_status")), Parent: c.Query("parent"),
		Since: queryTime(c, "since"), Until: queryTime(c, "until"),
	}
	rows, next, err := h.Authorizations.List(request.Context(c), request.Principal(c).Store(), f, page(c))
	return replyList(c, asStored, rows, next, err)
}

func (h *authorizationHandlers) outcome(c *fiber.Ctx) error {
	in, err := bind[wire.OutcomeReport](c)
	if err != nil {
		return err
	}
	receipt, err := h.Authorizations.Outcome(request.Context(c), request.Principal(c), c.Params("authorization_id"), in.Outcome, in.Note)
	return reply(c, fiber.StatusOK, receipt, err)
}
