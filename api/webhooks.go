package api

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// webhookHandlers handles webhook endpoints.
type webhookHandlers struct {
	Endpoints *webhook.Endpoints
	Changes   *change.Service
}

func viewEndpoint(e models.WebhookEndpoint) wire.WebhookEndpoint {
	v := wire.WebhookEndpoint{ID: e.ID, URL: e.URL, Events: append([]string{}, e.Events...), Status: e.Status, DisabledReason: e.DisabledReason,
		IncludeDetails: e.IncludeDetails, CreatedAt: wire.Time(e.CreatedAt), UpdatedAt: wire.Time(e.UpdatedAt)}
	if len(v.Events) == 0 {
		v.Events = []string{"*"}
	}
	if e.Description != "" {
		v.Description = &e.Description
	}
	return v
}

// viewWithSecret shows the secret too, of a creation or a rotation.
func viewWithSecret(e change.CreatedEndpoint) wire.WebhookEndpointWithSecret {
	return wire.WebhookEndpointWithSecret{WebhookEndpoint: viewEndpoint(e.WebhookEndpoint), Secret: e.Secret}
}

func (h *webhookHandlers) create(c *fiber.Ctx) error {
	body, err := bind[change.Endpoint](c)
	if err != nil {
		return err
	}
	made, err := h.Changes.CreateEndpoint(request.Context(c), request.Principal(c), body)
	return replyMade(c, fiber.StatusCreated, viewWithSecret, made, err)
}

func (h *webhookHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Endpoints.List(request.Context(c), request.Principal(c), page(c))
	return replyList(c, viewEndpoint, rows, next, err)
}

func (h *webhookHandlers) get(c *fiber.Ctx) error {
	e, err := h.Endpoints.Get(request.Context(c), request.Principal(c), c.Params("endpoint_id"))
	return replyView(c, fiber.StatusOK, viewEndpoint, e, err)
}

func (h *webhookHandlers) update(c *fiber.Ctx) error {
	// null clears the description, so it must be distinguished from an omitted field.
	body, err := bind[struct {
		URL         *string        `json:"url"`
		Events      *[]string      `json:"events"`
		Description nullableString `json:"description"`
		Status      *string        `json:"status"`
		Details     *bool          `json:"include_details"`
	}](c)
	if err != nil {
		return err
	}
	patch := change.Endpoint{URL: body.URL, Events: body.Events, Description: body.Description.value, Status: body.Status, IncludeDetails: body.Details}
	made, err := h.Changes.UpdateEndpoint(request.Context(c), request.Principal(c), c.Params("endpoint_id"), patch)
	return replyMade(c, fiber.StatusOK, viewEndpoint, made, err)
}

// nullableString distinguishes an omitted field (nil), null (empty) and a string.
type nullableString struct{ value *string }

// UnmarshalJSON is called only if the field is present.
func (n *nullableString) UnmarshalJSON(raw []byte) error {
	n.value = new(string)
	if string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, n.value)
}

func (h *webhookHandlers) remove(c *fiber.Ctx) error {
	return replyNothing(c, h.Endpoints.Delete(request.Context(c), request.Principal(c), c.Params("endpoint_id")))
}

func (h *webhookHandlers) rotate(c *fiber.Ctx) error {
	body, err := bind[wire.RotateRequest](c)
	if err != nil {
		return err
	}
	overlap := time.Duration(body.OverlapSeconds) * time.Second
	e, secret, err := h.Endpoints.Rotate(request.Context(c), request.Principal(c), c.Params("endpoint_id"), overlap)
	return replyView(c, fiber.StatusOK, viewWithSecret, change.CreatedEndpoint{WebhookEndpoint: e, Secret: secret}, err)
}

func (h *webhookHandlers) enable(c *fiber.Ctx) error {
	e, err := h.Endpoints.Enable(request.Context(c), request.Principal(c), c.Params("endpoint_id"))
	return replyView(c, fiber.StatusOK, viewEndpoint, e, err)
}

func (h *webhookHandlers) test(c *fiber.Ctx) error {
	r, err := h.Endpoints.Test(request.Context(c), request.Principal(c), c.Params("endpoint_id"))
	if err != nil {
		return err
	}
	out := wire.WebhookTestResult{Event: r.Event, Delivered: r.Succeeded, LatencyMS: int(r.Latency.Milliseconds())}
	if r.StatusCode != 0 {
		out.StatusCode = &r.StatusCode
	}
	if r.Error != "" {
		out.Error = &r.Error
	}
	return c.Status(fiber.StatusOK).JSON(out)
}

func (h *webhookHandlers) replay(c *fiber.Ctx) error {
	body, err := bind[wire.WebhookReplayRequest](c)
	if err != nil {
		return err
	}
	in := webhook.Replay{Status: body.Status, Event: body.Event, Since: body.Since.Time(), Until: body.Until.Time()}
	if in.Since != nil && in.Until != nil && !in.Since.Before(*in.Until) {
		return problem.Invalid([]any{"body", "until"}, "until must be after since.", "range")
	}
	id := c.Params("endpoint_id")
	n, err := h.Endpoints.Replay(request.Context(c), request.Principal(c), id, in)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(wire.WebhookReplay{Endpoint: id, Scheduled: int(n)})
}

func viewAttempt(endpoint string, r webhook.AttemptRow) wire.WebhookAttempt {
	out := wire.WebhookAttempt{ID: r.ID, Endpoint: endpoint, Event: r.EventID, Type: r.Type, Attempt: r.Attempt, Status: r.Status, StatusCode: r.StatusCode,
		LatencyMS: r.LatencyMS, ResponseDigest: r.ResponseDigest, Error: r.Error, NextAttemptAt: (*wire.Time)(r.NextAttemptAt)}
	if r.Attempted {
		out.At = (*wire.Time)(&r.At)
	}
	return out
}

func (h *webhookHandlers) attempts(c *fiber.Ctx) error {
	f := webhook.AttemptFilter{Status: c.Query("status"), Event: c.Query("event"), Since: queryTime(c, "since"), Until: queryTime(c, "until")}
	id := c.Params("endpoint_id")
	rows, next, err := h.Endpoints.Attempts(request.Context(c), request.Principal(c), id, f, page(c))
	return replyList(c, func(r webhook.AttemptRow) wire.WebhookAttempt { return viewAttempt(id, r) }, rows, next, err)
}
