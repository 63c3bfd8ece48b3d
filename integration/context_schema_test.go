package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// doublingSchema is a context_schema of n definitions that each refer to the previous one twice: 2^n subschemas when expanded.
func doublingSchema(n int) object {
	defs := object{"d0": object{"required": []string{"x"}}}
	for i := 1; i <= n; i++ {
		before := object{"$ref": fmt.Sprintf("#/$defs/d%d", i-1)}
		defs[fmt.Sprintf("d%d", i)] = object{"allOf": []object{before, before}}
	}
	return object{"type": "object", "$defs": defs, "$ref": fmt.Sprintf("#/$defs/d%d", n)}
}

func actionWithSchema(key string, schema object) object {
	return object{"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "context_schema": schema}
}

func TestContextSchemaComplexityIsLimited(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.action(t, "test", allowing)
	for name, schema := range map[string]object{
		"doubled":   doublingSchema(20),
		"a circle":  {"type": "object", "$ref": "#"},
		"a pattern": {"type": "object", "properties": object{"a": object{"pattern": strings.Repeat("(x?){1000}", 30)}}},
		"breadth":   {"type": "object", "anyOf": slices.Repeat([]object{{}}, 1200)},
	} {
		t.Run(name, func(t *testing.T) {
			for path, body := range map[string]object{
				"/api/v1/actions": actionWithSchema("pay.bomb", schema),
				"/api/v1/actions/" + id + "/policy-versions": {"requirements": allowing, "context_schema": schema},
			} {
				faults := w.Server.post(t, path, body).faults()
				require.Len(t, faults, 1)
				require.Contains(t, faults[0], `["body","context_schema"]`)
				require.Contains(t, faults[0], "schema_too_complex")
			}
		})
	}
}

// A stored schema that exceeds the limit, from before the limit existed, is not evaluated: the request is refused.
func TestAuthorizeRefusesAStoredComplexSchema(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, key := w.action(t, "enforce", allowing)
	schema, err := json.Marshal(doublingSchema(20))
	require.NoError(t, err)
	w.exec(t, "update policy_versions set context_schema = $2 where action_id = $1", id, string(schema))
	subject := w.subject(t)
	faults := w.Server.post(t, "/api/v1/authorize", request(subject, key)).faults()
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], `["body","context"]`)
	require.Contains(t, faults[0], "context_too_complex")

	path := "/api/v1/actions/" + id + "/policy-versions"
	w.Server.post(t, path, object{"requirements": allowing, "context_schema": object{}}).is(201)
	w.Server.post(t, path+"/2/activate", nil).is(200)
	eventually(t, func() bool {
		a, err := w.Server.send("POST", "/api/v1/authorize", request(subject, key))
		return err == nil && a.status == http.StatusOK
	}, "a version with a smaller schema is accepted")
}

func TestContextComplexityIsLimited(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	node := object{"$ref": "#/$defs/n"}
	id := w.Server.post(t, "/api/v1/actions", actionWithSchema("pay.tree", object{
		"type": "object", "$ref": "#/$defs/n",
		"$defs": object{"n": object{"required": []string{"x"}, "properties": object{"l": object{"allOf": []object{node, node}}}}},
	})).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	subject := w.subject(t)
	ask := func(depth int) response {
		context := object{}
		for range depth {
			context = object{"l": context}
		}
		body := request(subject, "pay.tree")
		body["context"] = context
		return w.Server.post(t, "/api/v1/authorize", body)
	}
	faults := ask(28).faults()
	require.Len(t, faults, 1, "%s", faults)
	require.Contains(t, faults[0], `["body","context"]`)
	require.Contains(t, faults[0], "context_too_complex")

	few := ask(8)
	require.Len(t, few.faults(), 9, "an affordable context is checked, and each fault is listed once")
	require.Less(t, len(few.body), 8<<10)
}

func TestAuthorizeValidatesContext(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	make := func(key string, schema any) response {
		return w.Server.post(t, "/api/v1/actions", object{
			"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "context_schema": schema,
		})
	}
	for name, schema := range map[string]object{
		"not of an object": {"type": "string"}, "no schema": {"type": "objekt"}, "a foreign reference": {"type": "object", "$ref": "https://example.com/s"},
		"a pattern without an end":     {"type": "object", "properties": object{"a": object{"pattern": "("}}},
		"too deep":                     {"type": "object", "properties": nested(40)},
		"too large":                    {"type": "object", "description": strings.Repeat("x", 40_000)},
		"a number of a million digits": {"type": "object", "properties": object{"a": object{"multipleOf": json.RawMessage("1e-1000000")}}},
	} {
		require.NotEmpty(t, make("pay.bad", schema).faults(), name)
	}
	id := make("pay.ctx", object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "number", "maximum": 100, "x-countersign-aggregate": "sum"}}}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	subject := w.subject(t)
	ask := func(context object) response {
		body := request(subject, "pay.ctx")
		if context != nil {
			body["context"] = context
		}
		return w.Server.post(t, "/api/v1/authorize", body)
	}
	ask(object{"amount": 100}).is(200)
	for _, context := range []object{nil, {}, {"amount": "a"}, {"amount": 101}, {"amount": json.RawMessage("1e-1000000")}} {
		require.Contains(t, ask(context).faults()[0], `["body","context"`)
	}
}

func nested(depth int) object {
	if depth == 0 {
		return object{}
	}
	return object{"a": object{"properties": nested(depth - 1)}}
}
