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

// doubled is a context_schema of n definitions of which each applies the one before twice: 2^n subschemas when written out.
func doubled(n int) object {
	defs := object{"d0": object{"required": []string{"x"}}}
	for i := 1; i <= n; i++ {
		before := object{"$ref": fmt.Sprintf("#/$defs/d%d", i-1)}
		defs[fmt.Sprintf("d%d", i)] = object{"allOf": []object{before, before}}
	}
	return object{"type": "object", "$defs": defs, "$ref": fmt.Sprintf("#/$defs/d%d", n)}
}

func protected(key string, schema object) object {
	return object{"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "context_schema": schema}
}

func TestContextSchemaComplexityIsLimited(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.action(t, "test", allowing)
	for name, schema := range map[string]object{
		"doubled":   doubled(20),
		"a circle":  {"type": "object", "$ref": "#"},
		"a pattern": {"type": "object", "properties": object{"a": object{"pattern": strings.Repeat("(x?){1000}", 30)}}},
		"breadth":   {"type": "object", "anyOf": slices.Repeat([]object{{}}, 1200)},
	} {
		t.Run(name, func(t *testing.T) {
			for path, body := range map[string]object{
				"/api/v1/actions": protected("pay.bomb", schema),
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

// A schema that was stored before it could be refused is not checked, and says so.
func TestAuthorizeRefusesAStoredComplexSchema(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, key := w.action(t, "enforce", allowing)
	schema, err := json.Marshal(doubled(20))
	require.NoError(t, err)
	_, err = shared.Store.Pool().Exec(t.Context(), "update policy_versions set context_schema = $2 where action_id = $1", id, string(schema))
	require.NoError(t, err)
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
	}, "a version with a smaller schema mends it")
}

func TestContextComplexityIsLimited(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	node := object{"$ref": "#/$defs/n"}
	id := w.Server.post(t, "/api/v1/actions", protected("pay.tree", object{
		"type": "object", "$ref": "#/$defs/n",
		"$defs": object{"n": object{"required": []string{"x"}, "properties": object{"l": object{"allOf": []object{node, node}}}}},
	})).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	subject := w.subject(t)
	ask := func(depth int) answer {
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
	require.Len(t, few.faults(), 9, "what is affordable is checked, and each fault is listed once")
	require.Less(t, len(few.body), 8<<10)
}
