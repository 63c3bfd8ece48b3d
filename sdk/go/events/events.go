// Package events has the payload of every type of event, in the form of webhooks and of the event stream. It reads events and
// verifies nothing: the package webhook verifies signatures.
package events

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Payload is the data of an event: a pointer to the struct of its type, or *Unknown.
type Payload interface {
	// EventType is the name of the type, such as hold.approved.
	EventType() string
}

// Unknown is an event of a type that a later version of the service added. Ignore it.
type Unknown struct {
	Type string
	Data json.RawMessage
}

// EventType is the name of the type.
func (u *Unknown) EventType() string { return u.Type }

// Parse decodes the data of an event by its type. A type that this package does not have is *Unknown and no error, and fields
// that it does not have are ignored: a later version of the service may send both. An error means that the data is not a JSON
// object, or that a field has another type than in the contract.
func Parse(eventType string, data []byte) (Payload, error) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		return nil, fmt.Errorf("events: %s: the data is not a JSON object", eventType)
	}
	create, known := types[eventType]
	if !known {
		return &Unknown{Type: eventType, Data: json.RawMessage(data)}, nil
	}
	payload := create()
	if err := json.Unmarshal(data, payload); err != nil {
		return nil, fmt.Errorf("events: %s: the data: %w", eventType, err)
	}
	return payload, nil
}
