package action

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// maxSteps bounds the cost of checking one context: some 40 ms, and some 20 MB of errors before they are truncated.
const maxSteps = 4_000_000

// affordable reports whether validating the value stays within maxSteps. It follows the traversal of the validator without
// validating, and counts every subschema that may apply. It stops at the limit, so that it costs no more than that itself. Mistaken
// names a property that the schema does not declare, but under another case: who reads it by a struct would take it for that one.
func (g *graph) affordable(v any) (ok bool, mistaken string) {
	m := meter{left: maxSteps, tracks: g.tracks}
	m.visit(g.root, v, 0, 0)
	return m.left >= 0, m.mistaken
}

// meter counts down the remaining steps.
type meter struct {
	left     int
	tracks   bool
	mistaken string
}

// visit counts the application of a subschema to a value. Level is the depth of the value, which every error repeats. Chain is the
// number of subschemas applied to the same value before, which the validator searches for cycles.
func (m *meter) visit(n *node, v any, level, chain int) {
	m.left -= n.fixed + 4*level + chain
	if m.left < 0 || n.trivial {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		m.object(n, v, level)
	case []any:
		m.array(n, v, level)
	case string:
		m.text(n, v)
	case float64:
		m.number(n, v)
	}
	for _, sub := range n.same {
		if m.visit(sub, v, level, chain+1); m.left < 0 {
			return
		}
	}
}

// object counts the subschemas of the properties of an object.
func (m *meter) object(n *node, v map[string]any, level int) {
	m.left -= len(v) * stepsProperty
	if m.tracks {
		m.left -= len(v) * stepsTracked
	}
	if n.named == nil && n.matched == nil && n.others == nil && n.keys == nil {
		return
	}
	for name, value := range v {
		if m.left < 0 {
			return
		}
		if sub, ok := n.named[name]; ok {
			m.visit(sub, value, level+1, 0)
		} else {
			m.fold(n, name)
			for _, sub := range n.others {
				m.visit(sub, value, level+1, 0)
			}
		}
		for _, other := range n.matched {
			m.left -= match(other.program, name)
			m.visit(other.node, value, level+1, 0)
		}
		if n.keys != nil {
			m.visit(n.keys, name, level+1, 0)
		}
	}
}

// fold looks for a declared property that differs from name in case only.
func (m *meter) fold(n *node, name string) {
	if len(n.folded) == 0 {
		return
	}
	m.left -= len(name)
	if _, found := n.folded[strictjson.Fold(name)]; found {
		m.mistaken = name
	}
}

// array counts the subschemas of the items of an array.
func (m *meter) array(n *node, v []any, level int) {
	if m.tracks {
		m.left -= len(v) * stepsTracked
	}
	if n.unique {
		m.left -= distinct(v)
	}
	for i, sub := range n.leading {
		if i == len(v) || m.left < 0 {
			return
		}
		m.visit(sub, v[i], level+1, 0)
	}
	for _, sub := range n.each {
		for _, item := range v {
			if m.left < 0 {
				return
			}
			m.visit(sub, item, level+1, 0)
		}
	}
}

// text counts the checks of a string.
func (m *meter) text(n *node, v string) {
	if n.length {
		m.left -= len(v) / 8
	}
	if n.program > 0 {
		m.left -= match(n.program, v)
	}
}

// number counts the comparisons of a number.
func (m *meter) number(n *node, v float64) {
	m.left -= stepsEqualNum * n.numbers
	switch {
	case !n.number:
	case math.Abs(v) < 1e15:
		m.left -= stepsNumber
	default:
		m.left -= stepsExponent
	}
}

// match returns the maximum cost of matching a text: every instruction at every character.
func match(program int, text string) int { return 1 + program*(len(text)+1)/8 }

// pairwise is the number of items up to which the validator compares all pairs; of more items it compares those with equal hashes.
const pairwise = 20

// distinct returns the cost of checking that all items of a list are different.
func distinct(items []any) int {
	total := 0
	for _, item := range items {
		total += equal(item)
	}
	if len(items) <= pairwise {
		return total * len(items)
	}
	// The hash omits the sign of a number and the end of a list, object or text. Different items can therefore share a hash, and
	// are compared.
	steps, seen := total, map[uint64]int{}
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, item := range items {
		h.Reset()
		flatten(&h, item)
		steps += seen[h.Sum64()] * equal(item)
		seen[h.Sum64()]++
	}
	return steps
}

// hashSeed seeds the hashes of distinct for the life of the process.
var hashSeed = maphash.MakeSeed()

// flatten writes the bytes of a value that the validator hashes.
func flatten(h *maphash.Hash, v any) {
	switch v := v.(type) {
	case map[string]any:
		_ = h.WriteByte(0)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			flatten(h, name)
			flatten(h, v[name])
		}
	case []any:
		_ = h.WriteByte(1)
		for _, item := range v {
			flatten(h, item)
		}
	case string:
		_ = h.WriteByte(4)
		_, _ = h.WriteString(v)
	case float64:
		maphash.WriteComparable(h, math.Abs(v)) // the validator's hash ignores the sign
	default:
		maphash.WriteComparable(h, v)
	}
}
