package events

import "github.com/countersign-dev/countersign/internal/platform/canonical"

// Data holds the fields of one type of event beside the envelope (scope, time, actor, subject, action, authorization,
// decision). Each type has a struct of its own, so an event cannot carry the data of another type. The struct is the only
// definition of the type's fields: the JSON Schema in the catalogue is generated from it.
//
// A field whose tag has omitempty or omitzero is optional in the schema; every other field is required. Optional numbers and
// flags are pointers, so that 0 and false are written. The tag schema narrows a field's values: "date-time" (RFC 3339, UTC,
// milliseconds), "digest" ("sha256:" and 64 hexadecimal digits), a list of values separated by "|", "null" for a list that
// may be null, and "empty" for a text that may be empty.
//
// Stored events and webhook bodies are immutable: fields may be added as optional ones, never renamed or removed.
type Data interface {
	EventType() Type
}

// Change holds the digests of a document before and after a change. Anyone with the documents can show that they are the
// ones; the log reveals neither. A document that did not exist has no digest.
type Change struct {
	Before string `json:"before,omitempty" schema:"digest"`
	After  string `json:"after,omitempty" schema:"digest"`
}

// NewChange digests both documents in their canonical JSON form; nil stands for no document.
func NewChange(before, after any) (Change, error) {
	var c Change
	for _, side := range []struct {
		document any
		digest   *string
	}{{before, &c.Before}, {after, &c.After}} {
		if side.document == nil {
			continue
		}
		digest, err := canonical.Digest(side.document)
		if err != nil {
			return Change{}, err
		}
		*side.digest = digest
	}
	return c, nil
}
