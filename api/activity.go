package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// activityHandlers handles the event log for relying parties.
type activityHandlers struct {
	Store *pg.Store
}

func (h *activityHandlers) list(c *fiber.Ctx) error {
	types, err := selectedTypes(c)
	if err != nil {
		return err
	}
	f := events.ActivityFilter{
		Types: types, Subject: c.Query("subject"), Action: c.Query("action"), Decision: c.Query("decision"), Since: queryTime(c, "since"), Until: queryTime(c, "until"),
	}
	rows, next, err := events.QueryActivity(request.Context(c), h.Store.Q, request.Principal(c).Store(), f, page(c))
	if err != nil {
		return err
	}
	out := make([]events.Activity, len(rows))
	for i, row := range rows {
		if out[i], err = events.View(row); err != nil {
			return err
		}
	}
	return replyList(c, asStored, out, next, nil)
}

// eventTypeInfo is an item of listEventTypes.
type eventTypeInfo struct {
	Type           events.Type    `json:"type"`
	Description    string         `json:"description"`
	PayloadSchema  map[string]any `json:"payload_schema"`
	PayloadExample events.Message `json:"payload_example"`
}

func (h *activityHandlers) types(c *fiber.Ctx) error {
	var out []eventTypeInfo
	for _, d := range events.Catalogue() {
		out = append(out, eventTypeInfo{d.Type, d.Description, d.MessageSchema(), d.MessageExample()})
	}
	return replyList(c, asStored, out, "", nil)
}

// selectedTypes returns the public event types that the type parameter matches; all types if it is missing.
func selectedTypes(c *fiber.Ctx) ([]string, error) {
	pattern := c.Query("type")
	types := events.Selected(pattern)
	if len(types) == 0 {
		return nil, problem.Invalid([]any{"query", "type"}, "type matches no event type. GET /api/v1/event-types lists them.", "event_type_unknown")
	}
	return types, nil
}
