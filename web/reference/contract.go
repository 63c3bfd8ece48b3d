package reference

import (
	"bytes"
	"encoding/json"
	"iter"
)

// contract is the part of the OpenAPI document that the pages show.
type contract struct {
	Info struct{ Title, Description, Version string }
	Tags []struct{ Name, Description string }
	// Paths are in the order of the document, as is everything of type ordered.
	Paths      ordered[pathItem]
	Components struct {
		Schemas    ordered[*schema]
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type pathItem struct{ Get, Post, Put, Patch, Delete *operation }

func (p pathItem) methods() iter.Seq2[string, *operation] {
	return func(yield func(string, *operation) bool) {
		all := []*operation{p.Get, p.Post, p.Put, p.Patch, p.Delete}
		for i, name := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if all[i] != nil && !yield(name, all[i]) {
				return
			}
		}
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Extension                         bool `json:"x-countersign-extension"`
	Deprecated                        bool
	Security                          []map[string][]string
	Parameters                        []parameter
	RequestBody                       *struct{ Content map[string]media }
	Responses                         ordered[response]
}

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]media
}

type media struct {
	Schema  *schema
	Example json.RawMessage
}

// schema is a JSON Schema of the kinds that the contract uses.
type schema struct {
	Ref                               string `json:"$ref"`
	Type                              any    // a string or a list of strings
	Description, Format, Pattern      string
	Enum                              []any
	Const, Default                    any
	MinLength, MaxLength              *int
	MinItems, MaxItems, MaxProperties *int
	Minimum, Maximum                  *json.Number
	Items                             *schema
	Properties                        ordered[*schema]
	Required                          []string
	AdditionalProperties              json.RawMessage
	AnyOf                             []*schema
	Examples                          []json.RawMessage
	Extension                         bool `json:"x-countersign-extension"`
}

// ordered is a JSON object whose members stay in the order of the document.
type ordered[T any] struct {
	keys   []string
	values map[string]T
}

// UnmarshalJSON decodes an object.
func (o *ordered[T]) UnmarshalJSON(raw []byte) error {
	o.values = map[string]T{}
	if err := json.Unmarshal(raw, &o.values); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
		o.keys = append(o.keys, key.(string)) // keys of an object are strings
	}
	return nil
}

// all returns the members in order.
func (o ordered[T]) all() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, k := range o.keys {
			if !yield(k, o.values[k]) {
				return
			}
		}
	}
}
