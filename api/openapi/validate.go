package openapi

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is one violation of the contract by a request: its location, a message, and the stable name of the rule.
type Violation struct {
	Loc  []any // starts with "body", "path" or "query"; then property names (string) and indexes (int)
	Msg  string
	Type string
}

// maxViolations limits the number of violations: the response to a hostile body would otherwise have megabytes.
const maxViolations = 100

// ValidateBody checks a decoded body (as encoding/json decodes into any, with numbers as float64 or json.Number) against the
// operation's request schema. It returns all violations ordered by location, at most maxViolations; nil if there are none. An
// operation without a request schema accepts anything. Numbers must be finite, which the decoder ensures.
func (c *Contract) ValidateBody(operationID string, v any) []Violation {
	op := c.byID[operationID]
	if op == nil {
		panic("openapi: no operation " + operationID) // the route table and the document differ, which tests catch
	}
	if op.body == nil {
		return nil
	}
	err := op.faults(v)
	if err == nil {
		return spelling(op.body, v, []any{"body"}, nil)
	}
	t := translation{root: v, prefix: []any{"body"}, label: "the body"}
	return t.violations(err)
}

// faults runs the validator, on a trimmed copy if the body has long lists of invalid items.
func (op *operation) faults(v any) error {
	if cut, changed := trim(op.body, v); changed {
		if err := op.body.Validate(cut); err != nil {
			return err
		}
	}
	return op.body.Validate(v)
}

// translation turns the validator's tree of errors into a flat list of violations.
type translation struct {
	root   any
	prefix []any
	label  string // name of the root in messages
	out    []Violation
}

func (t *translation) violations(err error) []Violation {
	var tree *jsonschema.ValidationError
	if !errors.As(err, &tree) {
		return []Violation{{Loc: t.prefix, Msg: t.label + " is not valid", Type: "value_error"}}
	}
	t.descend(tree)
	sort.SliceStable(t.out, func(i, j int) bool {
		a, b := t.out[i], t.out[j]
		if c := slices.CompareFunc(a.Loc, b.Loc, compareStep); c != 0 {
			return c < 0
		}
		return a.Type < b.Type
	})
	if len(t.out) > maxViolations {
		t.out = t.out[:maxViolations]
	}
	return t.out
}

func compareStep(a, b any) int {
	x, okX := a.(int)
	y, okY := b.(int)
	if okX && okY {
		return x - y
	}
	s, _ := a.(string)
	r, _ := b.(string)
	return strings.Compare(s, r)
}

// descend goes to the leaves. It drops the null branch of "this schema or null", so that one violation gives one message.
func (t *translation) descend(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		t.descendAlternatives(e)
	default:
		if len(e.Causes) == 0 {
			t.leaf(e, false)
			return
		}
		for _, c := range e.Causes {
			t.descend(c)
		}
	}
}

func (t *translation) descendAlternatives(e *jsonschema.ValidationError) {
	for _, c := range e.Causes {
		if isNullBranch(c) {
			continue
		}
		if leaf := soleLeaf(c); leaf != nil && len(leaf.InstanceLocation) == len(e.InstanceLocation) {
			t.leaf(leaf, true)
		} else {
			t.descend(c)
		}
		return
	}
}

func isNullBranch(e *jsonschema.ValidationError) bool {
	k, ok := e.ErrorKind.(*kind.Type)
	return ok && len(k.Want) == 1 && k.Want[0] == "null"
}

func soleLeaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	if len(e.Causes) > 1 {
		return nil
	}
	return e
}

// leaf adds the violations of one failed keyword. nullable is true if null was an alternative.
func (t *translation) leaf(e *jsonschema.ValidationError, nullable bool) {
	loc, name := t.locate(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, m := range k.Missing {
			t.add(append(slices.Clone(loc), m), join(name, m)+" is required", "missing")
		}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, p := range k.Properties[:min(len(k.Properties), maxViolations)] {
			p = shorten(p)
			t.add(append(slices.Clone(loc), p), join(name, p)+" is not a property of "+t.named(name), "extra_forbidden")
		}
	default:
		msg, typ := describe(e.ErrorKind, nullable)
		t.add(loc, t.named(name)+" "+msg, typ)
	}
}

func (t *translation) add(loc []any, msg, typ string) {
	t.out = append(t.out, Violation{Loc: loc, Msg: msg, Type: typ})
}

func (t *translation) named(name string) string {
	if name == "" {
		return t.label
	}
	return name
}

// locate converts the validator's path of strings to property names and indexes, and to the name used in messages.
func (t *translation) locate(path []string) (loc []any, name string) {
	loc = slices.Clone(t.prefix)
	var b strings.Builder
	at := t.root
	for _, step := range path {
		switch v := at.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return loc, b.String()
			}
			loc, at = append(loc, i), v[i]
			b.WriteString("[" + step + "]")
		case map[string]any:
			at = v[step]
			step = shorten(step)
			loc = append(loc, step)
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return loc, b.String()
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// shorten limits the length of a caller's property name in messages.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "..."
}
