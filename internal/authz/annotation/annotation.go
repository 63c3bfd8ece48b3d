// Package annotation finds the keywords that Countersign adds to a context_schema, with the property that each describes.
//
// It is pure, and knows only where a keyword may be; the package of a keyword reads its value.
package annotation

import (
	"encoding/json"
	"slices"
	"strings"
)

// Found is one occurrence of a keyword.
type Found struct {
	Value any
	Type  any      // of the schema that has the keyword: the value of "type"
	Place string   // JSON pointer to the keyword in the schema
	Path  []string // names of the properties from the context down; nil for the schema itself
}

// Fault is an annotation that cannot be used.
type Fault struct {
	Place string // JSON pointer into the schema
	Why   string
}

// Error implements error.
func (f *Fault) Error() string { return "context_schema" + f.Place + ": " + f.Why }

// Find returns the occurrences of a keyword on the schema itself and on the properties of objects, reached by "properties"
// alone, sorted by property names. An occurrence anywhere else is a *Fault, since it would have no effect.
func Find(schema []byte, keyword string) ([]Found, error) {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	f := finder{keyword: keyword}
	f.object(root, "", nil)
	if f.count(root) != len(f.found) {
		return nil, &Fault{"", keyword + " is read on the schema itself and on properties of objects, not inside other keywords"}
	}
	return f.found, nil
}

// finder collects the occurrences of one keyword. It counts them separately, to notice those in places that it does not read.
type finder struct {
	keyword string
	found   []Found
}

// object collects from a schema and the properties below it.
func (f *finder) object(schema any, place string, path []string) {
	fields, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if value, given := fields[f.keyword]; given {
		f.found = append(f.found, Found{value, fields["type"], place + "/" + Escape(f.keyword), path})
	}
	properties, _ := fields["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f.object(properties[name], place+"/properties/"+Escape(name), append(slices.Clone(path), name))
	}
}

// count counts the keyword in a schema, wherever it is. What is under "const", "enum", "default" and "examples" is a value and
// not a schema, and the names under "properties" are names of properties and not keywords.
func (f *finder) count(schema any) int {
	n := 0
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			n += f.count(item)
		}
	case map[string]any:
		for name, item := range v {
			switch name {
			case f.keyword:
				n++
			case "const", "enum", "default", "examples":
			case "properties":
				properties, _ := item.(map[string]any)
				for _, property := range properties {
					n += f.count(property)
				}
			default:
				n += f.count(item)
			}
		}
	}
	return n
}

// Escape writes a property name as a step of a JSON pointer (RFC 6901).
func Escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Split returns the property names of a JSON pointer that begins with "/".
func Split(pointer string) []string {
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return steps
}

// Pointer writes property names as a JSON pointer (RFC 6901). No names are the whole document, which is the empty pointer.
func Pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + Escape(name))
	}
	return b.String()
}

// Lookup follows property names down from an object. It returns false if a step is missing or is not an object; null is a value.
func Lookup(values map[string]any, path []string) (any, bool) {
	var at any = values
	for _, step := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[step]; !ok {
			return nil, false
		}
	}
	return at, true
}
