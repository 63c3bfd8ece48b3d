package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/models"
)

// Definition is the catalogue's entry of a type.
type Definition struct {
	Type        Type
	Public      bool
	Description string
	// JSON Schema 2020-12 of the data returned by Payload.
	Schema map[string]any
	// Valid under Schema; nil for audit-only types.
	Example map[string]any
	// The structs of the type's events; several only for audit-only types.
	data []Data
}

// Data returns the zero value of each struct that events of the type may carry.
func (d Definition) Data() []Data { return slices.Clone(d.data) }

// envelope lists the properties that Payload adds to a type's own data from the fields of the entry.
var envelope = []string{"environment", "subject", "action", "authorization", "decision"}

// Lookup returns the definition of a type; false if the type is unknown.
func Lookup(t Type) (Definition, bool) {
	i, ok := byType()[t]
	if !ok {
		return Definition{}, false
	}
	return catalogue[i], true
}

// Catalogue returns every public type, in the order of the documentation.
func Catalogue() []Definition {
	return slices.DeleteFunc(slices.Clone(catalogue), func(d Definition) bool { return !d.Public })
}

// Types returns every type, public or not, in the order of the documentation.
func Types() []Type {
	out := make([]Type, len(catalogue))
	for i, d := range catalogue {
		out[i] = d.Type
	}
	return out
}

// byType maps types to their position in the catalogue.
var byType = sync.OnceValue(func() map[Type]int {
	out := make(map[Type]int, len(catalogue))
	for i, d := range catalogue {
		out[d.Type] = i
	}
	return out
})

// Payload returns an event's data in the form of the activity list, the stream and webhooks: the type's own fields, the
// environment, and the subject, action, authorization and decision of the entry if they are set.
func Payload(row models.Event) (map[string]any, error) {
	out := map[string]any{}
	if row.Data != nil {
		dec := json.NewDecoder(bytes.NewReader(row.Data))
		dec.UseNumber() // keeps a number's digits unchanged
		if err := dec.Decode(&out); err != nil {
			return nil, fmt.Errorf("event %s: %w", row.ID, err)
		}
	}
	out["environment"] = row.EnvironmentID
	for name, v := range map[string]*string{"subject": row.Subject, "action": row.Action,
		"authorization": row.AuthorizationID, "decision": row.Decision} {
		if v != nil {
			out[name] = *v
		}
	}
	return out, nil
}

// Check validates a row's data against the schema of its type. It also returns an error if the data contains a field of the
// envelope. A row that was erased or altered is not validated: Check returns ErrErased or ErrAltered.
func Check(row models.Event) error {
	sum, err := Digest(row)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum, row.Digest) {
		return ErrAltered
	}
	own := map[string]json.RawMessage{}
	if err := json.Unmarshal(row.Data, &own); err != nil {
		return fmt.Errorf("event %s: %w", row.Type, err)
	}
	for _, name := range envelope {
		if _, ok := own[name]; ok {
			return fmt.Errorf("event %s: %s belongs in the entry, not in its data", row.Type, name)
		}
	}
	shown, err := Payload(row)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return fmt.Errorf("event %s: %w", row.Type, err)
	}
	return conforms(Type(row.Type), raw)
}

// conforms validates the data returned by Payload against the schema of a type.
func conforms(t Type, raw []byte) error {
	schema, err := compiled(t)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("event %s: %w", t, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("event %s: data breaks the type's schema: %w", t, err)
	}
	return nil
}

// schemas caches compiled schemas: Type -> *jsonschema.Schema.
var schemas sync.Map

// compiled returns the compiled schema of a type, from the cache after the first call.
func compiled(t Type) (*jsonschema.Schema, error) {
	if s, ok := schemas.Load(t); ok {
		return s.(*jsonschema.Schema), nil
	}
	d, ok := Lookup(t)
	if !ok {
		return nil, fmt.Errorf("event %s: unknown type", t)
	}
	raw, err := json.Marshal(d.Schema)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	name := "event:" + string(t)
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	schemas.Store(t, s)
	return s, nil
}
