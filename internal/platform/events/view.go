package events

import (
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/models"
)

// Activity is an event in the form of the activity list (GET /api/v1/activity) and the event stream.
type Activity struct {
	ID            string         `json:"id"`
	Type          string         `json:"type"`
	At            string         `json:"at"`
	Subject       *string        `json:"subject"`
	Action        *string        `json:"action"`
	Authorization *string        `json:"authorization"`
	Data          map[string]any `json:"data"`
}

// View converts an event to the form of the activity list and the stream.
func View(row models.Event) (Activity, error) {
	data, err := Payload(row)
	if err != nil {
		return Activity{}, err
	}
	return Activity{ID: row.ID, Type: row.Type, At: apitime.Time(row.At), Subject: row.Subject, Action: row.Action,
		Authorization: row.AuthorizationID, Data: data}, nil
}

// Message is the body of a webhook in the format of Standard Webhooks. The same event always produces the same bytes, so that the
// signature of a retry covers the same body.
type Message struct {
	Type      string         `json:"type"`
	Timestamp string         `json:"timestamp"`
	Data      map[string]any `json:"data"`
	// Display has the details of the request that a hold is about, for endpoints that include them; otherwise it is left out.
	Display any `json:"display,omitempty"`
}

// NewMessage returns the webhook body of an event.
func NewMessage(row models.Event) (Message, error) {
	data, err := Payload(row)
	return Message{Type: row.Type, Timestamp: apitime.Time(row.At), Data: data}, err
}

// MessageSchema returns the JSON Schema (2020-12) of a type's webhook body.
func (d Definition) MessageSchema() map[string]any {
	properties := map[string]any{"type": map[string]any{"const": string(d.Type)}, "timestamp": timestamp, "data": d.Schema}
	if ShowsDetails(d.Type) {
		properties["display"] = detailsSchema
	}
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": properties, "required": []any{"type", "timestamp", "data"}, "additionalProperties": false}
}

// ShowsDetails reports whether the webhook body of a type may have the details of a request: those of holds, which people are
// notified of.
func ShowsDetails(t Type) bool { return strings.HasPrefix(string(t), "hold.") }

// detailsSchema describes the display of a webhook body.
var detailsSchema = map[string]any{
	"description": "The details of the request that a person is shown, if the endpoint includes them (include_details).",
	"type":        "object", "required": []any{"details"}, "additionalProperties": false,
	"properties": map[string]any{"details": map[string]any{"type": "array", "items": map[string]any{
		"type": "object", "required": []any{"label", "value"}, "additionalProperties": false,
		"properties": map[string]any{"label": map[string]any{"type": "string"}, "value": map[string]any{"type": "string"}},
	}}},
}

// MessageExample returns a webhook body that is valid under MessageSchema.
func (d Definition) MessageExample() Message {
	return Message{Type: string(d.Type), Timestamp: "2026-03-01T09:00:00.000Z", Data: d.Example}
}

// Selected returns the public types that a pattern matches; every public type for the empty pattern.
func Selected(pattern string) []string {
	var out []string
	for _, d := range catalogue {
		if d.Public && (pattern == "" || Matches([]string{pattern}, d.Type)) {
			out = append(out, string(d.Type))
		}
	}
	return out
}
