package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/models"
)

// authorizationHandlers handles decisions.
type authorizationHandlers struct {
	Authorizations *authorization.Service
	Clock          clock.Clock
	metrics        *Metrics
}

// authorize makes a decision. A repeated idempotency key gets the stored response, byte for byte.
func (h *authorizationHandlers) authorize(c *fiber.Ctx) error {
	start := h.Clock.Now()
	in, ok := authorization.ReadRequest(decoded(c), spelled(c))
	if !ok {
		return problem.Invalid([]any{"body"}, "The body does not match the contract.", "model_type")
	}
	decided, err := h.Authorizations.Authorize(request.Context(c), principal(c), in, start)
	if err != nil {
		return err
	}
	if decided.Replayed {
		c.Set(headerReplayed, "true")
	} else {
		h.metrics.decided(principal(c).EnvironmentID, decided, h.Clock.Now().Sub(start))
	}
	return sendRaw(c, fiber.StatusOK, decided.Body)
}

func (h *authorizationHandlers) get(c *fiber.Ctx) error {
	t, err := h.Authorizations.GetFor(request.Context(c), principal(c), param(c, "authorization_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, t)
}

func (h *authorizationHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	f := authorization.TraceFilter{
		Subject: query(c, "subject"), Action: query(c, "action"), Decision: query(c, "decision"), Mode: query(c, "mode"),
		ReviewStatus: models.HoldStatus(query(c, "review_status")), Parent: query(c, "parent"),
	}
	if f.Since, err = timeQuery(c, "since"); err != nil {
		return err
	}
	if f.Until, err = timeQuery(c, "until"); err != nil {
		return err
	}
	rows, next, err := h.Authorizations.List(request.Context(c), principal(c).Store(), f, pg)
	if err != nil {
		return err
	}
	return sendList(c, rows, next)
}

func (h *authorizationHandlers) outcome(c *fiber.Ctx) error {
	in, err := bind[struct {
		Outcome string  `json:"outcome"`
		Note    *string `json:"note"`
	}](c)
	if err != nil {
		return err
	}
	receipt, err := h.Authorizations.Outcome(request.Context(c), principal(c), param(c, "authorization_id"), in.Outcome, in.Note)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, receipt)
}
