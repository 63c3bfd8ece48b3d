package integration_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/delivery/configfile"
)

// hostileTexts are values that were accepted somewhere and broke what came later, and their neighbours.
var hostileTexts = []string{
	"9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2016-12-31T23:59:60Z", "2026-11-21t09:30:00,5z", "-infinity",
	"https://bank.example:65536", "https://bücher.example", "https://BANK.example:443", "https://1.2.3.4", "https://[::1]:8443", "bank.example.", "-bank.example", "co.uk",
	strings.Repeat("a", 70) + ".example", "localhost", "http://localhost:8080", "Local", "../etc/passwd", "xx-invalid", "#0f5c5c", "USD", "1e400", "\u202eabc", "a\nb", "\u13aa\u200d",
	"\x00", "%00", "MDAw", "Lg", "😀", ".", strings.Repeat("é", 300),
}

// hostileNumbers are written as they are.
var hostileNumbers = []string{"0", "-1", "1e11", "253402300800", "-1e15", "1e300", "9007199254740993", "2147483648", "0.1", "-0"}

// schemaNode is a schema of the OpenAPI document.
type schemaNode = map[string]any

// Every text and number that the contract lets a caller set is set to each hostile value. None gets a 5xx, and whatever was accepted, every
// read of the environment, its export and the SDK work afterwards.
func TestHostileValuesBreakNothingLater(t *testing.T) {
	t.Parallel()
	f := newFuzz(t, 1)
	doc := contractDocument(t)
	sent := 0
	for _, h := range f.good {
		operation := doc.operation(h)
		for _, name := range doc.queries(operation) {
			for _, text := range hostileTexts {
				q := h
				q.target += "?" + url.Values{name: {text}}.Encode()
				f.asAdmin(q)
				sent++
			}
		}
		if h.method == http.MethodGet {
			continue
		}
		for _, body := range doc.bodies(t, operation, h.body) {
			b := h
			b.body = body
			f.asAdmin(b)
			sent++
		}
		f.readsAll()
	}
	t.Logf("%d requests", sent)
	require.Greater(t, sent, 2000)
	state, err := configfile.Read(t.Context(), f.w.byFile(t).api)
	require.NoError(t, err, "the configuration can be exported")
	require.NotEmpty(t, state.Document.Actions)
}

// asAdmin sends a request with the admin key, which every operation but those of browsers takes, and judges the response.
func (f *fuzz) asAdmin(h hostileRequest) {
	f.t.Helper()
	h.kind = admin
	h.header = [][2]string{{"Content-Type", "application/json"}, {"Authorization", "Bearer " + f.keys[admin]}}
	f.judge(h, f.exchange(h))
}

// readsAll uses every operation that reads.
func (f *fuzz) readsAll() {
	f.t.Helper()
	for _, h := range f.good {
		if h.method == http.MethodGet {
			f.asAdmin(h)
		}
	}
}

// contractDoc visits the schemas of the contract.
type contractDoc struct{ root schemaNode }

func contractDocument(t *testing.T) contractDoc {
	t.Helper()
	var root schemaNode
	require.NoError(t, json.Unmarshal(openapi.Document(), &root))
	return contractDoc{root}
}

// resolve follows references and takes the first alternative that is not null.
func (d contractDoc) resolve(s schemaNode) schemaNode {
	for {
		if ref, ok := s["$ref"].(string); ok {
			next := d.root
			for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				next, _ = next[name].(schemaNode)
			}
			s = next
			continue
		}
		options, _ := s["anyOf"].([]any)
		if len(options) == 0 {
			return s
		}
		s, _ = options[0].(schemaNode)
	}
}

func (d contractDoc) operation(h hostileRequest) schemaNode {
	for _, path := range d.root["paths"].(schemaNode) {
		for _, op := range path.(schemaNode) {
			if node, ok := op.(schemaNode); ok && node["operationId"] == h.operation {
				return node
			}
		}
	}
	return nil
}

func (d contractDoc) queries(operation schemaNode) []string {
	var out []string
	parameters, _ := operation["parameters"].([]any)
	for _, p := range parameters {
		if node := d.resolve(p.(schemaNode)); node["in"] == "query" {
			out = append(out, node["name"].(string))
		}
	}
	return out
}

// bodies returns the example with one text or number replaced, for each of those that the schema has and each hostile value.
func (d contractDoc) bodies(t *testing.T, operation schemaNode, example []byte) [][]byte {
	t.Helper()
	content, ok := operation["requestBody"].(schemaNode)
	if !ok {
		return nil
	}
	schema := d.resolve(d.resolve(content)["content"].(schemaNode)["application/json"].(schemaNode)["schema"].(schemaNode))
	whole := object{}
	if len(example) > 0 {
		require.NoError(t, json.Unmarshal(example, &whole))
	}
	required, _ := schema["required"].([]any)
	base := object{}
	for name, value := range whole {
		if slices.Contains(required, any(name)) {
			base[name] = value
		}
	}
	var out [][]byte
	d.leaves(schema, nil, func(path []string, values []any) {
		for _, v := range values {
			for _, once := range []string{"key", "nonce", "idempotency_key"} { // a repeated one would be refused before it is looked at
				if _, given := base[once]; given {
					base[once] = "hostile.values-" + unique()
				}
			}
			out = append(out, marshal(t, placed(base, path, v)))
		}
	})
	return out
}

// leaves calls do with the path and the hostile values of every text and number below a schema, four levels deep.
func (d contractDoc) leaves(schema schemaNode, path []string, do func(path []string, values []any)) {
	schema = d.resolve(schema)
	if len(path) > 4 {
		return
	}
	if properties, ok := schema["properties"].(schemaNode); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			d.leaves(properties[name].(schemaNode), append(slices.Clone(path), name), do)
		}
		return
	}
	if items, ok := schema["items"].(schemaNode); ok {
		d.leaves(items, append(slices.Clone(path), "[]"), do)
		return
	}
	var values []any
	switch kinds := schema["type"]; {
	case isType(kinds, "string"):
		for _, text := range hostileTexts {
			values = append(values, text)
		}
	case isType(kinds, "number"), isType(kinds, "integer"):
		for _, n := range hostileNumbers {
			values = append(values, json.RawMessage(n))
		}
	default:
		return
	}
	do(path, values)
}

func isType(kinds any, kind string) bool {
	list, ok := kinds.([]any)
	return kinds == kind || ok && slices.Contains(list, any(kind))
}

// placed returns a copy of a body with a value at a path; the step [] is a list of one item.
func placed(body any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		return []any{placed(nil, path[1:], value)}
	}
	out := object{}
	if members, ok := body.(object); ok {
		maps.Copy(out, members)
	}
	out[path[0]] = placed(out[path[0]], path[1:], value)
	return out
}
