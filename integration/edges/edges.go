// Package edges derives the rules of the contract from its document, with boundary values for each rule: values that are just
// valid and values that are just invalid.
//
// Tests send the values to the running service, and make reports lists the rules with their tests. The package panics on a keyword that it
// does not support, so that no rule is missed. Only tests and generators may import it.
package edges

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

type node = map[string]any

// Rule is one rule of one field.
type Rule struct {
	Operation string // the operation that its cases are for
	Status    int    // status of the response that the rule is for; 0 for a request
	Schema    string // component of the document
	Field     string // dotted, [] for the items of a list; empty for the whole
	Keyword   string // such as max_length
	Text      string // description of the rule
	Cases     []Case // empty for a default, which only behaviour can show
}

// Case is a complete body that differs from a valid one in the rule's field only.
type Case struct {
	Body any
	Good bool
	Loc  []any  // location of the violation
	Type string // name of the violated rule
}

// Name returns the name of the rule's subtest.
func (r Rule) Name() string {
	field := r.Field
	if field == "" {
		field = "-"
	}
	return r.Schema + "/" + field + "/" + r.Keyword
}

// Document is the decoded contract.
type Document struct{ root node }

// Parse decodes the document.
func Parse(raw []byte) (*Document, error) {
	d := &Document{}
	return d, json.Unmarshal(raw, &d.root)
}

// Operation is an operation of the contract with the parts that have rules.
type Operation struct {
	ID, Method, Path, Summary string
	Extension                 bool
	Statuses                  []int // below 400
	node                      node
}

// Operations returns the operations sorted by path and method.
func (d *Document) Operations() []Operation {
	var out []Operation
	paths := d.root["paths"].(node)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(node)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			n := item[method].(node)
			op := Operation{
				ID: n["operationId"].(string), Method: strings.ToUpper(method), Path: path, Summary: n["summary"].(string),
				Extension: n["x-countersign-extension"] == true, node: n,
			}
			for status := range n["responses"].(node) {
				if code, err := strconv.Atoi(status); err == nil && code < 400 {
					op.Statuses = append(op.Statuses, code)
				}
			}
			slices.Sort(op.Statuses)
			out = append(out, op)
		}
	}
	return out
}

// Requests returns the rules of all request bodies, each component once.
func (d *Document) Requests() []Rule {
	w := &walker{doc: d, seen: map[string]bool{}}
	for _, op := range d.Operations() {
		if body, ok := op.node["requestBody"].(node); ok {
			w.start(op.ID, 0, content(body)["schema"].(node), nil)
		}
	}
	return w.rules
}

// Responses returns the rules of all responses, each component once. All cases are invalid except those that omit an optional
// field.
func (d *Document) Responses() []Rule {
	w := &walker{doc: d, seen: map[string]bool{}}
	for _, op := range d.Operations() {
		for _, status := range op.Statuses {
			response, _ := op.node["responses"].(node)[strconv.Itoa(status)].(node)
			if c := content(response); c != nil {
				w.start(op.ID, status, c["schema"].(node), c["example"])
			}
		}
	}
	return w.rules
}

func content(n node) node {
	c, _ := n["content"].(node)
	j, _ := c["application/json"].(node)
	return j
}

// walker collects the rules of the schemas of one operation after the other.
type walker struct {
	doc    *Document
	op     string
	status int
	seen   map[string]bool // components whose rules have been added
	rules  []Rule
}

// place is a position of the walker: a complete valid body and the path to a value in it.
type place struct {
	schema, field string
	body          any
	steps         []any
}

func (w *walker) start(op string, status int, schema node, example any) {
	w.op, w.status = op, status
	name, s := w.doc.resolve(schema)
	if alternatives, ok := s["anyOf"].([]any); ok && s["type"] == nil {
		for _, a := range alternatives {
			w.start(op, status, a.(node), nil)
		}
		return
	}
	if example == nil {
		example = w.doc.sample(schema)
	}
	if name == "" {
		name = op // a list
	}
	w.value(s, place{schema: name, body: example})
}

// value adds the rules of the value at p. The schema s must be resolved.
func (w *walker) value(s node, p place) {
	if _, object := s["properties"]; object {
		w.object(s, p)
		return
	}
	if items, list := s["items"].(node); list {
		w.list(items, p)
	}
	w.scalar(s, p)
	if extra, ok := s["additionalProperties"].(node); ok {
		key := "operator_continuity"
		w.field(extra, p.to(key, p.field+".*", w.doc.sample(extra)))
	}
}

func (w *walker) list(items node, p place) {
	list, _ := p.at().([]any)
	if len(list) == 0 {
		list = []any{w.doc.sample(items)}
	}
	inner := p.with(list)
	inner.steps = append(slices.Clip(inner.steps), 0)
	inner.field += "[]"
	w.field(items, inner)
}

// object adds the rules of an object and of its properties. The rules of a component are added once.
func (w *walker) object(s node, p place) {
	if p.field == "" {
		if w.seen[p.schema] {
			return
		}
		w.seen[p.schema] = true
	}
	w.closed(s, p)
	props := s["properties"].(node)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		prop := props[name].(node)
		inner := p.to(name, join(p.field, name), w.doc.sample(prop))
		if current, ok := p.member(name); ok && current != nil {
			inner = p.to(name, join(p.field, name), current)
		}
		w.presence(inner, slices.Contains(required, any(name)))
		w.field(prop, inner)
	}
}

// field adds the rules of a property or list item: its type, whether it can be null, and the others. Rules of an object with a
// component of its own have that component's name.
func (w *walker) field(schema node, p place) {
	name, s := w.doc.resolve(schema)
	s, nullable := unwrap(w.doc, &name, s)
	w.types(s, nullable, p)
	if _, object := s["properties"]; object && name != "" {
		p.schema, p.field = name, ""
	}
	w.value(s, p)
}

// unwrap removes the alternative null from a schema.
func unwrap(d *Document, name *string, s node) (node, bool) {
	if alternatives, ok := s["anyOf"].([]any); ok {
		nullable := false
		var inner node
		for _, a := range alternatives {
			n := a.(node)
			if n["type"] == "null" {
				nullable = true
				continue
			}
			if inner == nil {
				*name, inner = d.resolve(n)
			}
		}
		if len(alternatives) == 2 && nullable {
			return inner, true
		}
		if inner != nil { // forms of one value, such as a list or an object: the boundaries of the first are tried
			return inner, nullable
		}
		panic(fmt.Sprintf("edges: anyOf of %s has no schema", *name))
	}
	if types, ok := s["type"].([]any); ok {
		out := maps.Clone(s)
		for _, t := range types {
			if t != "null" {
				out["type"] = t
			}
		}
		return out, slices.Contains(types, any("null"))
	}
	return s, false
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// Example returns the example of an operation's body; false if it has no body.
func (d *Document) Example(operation string) (any, bool) {
	for _, op := range d.Operations() {
		if body, ok := op.node["requestBody"].(node); ok && op.ID == operation {
			return d.sample(content(body)["schema"].(node)), true
		}
	}
	return nil, false
}
