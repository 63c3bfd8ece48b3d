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

// Violation is one fault of a request: where it is, what is wrong in words, and the rule's stable name.
type Violation struct {
	Loc  []any // starts with "body", "path" or "query"; then property names (string) and indexes (int)
	Msg  string
	Type string
}

// maxViolations bounds an answer: a hostile body could otherwise be answered with megabytes.
const maxViolations = 100

// ValidateBody checks a decoded body (as encoding/json decodes into any; numbers float64 or json.Number) against the
// operation's request schema and returns every fault at once, ordered by place, nil where there is none. An
// operation without a request schema accepts anything. Numbers must be finite: the decoder sees to it.
func (c *Contract) ValidateBody(operationID string, v any) []Violation {
	op := c.byID[operationID]
	if op == nil {
		panic("openapi: no operation " + operationID) // a route table that the document does not have; tests see it first
	}
	if op.body == nil || op.fast.accept(v) {
		return nil
	}
	err := op.faults(v)
	if err == nil {
		return op.fast.spelling(v, []any{"body"}, nil)
	}
	t := translation{root: v, prefix: []any{"body"}, label: "the body"}
	return t.violations(err)
}

// faults asks the validator, about the body with overlong lists of faults cut where there are such lists.
func (op *operation) faults(v any) error {
	if cut, changed := op.fast.trim(v); changed {
		if err := op.body.Validate(cut); err != nil {
			return err
		}
	}
	return op.body.Validate(v)
}

// translation turns the validator's tree of errors into a flat list for the caller.
type translation struct {
	root   any
	prefix []any
	label  string // what the root is called in messages
	out    []Violation
}

func (t *translation) violations(err error) []Violation {
	var tree *jsonschema.ValidationError
	if !errors.As(err, &tree) {
		return []Violation{{Loc: t.prefix, Msg: t.label + " is not valid", Type: "value_error"}}
	}
	t.walk(tree)
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

// walk descends to the leaves. Of the branches of "this schema or null" the null branch is dropped, so that one
// fault gives one message.
func (t *translation) walk(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		t.walkAlternatives(e)
	default:
		if len(e.Causes) == 0 {
			t.leaf(e, false)
			return
		}
		for _, c := range e.Causes {
			t.walk(c)
		}
	}
}

func (t *translation) walkAlternatives(e *jsonschema.ValidationError) {
	for _, c := range e.Causes {
		if isNullBranch(c) {
			continue
		}
		if leaf := soleLeaf(c); leaf != nil && len(leaf.InstanceLocation) == len(e.InstanceLocation) {
			t.leaf(leaf, true)
		} else {
			t.walk(c)
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

// leaf adds the violations of one failed keyword. nullable says that null was an alternative.
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

// locate turns the validator's path of strings into names and indexes, and into a name for people.
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

// shorten bounds a name that came from the caller before it is echoed.
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
