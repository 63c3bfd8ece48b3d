package rules

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
)

// Sizes of values whose schema states none: what a request body can hold (its limit is 64 KiB).
const (
	unboundedLength = 64 << 10 // characters of a string
	unboundedItems  = 32 << 10 // items of a list, properties of an object
)

// shape is the type of a value with the sizes that its schema permits.
type shape struct {
	typ    *types.Type
	size   uint64   // maximum length of a string, items of a list, entries of a map
	enum   []string // the values that a string can have; nil for any
	object *object
	items  *shape   // of a list, and the values of a map
	always []string // keys that a map has in each request
}

// requires reports whether the value is a map that has the key in each request.
func (s *shape) requires(key string) bool { return s != nil && slices.Contains(s.always, key) }

// object is the type of a value with named fields. Its name contains a character that no identifier has, so that no condition
// can construct one.
type object struct {
	name   string
	fields map[string]*field
}

type field struct {
	*shape
	optional bool // can be missing or null: a condition has to test it with has()
}

var dynamic = &shape{typ: types.DynType, size: unboundedItems}

// shapeOf returns the shape of the context that a schema describes.
func shapeOf(schema map[string]any) *object {
	r := reader{root: schema, refs: map[string]referred{}}
	return r.object(schema)
}

// reader reads shapes from a JSON Schema, whose nesting is bounded by its own checks.
type reader struct {
	root map[string]any
	refs map[string]referred
	made int // objects
}

// referred is the shape behind a reference. While it is read it is dynamic, which ends a recursive schema.
type referred struct {
	*shape
	null bool
}

// object returns the shape of the declared properties of an object.
func (r *reader) object(schema map[string]any) *object {
	r.made++
	out := &object{name: "@object" + strconv.Itoa(r.made), fields: map[string]*field{}}
	required := requiredOf(schema)
	properties, _ := schema["properties"].(map[string]any)
	for key, sub := range properties {
		made, null := r.shape(sub)
		out.fields[key] = &field{shape: made, optional: null || !slices.Contains(required, key)}
	}
	return out
}

// shape returns the shape of a subschema and whether it permits null. What the subschema leaves open, or states in a way that has
// no single type, is dynamic: it is checked when the condition is evaluated.
func (r *reader) shape(schema any) (made *shape, null bool) {
	fields, ok := schema.(map[string]any)
	if !ok {
		return dynamic, true
	}
	if ref, given := fields["$ref"].(string); given {
		return r.reference(ref)
	}
	kind, null := kindOf(fields)
	switch kind {
	case "string":
		return &shape{typ: types.StringType, size: bound(fields["maxLength"], unboundedLength), enum: texts(fields)}, null
	case "integer":
		return &shape{typ: types.IntType}, null
	case "number":
		return &shape{typ: types.DoubleType}, null
	case "boolean":
		return &shape{typ: types.BoolType}, null
	case "array":
		items, open := r.shape(fields["items"])
		if open || fields["prefixItems"] != nil {
			items = dynamic
		}
		return &shape{typ: types.NewListType(items.typ), size: bound(fields["maxItems"], unboundedItems), items: items}, null
	case "object":
		return r.objectShape(fields), null
	default:
		return dynamic, true
	}
}

// objectShape returns the shape of an object: of its declared properties, or a map if it declares none.
func (r *reader) objectShape(fields map[string]any) *shape {
	if properties, ok := fields["properties"].(map[string]any); ok && len(properties) > 0 {
		o := r.object(fields)
		return &shape{typ: types.NewObjectType(o.name), object: o}
	}
	values, open := r.shape(fields["additionalProperties"])
	if open || fields["patternProperties"] != nil {
		values = dynamic
	}
	return &shape{
		typ: types.NewMapType(types.StringType, values.typ), size: bound(fields["maxProperties"], unboundedItems), items: values,
		always: requiredOf(fields),
	}
}

// requiredOf returns the properties that each value has.
func requiredOf(schema map[string]any) []string {
	var out []string
	for _, v := range list(schema["required"]) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// reference returns the shape behind a local reference, which is read once.
func (r *reader) reference(ref string) (made *shape, null bool) {
	if done, ok := r.refs[ref]; ok {
		return done.shape, done.null
	}
	r.refs[ref] = referred{dynamic, true}
	made, null = r.shape(r.resolve(ref))
	r.refs[ref] = referred{made, null}
	return made, null
}

// resolve returns the subschema that a local reference names; nil for any other reference.
func (r *reader) resolve(ref string) any {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	var at any = r.root
	for step := range strings.SplitSeq(pointer, "/") {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// kindOf returns the single type of a subschema apart from null; empty if there are several, or none is stated.
func kindOf(fields map[string]any) (kind string, null bool) {
	switch stated := fields["type"].(type) {
	case string:
		return stated, stated == "null"
	case []any:
		for _, v := range stated {
			switch {
			case v == "null":
				null = true
			case kind != "":
				return "", true
			default:
				kind, _ = v.(string)
			}
		}
		return kind, null
	}
	if _, ok := fields["properties"].(map[string]any); ok {
		return "object", true
	}
	if len(texts(fields)) > 0 {
		return "string", false
	}
	return "", true
}

// texts returns the values of enum or const if all of them are strings.
func texts(fields map[string]any) []string {
	values := list(fields["enum"])
	if c, given := fields["const"]; given {
		values = []any{c}
	}
	out := make([]string, 0, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		out = append(out, s)
	}
	return out
}

func list(v any) []any {
	items, _ := v.([]any)
	return items
}

// bound returns the number of a size keyword, or what holds without one.
func bound(v any, without uint64) uint64 {
	if n, ok := v.(float64); ok && n >= 0 && n < float64(without) {
		return uint64(n)
	}
	return without
}
