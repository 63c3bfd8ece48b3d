package scim

import (
	"strings"

	parser "github.com/scim2/filter-parser/v2"
)

// Bounds of a filter, and of the path of a PATCH operation.
const (
	maxFilter      = 1024 // bytes
	maxDepth       = 8    // nested brackets
	maxComparisons = 50
)

// Filter is a filter of a list: exactly one of its fields is set.
type Filter struct {
	Not        *Filter
	And, Or    []*Filter // two
	Comparison *Comparison
}

// Comparison compares an attribute, in lower case with the names of its parts, such as name.givenname. Attributes of the enterprise extension have no
// prefix. Operator is in lower case. Value is a string, a number, a bool or nil; nil for pr.
type Comparison struct {
	Attribute string
	Operator  string
	Value     any
}

// ParseFilter reads a filter (RFC 7644, section 3.4.2.2).
func ParseFilter(text string) (*Filter, error) {
	if err := bounded(text, InvalidFilter); err != nil {
		return nil, err
	}
	expression, err := parser.ParseFilter([]byte(text))
	if err != nil {
		return nil, Bad(InvalidFilter, "The filter cannot be read. It is like userName eq \"ann\" and active eq true (RFC 7644, section 3.4.2.2).")
	}
	left := maxComparisons
	return newFilter(expression, "", &left)
}

// bounded refuses a text that is too long or too deep, before it is parsed.
func bounded(text, scimType string) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '(' || c == '['):
			depth++
		case !quoted && (c == ')' || c == ']'):
			depth--
		}
		if depth > maxDepth {
			return Bad(scimType, "Brackets are nested more than %d deep.", maxDepth)
		}
	}
	if len(text) > maxFilter {
		return Bad(scimType, "It has %d bytes; the limit is %d.", len(text), maxFilter)
	}
	return nil
}

// newFilter converts an expression. Attributes in the brackets of a value path are below its attribute.
func newFilter(e parser.Expression, below string, left *int) (*Filter, error) {
	switch e := e.(type) {
	case *parser.LogicalExpression:
		a, err := newFilter(e.Left, below, left)
		if err != nil {
			return nil, err
		}
		b, err := newFilter(e.Right, below, left)
		if e.Operator == parser.OR {
			return &Filter{Or: []*Filter{a, b}}, err
		}
		return &Filter{And: []*Filter{a, b}}, err
	case *parser.NotExpression:
		f, err := newFilter(e.Expression, below, left)
		return &Filter{Not: f}, err
	case *parser.ValuePath:
		return newFilter(e.ValueFilter, attributeOf(e.AttributePath)+".", left)
	case *parser.AttributeExpression:
		if *left--; *left < 0 {
			return nil, Bad(InvalidFilter, "The filter has more than %d comparisons.", maxComparisons)
		}
		return &Filter{Comparison: &Comparison{Attribute: below + attributeOf(e.AttributePath), Operator: strings.ToLower(string(e.Operator)), Value: e.CompareValue}}, nil
	}
	return nil, Bad(InvalidFilter, "The filter cannot be read.")
}

// attributeOf returns an attribute without the URI of its schema.
func attributeOf(p parser.AttributePath) string {
	out := p.AttributeName
	if p.SubAttribute != nil {
		out += "." + *p.SubAttribute
	}
	return strings.ToLower(out)
}
