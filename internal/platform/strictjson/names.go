package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode"
)

// TypeAmbiguousKey is the type of a key that encoding/json would take for a different key.
const TypeAmbiguousKey = "ambiguous_key"

// Fold returns a form of a name that all names share that differ in case only, such as K, k and the Kelvin sign. It is the
// comparison by which encoding/json finds the field of a key.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// Unmarshal decodes a JSON value into the value that to points to. Unlike encoding/json it refuses what Decode refuses, and a key that
// differs from the name of a field in case only. Other unknown keys are ignored.
func Unmarshal(raw []byte, to any) error {
	tree, err := Decode(raw, Limits{AnyFinite: true})
	if err != nil {
		return err
	}
	if err := CheckNames(tree, reflect.TypeOf(to)); err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// CheckNames checks the keys of a decoded document that is about to be decoded into a value of type t. It returns a *ValueError for a
// key that encoding/json would take for a field whose name it is not: what was validated under one name would be used under another.
// Keys of maps, and what a type with UnmarshalJSON decodes by itself, have no names to be mistaken for.
func CheckNames(tree any, t reflect.Type) error {
	if f := checkNames(tree, t); f != nil {
		return f.err()
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func checkNames(tree any, t reflect.Type) *fault {
	for t.Kind() == reflect.Pointer {
		if t.Implements(unmarshaler) {
			return nil
		}
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch tree := tree.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return checkFields(tree, fieldsOf(t))
		case reflect.Map:
			for key, value := range tree {
				if f := checkNames(value, t.Elem()); f != nil {
					return f.at(key)
				}
			}
		}
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i, value := range tree {
				if f := checkNames(value, t.Elem()); f != nil {
					return f.at(i)
				}
			}
		}
	}
	return nil
}

func checkFields(object map[string]any, known *fields) *fault {
	for key, value := range object {
		field, exact := known.byName[key]
		if exact {
			if f := checkNames(value, field); f != nil {
				return f.at(key)
			}
			continue
		}
		if name, ambiguous := known.byFold[Fold(key)]; ambiguous {
			return (&fault{typ: TypeAmbiguousKey, msg: "the key differs from " + name + " in case only"}).at(key)
		}
	}
	return nil
}

// fields are the names by which encoding/json finds the fields of a struct.
type fields struct {
	byName map[string]reflect.Type
	byFold map[string]string
}

var known sync.Map // reflect.Type -> *fields

func fieldsOf(t reflect.Type) *fields {
	if found, ok := known.Load(t); ok {
		return found.(*fields)
	}
	out := &fields{byName: map[string]reflect.Type{}, byFold: map[string]string{}}
	out.add(t)
	for name := range out.byName {
		out.byFold[Fold(name)] = name
	}
	known.Store(t, out)
	return out
}

func (f *fields) add(t reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			f.add(inner)
		case field.IsExported() && name == "":
			f.byName[field.Name] = field.Type
		case field.IsExported():
			f.byName[name] = field.Type
		}
	}
}
