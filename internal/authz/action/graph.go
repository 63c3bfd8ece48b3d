package action

import (
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// Steps are the unit of the cost of validation, some 10 ns each. The prices were measured. They follow the validator, which visits
// every subschema that applies to a value, and every property of an object on each visit.
const (
	stepsVisit    = 128 // a subschema is applied to a value, with the error it may return
	stepsTrivial  = 64  // so is true or false
	stepsRequired = 8   // one name of required
	stepsEqual    = 2   // two values are compared
	stepsEqualNum = 140 // two numbers are compared: as fractions, whatever their size
	stepsProperty = 6   // one property of the value
	stepsTracked  = 20  // one property or item of the value, if the schema has unevaluated... anywhere
	stepsNumber   = 100 // a number is compared with a bound
	stepsExponent = 250 // the same, of a number beyond 1e15
)

// maxExpansion is the maximum number of subschemas with every reference expanded.
const maxExpansion = 10_000

// node is one subschema: the cost of validating a value against it, and the subschemas that it applies to the value and to its
// parts. A node is immutable once built.
type node struct {
	trivial bool // true, false or {}
	fixed   int  // steps of a visit, whatever the value
	number  bool // compares numbers
	numbers int  // in enum and const: a number is compared with each
	length  bool // checks the length or format of a text
	unique  bool
	program int // instructions of pattern

	// The subschemas of the node, by the part of the value to which they apply.
	same    []*node           // apply to the same value: $ref, allOf, if, ...
	named   map[string]*node  // properties
	folded  map[string]string // the names of properties by their form without case
	matched []matched         // patternProperties
	others  []*node           // apply to every property that is not in named
	keys    *node             // propertyNames
	leading []*node           // prefixItems
	each    []*node           // apply to every item
}

// matched is one entry of patternProperties.
type matched struct {
	program int
	node    *node
}

// graph is a compiled schema as nodes.
type graph struct {
	root   *node
	tracks bool // has unevaluatedProperties or unevaluatedItems
}

// complexError is the reason why a schema costs too much.
type complexError struct{ why string }

// Error returns the reason, as a clause without a capital or a full stop.
func (e *complexError) Error() string { return e.why }

// newGraph builds the nodes of a compiled schema. It refuses a schema that cannot be checked at a bounded cost. Anchors counts each
// $dynamicAnchor in the document.
func newGraph(root *jsonschema.Schema, anchors map[string]int) (*graph, error) {
	b := builder{nodes: map[*jsonschema.Schema]*node{}, anchors: map[string]int{}}
	g := &graph{root: b.of(root)}
	// The schema may be recursive, so the nodes are created first and filled from a list.
	for len(b.todo) > 0 {
		s := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.fill(b.nodes[s], s)
	}
	for _, anchor := range b.dynamic {
		b.recursive = b.recursive || anchors[anchor] > 1 || b.anchors[anchor] > 1
	}
	// A target that depends on the path to a reference cannot be counted in advance.
	if b.recursive {
		return nil, &complexError{"the target of a $dynamicRef or $recursiveRef is known only when a value is checked: use $ref"}
	}
	g.tracks = b.tracks
	if hasCircle(g.root) {
		return nil, &complexError{"a $ref leads back to itself without descending into the value"}
	}
	if n := (expansion{sizes: map[*node]int{}, open: map[*node]bool{}}).of(g.root); n > maxExpansion {
		return nil, &complexError{fmt.Sprintf("with its references written out it has more than %d subschemas", maxExpansion)}
	}
	return g, nil
}

// builder builds one node per subschema.
type builder struct {
	nodes     map[*jsonschema.Schema]*node
	todo      []*jsonschema.Schema
	anchors   map[string]int // how often each $dynamicAnchor is reached
	dynamic   []string       // the anchors that a $dynamicRef looks for
	tracks    bool
	recursive bool // a reference has no fixed target
}

// of returns the node of a subschema, which is filled in later; nil for nil.
func (b *builder) of(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := b.nodes[s]; ok {
		return n
	}
	n := &node{}
	b.nodes[s] = n
	b.todo = append(b.todo, s)
	return n
}

// add appends the nodes of the subschemas that are not nil.
func (b *builder) add(to []*node, schemas ...*jsonschema.Schema) []*node {
	for _, s := range schemas {
		if s != nil {
			to = append(to, b.of(s))
		}
	}
	return to
}

// fill computes the cost and the links of a node.
func (b *builder) fill(n *node, s *jsonschema.Schema) {
	if s.Bool != nil {
		n.trivial, n.fixed = true, stepsTrivial
		return
	}
	if s.DynamicAnchor != "" {
		b.anchors[s.DynamicAnchor]++
	}
	n.fixed = stepsVisit + stepsRequired*len(s.Required)
	n.number = s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil
	n.length = s.MinLength != nil || s.MaxLength != nil || s.Format != nil
	n.unique = s.UniqueItems
	n.program = program(s.Pattern)
	if s.Const != nil {
		n.constants(*s.Const)
	}
	if s.Enum != nil {
		n.constants(s.Enum.Values...)
	}
	b.fillSame(n, s)
	b.fillObject(n, s)
	b.fillArray(n, s)
}

// fillSame links the subschemas that apply to the same value.
func (b *builder) fillSame(n *node, s *jsonschema.Schema) {
	n.same = b.add(n.same, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	n.same = b.add(n.same, s.AllOf...)
	n.same = b.add(n.same, s.AnyOf...)
	n.same = b.add(n.same, s.OneOf...)
	for _, dependent := range s.DependentSchemas {
		n.same = b.add(n.same, dependent)
	}
	for _, dependent := range s.Dependencies {
		switch d := dependent.(type) {
		case *jsonschema.Schema:
			n.same = b.add(n.same, d)
		case []string:
			n.fixed += stepsRequired * (1 + len(d))
		}
	}
	for _, names := range s.DependentRequired {
		n.fixed += stepsRequired * (1 + len(names))
	}
	b.recursive = b.recursive || (s.RecursiveRef != nil && s.RecursiveRef.RecursiveAnchor)
	if d := s.DynamicRef; d != nil {
		if d.Anchor != "" && d.Ref.DynamicAnchor == d.Anchor {
			b.dynamic = append(b.dynamic, d.Anchor)
		}
		n.same = b.add(n.same, d.Ref)
	}
}

// fillObject links the subschemas of properties.
func (b *builder) fillObject(n *node, s *jsonschema.Schema) {
	if len(s.Properties) > 0 {
		n.named, n.folded = make(map[string]*node, len(s.Properties)), make(map[string]string, len(s.Properties))
	}
	for name, sub := range s.Properties {
		n.named[name], n.folded[strictjson.Fold(name)] = b.of(sub), name
	}
	for re, sub := range s.PatternProperties {
		n.matched = append(n.matched, matched{program(re), b.of(sub)})
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		n.others = b.add(n.others, sub)
	}
	n.others = b.add(n.others, s.UnevaluatedProperties)
	n.keys = b.of(s.PropertyNames)
	b.tracks = b.tracks || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
}

// fillArray links the subschemas of items.
func (b *builder) fillArray(n *node, s *jsonschema.Schema) {
	n.leading = b.add(n.leading, s.PrefixItems...)
	n.each = b.add(n.each, s.Items2020, s.Contains, s.UnevaluatedItems)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.each = b.add(n.each, items)
	case []*jsonschema.Schema:
		n.leading = b.add(n.leading, items...)
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		n.each = b.add(n.each, sub)
	}
}

// program returns the number of instructions of a pattern.
func program(re jsonschema.Regexp) int {
	if p, ok := re.(*pattern); ok {
		return p.size
	}
	return 0
}

// constants adds the cost of the values of enum and const. A number costs its full price only if it is compared with a number.
func (n *node) constants(values ...any) {
	for _, v := range values {
		if _, ok := v.(json.Number); ok {
			n.numbers++
			n.fixed += stepsEqual
			continue
		}
		n.fixed += equal(v)
	}
}

// equal returns the maximum cost of comparing a value with another.
func equal(v any) int {
	steps := stepsEqual
	switch v := v.(type) {
	case json.Number, float64:
		steps = stepsEqualNum
	case string:
		steps += len(v) / 64
	case []any:
		for _, item := range v {
			steps += equal(item)
		}
	case map[string]any:
		for _, item := range v {
			steps += stepsEqual + equal(item)
		}
	}
	return steps
}

// parts visits the subschemas that apply to the parts of a value.
func (n *node) parts(visit func(*node)) {
	for _, sub := range n.named {
		visit(sub)
	}
	for _, m := range n.matched {
		visit(m.node)
	}
	for _, list := range [][]*node{n.others, n.leading, n.each} {
		for _, sub := range list {
			visit(sub)
		}
	}
	if n.keys != nil {
		visit(n.keys)
	}
}

// hasCircle reports whether a subschema applies itself to the same value again, directly or through others.
func hasCircle(root *node) bool {
	const open, done = 1, 2
	state := map[*node]int{}
	var circle func(n *node) bool
	circle = func(n *node) bool {
		if state[n] != 0 {
			return state[n] == open
		}
		state[n] = open
		for _, sub := range n.same {
			if circle(sub) {
				return true
			}
		}
		state[n] = done
		return false
	}
	found := false
	seen := map[*node]bool{}
	var each func(n *node)
	each = func(n *node) {
		if found || seen[n] {
			return
		}
		seen[n] = true
		found = circle(n)
		for _, sub := range n.same {
			each(sub)
		}
		n.parts(each)
	}
	each(root)
	return found
}

// expansion counts subschemas with every reference expanded, up to maxExpansion. A recursive subschema, such as that of a tree, is
// counted once on each path: how often it applies depends on the value, where affordable bounds it.
type expansion struct {
	sizes map[*node]int
	open  map[*node]bool
}

// of returns the expanded size of a node.
func (e expansion) of(n *node) int {
	if size, ok := e.sizes[n]; ok {
		return size
	}
	if e.open[n] {
		return 0
	}
	e.open[n] = true
	total := 1
	count := func(sub *node) {
		if total <= maxExpansion {
			total += e.of(sub)
		}
	}
	for _, sub := range n.same {
		count(sub)
	}
	n.parts(count)
	delete(e.open, n)
	e.sizes[n] = min(total, maxExpansion+1)
	return e.sizes[n]
}
