package openapi_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

type object = map[string]any

var parsed = sync.OnceValues(func() (object, error) {
	var doc object
	err := json.Unmarshal(openapi.Document(), &doc)
	return doc, err
})

// document is the contract. Tests share it and must not change it.
func document(t testing.TB) object {
	t.Helper()
	doc, err := parsed()
	require.NoError(t, err)
	return doc
}

// look follows keys through objects.
func look(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(object)
		v = m[k]
	}
	return v
}

func node(v any, keys ...string) object {
	m, _ := look(v, keys...).(object)
	return m
}

// resolve follows a $ref, or the first branch of "this or null".
func resolve(doc, schema object) object {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			if any, ok := schema["anyOf"].([]any); ok {
				schema = any[0].(object)
				continue
			}
			return schema
		}
		schema = node(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// properties lists the properties of a component by dotted name, those of nested components included.
func properties(doc object, component, prefix string) map[string]object {
	out := map[string]object{}
	for name, p := range node(doc, "components", "schemas", component, "properties") {
		schema := p.(object)
		out[prefix+name] = schema
		target := resolve(doc, schema)
		if _, has := target["properties"]; has && target["type"] == "object" {
			ref := schema["$ref"]
			if ref == nil {
				ref = look(schema["anyOf"].([]any)[0], "$ref")
			}
			inner := strings.TrimPrefix(ref.(string), "#/components/schemas/")
			for k, v := range properties(doc, inner, prefix+name+".") {
				out[k] = v
			}
		}
	}
	return out
}

// operation finds an operation of the document.
func operation(t testing.TB, id string) object {
	t.Helper()
	for _, item := range node(document(t), "paths") {
		for _, op := range item.(object) {
			if look(op, "operationId") == id {
				return op.(object)
			}
		}
	}
	t.Fatalf("no operation %s", id)
	return nil
}

// example is a copy of an operation's request example.
func example(t testing.TB, id string) object {
	t.Helper()
	raw, err := json.Marshal(look(operation(t, id), "requestBody", "content", "application/json", "example"))
	require.NoError(t, err)
	var body object
	require.NoError(t, json.Unmarshal(raw, &body))
	require.NotNil(t, body, id)
	return body
}
