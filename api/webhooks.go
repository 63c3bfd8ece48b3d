package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/models"
)

// webhookHandlers handles webhook endpoints.
type webhookHandlers struct {
	Endpoints *webhook.Endpoints
	Changes   *change.Service
}

type endpointView struct {
	ID             string   `json:"id"`
	URL            string   `json:"url"`
	Events         []string `json:"events"`
	Description    *string  `json:"description"`
	Status         string   `json:"status"`
	DisabledReason *string  `json:"disabled_reason"`
	Secret         string   `json:"secret,omitempty"` // at creation and rotation only
	IncludeDetails bool     `json:"include_details"`
	CreatedAt      string   `json:"created_at"`
	UpdatedAt      string   `json:"updated_at"`
}

func viewEndpoint(e models.WebhookEndpoint, secret string) endpointView {
	v := endpointView{ID: e.ID, URL: e.URL, Events: append([]string{}, e.Events...), Status: e.Status, DisabledReason: e.DisabledReason,
		Secret: secret, IncludeDetails: e.IncludeDetails, CreatedAt: apitime.Time(e.CreatedAt), UpdatedAt: apitime.Time(e.UpdatedAt)}
	if len(v.Events) == 0 {
		v.Events = []string{"*"}
	}
	if e.Description != "" {
		v.Description = &e.Description
	}
	return v
}

func (h *webhookHandlers) create(c *fiber.Ctx) error {
	body, err := bind[change.Endpoint](c)
	if err != nil {
		return err
	}
	made, err := h.Changes.CreateEndpoint(request.Context(c), principal(c), body)
	return sendMade(c, made, err, func(e change.CreatedEndpoint) endpointView { return viewEndpoint(e.WebhookEndpoint, e.Secret) }, http.StatusCreated)
}

func (h *webhookHandlers) list(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	rows, next, err := h.Endpoints.List(request.Context(c), principal(c), pg)
	if err != nil {
		return err
	}
	out := make([]endpointView, len(rows))
	for i, e := range rows {
		out[i] = viewEndpoint(e, "")
	}
	return sendList(c, out, next)
}

func (h *webhookHandlers) get(c *fiber.Ctx) error {
	return sendEndpoint(c, func(id string) (models.WebhookEndpoint, error) {
		return h.Endpoints.Get(request.Context(c), principal(c), id)
	})
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
	made, err := h.Changes.UpdateEndpoint(request.Context(c), principal(c), param(c, "endpoint_id"), patch)
	return sendMade(c, made, err, func(e models.WebhookEndpoint) endpointView { return viewEndpoint(e, "") }, http.StatusOK)
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
	if err := h.Endpoints.Delete(request.Context(c), principal(c), param(c, "endpoint_id")); err != nil {
		return err
	}
	return c.SendStatus(http.StatusNoContent)
}

// defaultOverlap is the default time for which the previous key or secret remains valid after a rotation.
const defaultOverlap = 24 * time.Hour

func (h *webhookHandlers) rotate(c *fiber.Ctx) error {
	body, err := bind[struct {
		OverlapSeconds *int `json:"overlap_seconds"`
	}](c)
	if err != nil {
		return err
	}
	overlap := defaultOverlap
	if body.OverlapSeconds != nil {
		overlap = time.Duration(*body.OverlapSeconds) * time.Second
	}
	e, secret, err := h.Endpoints.Rotate(request.Context(c), principal(c), param(c, "endpoint_id"), overlap)
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, viewEndpoint(e, secret))
}

func (h *webhookHandlers) enable(c *fiber.Ctx) error {
	return sendEndpoint(c, func(id string) (models.WebhookEndpoint, error) {
		return h.Endpoints.Enable(request.Context(c), principal(c), id)
	})
}

func sendEndpoint(c *fiber.Ctx, f func(id string) (models.WebhookEndpoint, error)) error {
	e, err := f(param(c, "endpoint_id"))
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, viewEndpoint(e, ""))
}

type endpointTest struct {
	Event      string  `json:"event"`
	Delivered  bool    `json:"delivered"`
	StatusCode *int    `json:"status_code"`
	LatencyMS  int64   `json:"latency_ms"`
	Error      *string `json:"error"`
}

func (h *webhookHandlers) test(c *fiber.Ctx) error {
	r, err := h.Endpoints.Test(request.Context(c), principal(c), param(c, "endpoint_id"))
	if err != nil {
		return err
	}
	out := endpointTest{Event: r.Event, Delivered: r.Succeeded, LatencyMS: r.Latency.Milliseconds()}
	if r.StatusCode != 0 {
		out.StatusCode = &r.StatusCode
	}
	if r.Error != "" {
		out.Error = &r.Error
	}
	return send(c, http.StatusOK, out)
}

func (h *webhookHandlers) replay(c *fiber.Ctx) error {
	body, err := bind[struct {
		Since  *time.Time `json:"since"`
		Until  *time.Time `json:"until"`
		Status string     `json:"status"`
		Event  string     `json:"event"`
	}](c)
	if err != nil {
		return err
	}
	if body.Since != nil && body.Until != nil && !body.Since.Before(*body.Until) {
		return problem.Invalid([]any{"body", "until"}, "until must be after since.", "range")
	}
	id := param(c, "endpoint_id")
	n, err := h.Endpoints.Replay(request.Context(c), principal(c), id,
		webhook.Replay{Status: body.Status, Event: body.Event, Since: body.Since, Until: body.Until})
	if err != nil {
		return err
	}
	return send(c, http.StatusAccepted, map[string]any{"endpoint": id, "scheduled": n})
}

type attemptView struct {
	ID             string  `json:"id"`
	Endpoint       string  `json:"endpoint"`
	Event          string  `json:"event"`
	Type           string  `json:"type"`
	Attempt        int     `json:"attempt"`
	Status         string  `json:"status"`
	At             *string `json:"at"`
	StatusCode     *int    `json:"status_code"`
	LatencyMS      *int    `json:"latency_ms"`
	ResponseDigest *string `json:"response_digest"`
	Error          *string `json:"error"`
	NextAttemptAt  *string `json:"next_attempt_at"`
}

func (h *webhookHandlers) attempts(c *fiber.Ctx) error {
	pg, err := page(c)
	if err != nil {
		return err
	}
	f := webhook.AttemptFilter{Status: query(c, "status"), Event: query(c, "event")}
	if f.Since, err = timeQuery(c, "since"); err != nil {
		return err
	}
	if f.Until, err = timeQuery(c, "until"); err != nil {
		return err
	}
	id := param(c, "endpoint_id")
	rows, next, err := h.Endpoints.Attempts(request.Context(c), principal(c), id, f, pg)
	if err != nil {
		return err
	}
	out := make([]attemptView, len(rows))
	for i, r := range rows {
		out[i] = attemptView{ID: r.ID, Endpoint: id, Event: r.EventID, Type: r.Type, Attempt: r.Attempt, Status: r.Status, StatusCode: r.StatusCode,
			LatencyMS: r.LatencyMS, ResponseDigest: r.ResponseDigest, Error: r.Error, NextAttemptAt: apitime.OptionalTime(r.NextAttemptAt)}
		if r.Attempted {
			out[i].At = apitime.OptionalTime(&r.At)
		}
	}
	return sendList(c, out, next)
}
