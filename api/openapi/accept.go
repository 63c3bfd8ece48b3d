package openapi

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// accepter accepts bodies that match a schema without allocating; the validator makes about ninety allocations for an
// authorize request. A body that it does not accept, because it is invalid or its schema has an unsupported keyword, goes to
// the validator, which decides and reports the violations.
type accepter struct {
	never bool // the schema has an unsupported keyword: always use the validator

	types    typeSet
	enum     []any
	format   *jsonschema.Format
	pattern  jsonschema.Regexp
	ref      *accepter
	anyOf    []*accepter
	required []string
	props    map[string]*accepter
	extra    *accepter // for properties that are not in props; nil accepts any
	closed   bool      // only props are allowed
	maxProps int
	items    *accepter
	unique   bool

	minLength, maxLength int // characters or items
	minItems, maxItems   int
	min, max             float64
}

type typeSet uint8

const (
	isNull typeSet = 1 << iota
	isBool
	isString
	isNumber
	isInteger
	isArray
	isObject
)

var typeBits = map[string]typeSet{
	"null": isNull, "boolean": isBool, "string": isString, "number": isNumber, "integer": isInteger, "array": isArray, "object": isObject,
}

// accepters creates one accepter per schema, so that shared and recursive schemas share theirs.
type accepters map[*jsonschema.Schema]*accepter

func (all accepters) of(s *jsonschema.Schema) *accepter {
	if s == nil {
		return nil
	}
	if a, ok := all[s]; ok {
		return a
	}
	a := &accepter{
		minLength: atLeast(s.MinLength), maxLength: atMost(s.MaxLength),
		minItems: atLeast(s.MinItems), maxItems: atMost(s.MaxItems), maxProps: atMost(s.MaxProperties),
		min: math.Inf(-1), max: math.Inf(1),
		format: s.Format, pattern: s.Pattern, required: s.Required, unique: s.UniqueItems,
	}
	all[s] = a
	if !known(s) {
		a.never = true
		return a
	}
	if s.Types != nil {
		for _, t := range s.Types.ToStrings() {
			a.types |= typeBits[t]
		}
	}
	if s.Enum != nil {
		a.enum = s.Enum.Values
	}
	if s.Const != nil {
		a.enum = []any{*s.Const}
	}
	if s.Minimum != nil {
		a.min, _ = s.Minimum.Float64()
	}
	if s.Maximum != nil {
		a.max, _ = s.Maximum.Float64()
	}
	a.ref, a.items = all.of(s.Ref), all.of(s.Items2020)
	for _, branch := range s.AnyOf {
		a.anyOf = append(a.anyOf, all.of(branch))
	}
	if len(s.Properties) > 0 {
		a.props = make(map[string]*accepter, len(s.Properties))
		for name, p := range s.Properties {
			a.props[name] = all.of(p)
		}
	}
	switch extra := s.AdditionalProperties.(type) {
	case bool:
		a.closed = !extra
	case *jsonschema.Schema:
		a.extra = all.of(extra)
	}
	return a
}

// known reports whether the accepter supports all keywords of the schema.
func known(s *jsonschema.Schema) bool {
	return s.Bool == nil && s.RecursiveRef == nil && s.DynamicRef == nil && s.Not == nil && s.AllOf == nil && s.OneOf == nil &&
		s.If == nil && s.MinProperties == nil && s.PropertyNames == nil && s.PatternProperties == nil &&
		s.Dependencies == nil && s.DependentRequired == nil && s.DependentSchemas == nil && s.UnevaluatedProperties == nil &&
		s.Contains == nil && s.Items == nil && s.AdditionalItems == nil && s.PrefixItems == nil && s.UnevaluatedItems == nil &&
		s.ContentEncoding == nil && s.ContentMediaType == nil && s.ContentSchema == nil &&
		s.ExclusiveMaximum == nil && s.ExclusiveMinimum == nil && s.MultipleOf == nil && len(s.Extensions) == 0
}

func atLeast(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func atMost(n *int) int {
	if n == nil {
		return math.MaxInt
	}
	return *n
}

func (a *accepter) accept(v any) bool {
	if a.never || (a.ref != nil && !a.ref.accept(v)) || (a.enum != nil && !a.listed(v)) {
		return false
	}
	if a.format != nil && a.format.Validate(v) != nil {
		return false
	}
	if a.anyOf != nil && !slices.ContainsFunc(a.anyOf, func(b *accepter) bool { return b.accept(v) }) {
		return false
	}
	switch v := v.(type) {
	case nil:
		return a.allows(isNull)
	case bool:
		return a.allows(isBool)
	case string:
		return a.allows(isString) && a.acceptString(v)
	case float64:
		return a.acceptNumber(v)
	case []any:
		return a.allows(isArray) && a.acceptArray(v)
	case map[string]any:
		return a.allows(isObject) && a.acceptObject(v)
	}
	return false
}

func (a *accepter) allows(t typeSet) bool { return a.types == 0 || a.types&t != 0 }

// listed compares strings and null only; lists with other values are left to the validator.
func (a *accepter) listed(v any) bool {
	switch v := v.(type) {
	case nil:
		return slices.ContainsFunc(a.enum, func(e any) bool { return e == nil })
	case string:
		return slices.ContainsFunc(a.enum, func(e any) bool { s, ok := e.(string); return ok && s == v })
	}
	return false
}

func (a *accepter) acceptString(s string) bool {
	if a.minLength > 0 || a.maxLength < len(s) {
		if n := utf8.RuneCountInString(s); n < a.minLength || n > a.maxLength {
			return false
		}
	}
	return a.pattern == nil || a.pattern.MatchString(s)
}

func (a *accepter) acceptNumber(f float64) bool {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return false
	}
	if a.types != 0 && a.types&isNumber == 0 && (a.types&isInteger == 0 || f != math.Trunc(f)) {
		return false
	}
	return f >= a.min && f <= a.max
}

func (a *accepter) acceptArray(list []any) bool {
	if len(list) < a.minItems || len(list) > a.maxItems || (a.unique && len(list) > 1) {
		return false
	}
	if a.items != nil {
		for _, v := range list {
			if !a.items.accept(v) {
				return false
			}
		}
	}
	return true
}

func (a *accepter) acceptObject(m map[string]any) bool {
	if len(m) > a.maxProps {
		return false
	}
	for _, name := range a.required {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	if a.props == nil && a.extra == nil && !a.closed {
		return true
	}
	for name, v := range m {
		p := a.props[name]
		switch {
		case p == nil && (a.closed || a.miscased(name) != ""):
			return false
		case p == nil:
			p = a.extra
		}
		if p != nil && !p.accept(v) {
			return false
		}
	}
	return true
}
