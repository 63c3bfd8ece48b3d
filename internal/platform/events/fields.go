package events

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// field is one property of a type's schema.
type field struct {
	name     string
	schema   map[string]any
	required bool
}

func req(name string, schema map[string]any) field { return field{name, schema, true} }
func opt(name string, schema map[string]any) field { return field{name, schema, false} }

var (
	text      = map[string]any{"type": "string", "minLength": 1}
	flag      = map[string]any{"type": "boolean"}
	count     = map[string]any{"type": "integer", "minimum": 0}
	number    = map[string]any{"type": "number"}
	timestamp = map[string]any{"type": "string", "format": "date-time"}
	words     = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	digest    = map[string]any{"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
)

func enum(values ...string) map[string]any {
	return map[string]any{"type": "string", "enum": toAny(values)}
}

func toAny(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// object makes a closed schema of the fields; environment is always there.
func object(fields []field) map[string]any {
	props, required := map[string]any{"environment": text}, []any{"environment"}
	for _, f := range fields {
		props[f.name] = f.schema
		if f.required {
			required = append(required, f.name)
		}
	}
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": props, "required": required, "additionalProperties": false}
}

// auditObject makes the schema of an audit-only type: closed, with the fields of all its structs. A field is required if
// every struct requires it.
func auditObject(envelope []field, data []Data) map[string]any {
	fields := envelope
	for _, d := range data {
		for _, f := range fieldsOf(d) {
			f.required = f.required && len(data) == 1
			fields = append(fields, f)
		}
	}
	return object(fields)
}

// fieldsOf reads the fields of a data struct in their order, embedded structs included. It panics on a field that the
// catalogue cannot describe: the catalogue is built when the package is initialised, so any test finds it.
func fieldsOf(data Data) []field {
	return structFields(reflect.TypeOf(data))
}

func structFields(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		if f.Anonymous {
			out = append(out, structFields(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		optional := options == "omitempty" || options == "omitzero"
		schema := schemaOf(t, f)
		if f.Type.Kind() == reflect.Pointer && !optional {
			schema = nullable(schema)
		}
		out = append(out, field{name, schema, !optional})
	}
	return out
}

// schemaOf maps a field to JSON Schema by its Go type and its schema tag (see Data).
func schemaOf(t reflect.Type, f reflect.StructField) map[string]any {
	kind := f.Type.Kind()
	if kind == reflect.Pointer {
		kind = f.Type.Elem().Kind()
	}
	switch tag := f.Tag.Get("schema"); {
	case kind == reflect.String && tag == "":
		return text
	case kind == reflect.String && tag == "empty":
		return map[string]any{"type": "string"}
	case kind == reflect.String && tag == "date-time":
		return timestamp
	case kind == reflect.String && tag == "digest":
		return digest
	case kind == reflect.String:
		return enum(strings.Split(tag, "|")...)
	case kind == reflect.Bool && tag == "":
		return flag
	case (kind == reflect.Int || kind == reflect.Int64) && tag == "":
		return count
	case kind == reflect.Float64 && tag == "":
		return number
	case f.Type.ConvertibleTo(reflect.TypeFor[[]string]()) && tag == "":
		return words
	case f.Type.ConvertibleTo(reflect.TypeFor[[]string]()) && tag == "null":
		return nullable(words)
	default:
		panic(fmt.Sprintf("events: %s.%s has no schema", t, f.Name))
	}
}

func nullable(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	out["type"] = []any{schema["type"], "null"}
	return out
}
