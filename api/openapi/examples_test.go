package openapi_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestRequestExamplesAreValid(t *testing.T) {
	t.Parallel()
	c := contract(t)
	for _, op := range c.Operations() {
		if op.BodySchema != "" {
			require.Empty(t, c.ValidateBody(op.ID, example(t, op.ID)), op.ID)
		}
	}
}

// Every response has an example that matches its schema and has no undocumented properties.
func TestResponseExamplesAreValid(t *testing.T) {
	t.Parallel()
	c := contract(t)
	doc := document(t)
	for _, op := range c.Operations() {
		for status, r := range node(operation(t, op.ID), "responses") {
			answer := resolve(doc, r.(object))
			code, err := strconv.Atoi(status)
			require.NoError(t, err, op.ID)
			require.NotEmpty(t, answer["description"], op.ID)
			require.Contains(t, node(answer, "headers"), "X-Request-Id", op.ID)
			if code == 204 || code == 304 {
				require.Nil(t, answer["content"], op.ID)
				require.NoError(t, c.ValidateResponse(op.ID, code, nil))
				continue
			}
			require.NotEmpty(t, answer["content"], "%s %s", op.ID, status)
			for mime, media := range node(answer, "content") {
				given := look(media, "example")
				require.NotNil(t, given, "%s %s", op.ID, status)
				if !strings.HasSuffix(mime, "json") {
					continue
				}
				raw, err := json.Marshal(given)
				require.NoError(t, err)
				require.NoError(t, c.ValidateResponse(op.ID, code, raw))
			}
		}
	}
}

func TestSchemaExamplesAreValid(t *testing.T) {
	t.Parallel()
	comp := jsonschema.NewCompiler()
	comp.DefaultDraft(jsonschema.Draft2020)
	comp.AssertFormat()
	require.NoError(t, comp.AddResource("urn:doc", document(t)))
	for name, s := range node(document(t), "components", "schemas") {
		sch, err := comp.Compile("urn:doc#/components/schemas/" + name)
		require.NoError(t, err, name)
		examples, _ := look(s, "examples").([]any)
		require.NotEmpty(t, examples, "%s has no example", name)
		require.NotEmpty(t, look(s, "description"), name)
		for _, e := range examples {
			require.NoError(t, sch.Validate(e), name)
		}
	}
}

func TestParameterExamplesAreValid(t *testing.T) {
	t.Parallel()
	c := contract(t)
	doc := document(t)
	for _, op := range c.Operations() {
		path, query := map[string]string{}, map[string][]string{}
		list, _ := operation(t, op.ID)["parameters"].([]any)
		for _, p := range list {
			p := resolve(doc, p.(object))
			require.NotNil(t, p["example"], "%s %s", op.ID, p["name"])
			value := strings.Trim(mustJSON(t, p["example"]), `"`)
			switch p["in"] {
			case "path":
				path[p["name"].(string)] = value
				require.Contains(t, op.Path, "{"+p["name"].(string)+"}")
			case "query":
				query[p["name"].(string)] = []string{value}
			}
		}
		require.Empty(t, c.ValidateParams(op.ID, path, query), op.ID)
		require.Equal(t, strings.Count(op.Path, "{"), len(path), op.ID)
	}
}

// Nested objects with required properties must be components: client generators lose them otherwise.
func TestNestedObjectsAreComponents(t *testing.T) {
	t.Parallel()
	for name, s := range node(document(t), "components", "schemas") {
		for prop, p := range node(s, "properties") {
			require.Nil(t, look(p, "required"), "%s.%s", name, prop)
			require.Nil(t, look(p, "properties"), "%s.%s", name, prop)
			require.Nil(t, look(p, "items", "properties"), "%s.%s", name, prop)
			if look(p, "$ref") == nil {
				require.NotEmpty(t, look(p, "description"), "%s.%s", name, prop)
			}
		}
	}
}

// Reason codes in examples must be in the catalogue.
func TestExampleReasonCodesAreKnown(t *testing.T) {
	t.Parallel()
	var walk func(where string, v any)
	walk = func(where string, v any) {
		switch v := v.(type) {
		case object:
			for k, inner := range v {
				codes, isList := inner.([]any)
				if isList && (k == "reason_codes" || k == "deny_on" || k == "hold_on") {
					for _, code := range codes {
						if code, ok := code.(string); ok {
							require.True(t, reason.Known(code), "%s: %s", where, code)
						}
					}
				}
				walk(where+"/"+k, inner)
			}
		case []any:
			for _, inner := range v {
				walk(where, inner)
			}
		}
	}
	walk("", document(t)["paths"])
}

func TestDocumentIsServedMinified(t *testing.T) {
	t.Parallel()
	require.NotContains(t, string(openapi.Document()), "\n")
	require.Regexp(t, `^"sha256-[0-9a-f]{16}"$`, openapi.ETag())
	require.Equal(t, look(document(t), "info", "version"), openapi.Version())
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
