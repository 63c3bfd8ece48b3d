package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// rule is the part of a schema that the client checks responses against. Ref is the name of a schema. Rules are generated as
// JSON, which the client decodes on first use.
type rule struct {
	Ref        string           `json:"ref,omitempty"`
	Type       types            `json:"type,omitempty"`
	Format     string           `json:"format,omitempty"`
	Enum       []any            `json:"enum,omitempty"`
	Minimum    *float64         `json:"minimum,omitempty"`
	Maximum    *float64         `json:"maximum,omitempty"`
	Required   []string         `json:"required,omitempty"`
	Properties map[string]*rule `json:"properties,omitempty"`
	Items      *rule            `json:"items,omitempty"`
	AnyOf      []*rule          `json:"any_of,omitempty"`
	Additional *rule            `json:"additional,omitempty"`
}

// target is where an operation is called: an SDK with a generic call refuses every other request before it sends one.
type target struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Query  []string `json:"query,omitempty"`
	Keyed  bool     `json:"keyed,omitempty"` // takes an Idempotency-Key
}

// rules generates the targets and the 2xx responses of all operations and their schemas, one per line for readable diffs.
func (g *generator) rules() []byte {
	r := ruler{g: g, schemas: map[string]*rule{}}
	responses, targets := map[string]map[string]*rule{}, map[string]target{}
	for path, item := range g.doc.Paths {
		for method, op := range item {
			if !slices.Contains(byHand, op.ID) {
				responses[op.ID] = r.responses(op)
				targets[op.ID] = g.call(method, path, op).target()
			}
		}
	}
	r.named("HTTPValidationError")
	r.named("Problem")
	return []byte("{\n" + lines("operations", targets) + ",\n" + lines("responses", responses) + ",\n" + lines("schemas", r.schemas) + "\n}\n")
}

func (c *call) target() target {
	t := target{Method: c.method, Path: c.path, Keyed: c.keyed}
	for _, p := range c.inQuery {
		t.Query = append(t.Query, p.Name)
	}
	return t
}

func lines[T any](name string, entries map[string]T) string {
	out := make([]string, 0, len(entries))
	for _, key := range sortedKeys(entries) {
		out = append(out, quoted(key)+": "+quoted(entries[key]))
	}
	return quoted(name) + ": {\n" + strings.Join(out, ",\n") + "\n}"
}

func quoted(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // the values were decoded from JSON
	}
	return strings.TrimSpace(b.String())
}

type ruler struct {
	g       *generator
	schemas map[string]*rule
}

// responses returns the rules of an operation's responses by status; nil for no body.
func (r *ruler) responses(op operation) map[string]*rule {
	out := map[string]*rule{}
	for status, response := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		out[status] = nil
		if content, ok := response.Content["application/json"]; ok {
			out[status] = r.rule(content.Schema)
		}
	}
	return out
}

// named adds a schema and the schemas that it refers to.
func (r *ruler) named(name string) {
	if _, there := r.schemas[name]; there {
		return
	}
	r.schemas[name] = nil // stops the recursion of schemas that refer to themselves
	r.schemas[name] = r.rule(r.g.doc.Components.Schemas[name])
}

func (r *ruler) rule(s *schema) *rule {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		r.named(refName(s.Ref))
		return &rule{Ref: refName(s.Ref)}
	}
	out := &rule{Type: s.Type, Format: s.Format, Enum: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum, Required: s.Required,
		Items: r.rule(s.Items), Additional: r.rule(s.Additional.schema)}
	if s.Const != nil {
		out.Enum = []any{s.Const}
	}
	for name, p := range s.Properties {
		if out.Properties == nil {
			out.Properties = map[string]*rule{}
		}
		out.Properties[name] = r.rule(p)
	}
	for _, alternative := range s.AnyOf {
		out.AnyOf = append(out.AnyOf, r.rule(alternative))
	}
	return out
}
