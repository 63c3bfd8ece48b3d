package storedvalues

import (
	"bytes"
	"encoding/json"
)

// Mark returns a context_schema that keeps the properties at these paths as well, and the resource's id if resource is set. A path that
// leads into a property without declared properties marks that property; one that the schema does not declare is left out.
func Mark(schema []byte, paths [][]string, resource bool) ([]byte, error) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if resource {
		root[Annotation] = true
	}
	for _, path := range paths {
		mark(root, path)
	}
	return json.Marshal(root)
}

// mark marks the deepest declared property on the way to a path, unless one above it is kept whole.
func mark(schema map[string]any, path []string) {
	var at map[string]any
	for _, name := range path {
		properties, _ := schema["properties"].(map[string]any)
		below, declared := properties[name].(map[string]any)
		if !declared {
			break
		}
		if schema = below; schema[Annotation] == true {
			return
		}
		at = schema
	}
	if at != nil {
		unmark(at)
		at[Annotation] = true
	}
}

// unmark removes the marks below a property, which is kept whole.
func unmark(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for _, below := range properties {
		if below, ok := below.(map[string]any); ok {
			delete(below, Annotation)
			unmark(below)
		}
	}
}
