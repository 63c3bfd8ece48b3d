package integration_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// keptSchema keeps the amount and the country of a payment for simulations, and nothing else.
var keptSchema = object{
	"type": "object",
	"properties": object{
		"amount":  object{"type": "number", "x-countersign-keep": true},
		"payee":   object{"type": "object", "properties": object{"country": object{"type": "string", "x-countersign-keep": true}, "name": object{"type": "string"}}},
		"comment": object{"type": "string"},
	},
}

// keeping makes an action in a mode with a policy and a context_schema, and returns its id and key.
func (w world) keeping(t *testing.T, mode string, requirements, schema object) (id, key string) {
	t.Helper()
	key = "payment.kept_" + unique()
	id = w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Send a payment", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
		"resource_type": "payment", "context_schema": schema,
	}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": requirements}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, "/api/v1/actions/"+id, object{"mode": mode}).is(200)
	return id, key
}

// paying requests a payment of an amount.
func (w world) paying(t *testing.T, subject, action string, amount float64) response {
	t.Helper()
	return w.Server.post(t, "/api/v1/authorize", with(request(subject, action), object{
		"resource": object{"type": "payment", "id": "pay_1"},
		"context":  object{"amount": amount, "payee": object{"country": "DE", "name": "secret-name"}, "comment": "secret-comment"},
	})).is(200)
}

func TestKeptValuesAreSealedExportedAndErased(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.keeping(t, "test", challenging, keptSchema)
	subject := w.subject(t)
	asked := w.paying(t, subject, action, 1250.5)
	id := asked.string("id")

	var stored []byte
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select kept from kept_values where authorization_id = $1", id).Scan(&stored))
	require.NotContains(t, string(stored), "1250")
	w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)

	export := w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200)
	rows := export.value("data.kept_values").([]any)
	require.Len(t, rows, 2, "the follow-up decision is about the same request")
	for _, row := range rows {
		require.Equal(t, toAny(object{
			"kept": []string{"/amount", "/payee/country"}, "context": object{"amount": 1250.5, "payee": object{"country": "DE"}},
		}), toAny(row.(map[string]any)["kept"]))
	}
	require.NotContains(t, string(export.body), "secret-", "what is not marked is not stored")

	w.Server.delete(t, "/api/v1/subjects/"+subject).is(202)
	eventually(t, func() bool {
		var left int
		err := shared.Store.Pool().QueryRow(t.Context(), "select count(*) from kept_values where authorization_id = $1", id).Scan(&left)
		return err == nil && left == 0
	}, "the kept values are erased with the subject")
}

func TestMarkThatCannotBeKeptIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	faulty := object{"properties": object{"amount": object{"x-countersign-keep": "yes"}}}
	const fault = "context_schema/properties/amount/x-countersign-keep: must be true; leave it out for a property that is not kept"
	refused := w.Server.post(t, "/api/v1/actions", object{
		"key": "payment.bad_" + unique(), "name": "Pay", "consequence": "Money leaves.", "allowed_audiences": []string{audience}, "context_schema": faulty,
	}).is(422)
	require.Contains(t, string(refused.body), fault)
	require.Contains(t, string(refused.body), "keep_invalid")
	id, _ := w.keeping(t, "test", challenging, keptSchema)
	refused = w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing, "context_schema": faulty}).is(422)
	require.Contains(t, string(refused.body), fault)
}

// A draft with a rule is simulated on decisions whose values were kept, and lists what it cannot decide.
func TestSimulationReplaysRulesOnKeptValues(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, action := w.keeping(t, "test", allowing, keptSchema)
	subject := w.subject(t)
	small, large := w.paying(t, subject, action, 20).string("id"), w.paying(t, subject, action, 20_000).string("id")
	versions := "/api/v1/actions/" + id + "/policy-versions"
	draft := func(when string) string {
		v := w.Server.post(t, versions, object{"requirements": with(allowing, object{"rules": []object{rule("limit", when, holdMatched)}})}).is(201)
		return versions + "/" + strconv.Itoa(int(v.value("version").(float64))) + "/simulate"
	}

	got := w.Server.post(t, draft(`has(context.amount) && context.amount > 10000`), nil).is(200)
	require.InDelta(t, 2, got.value("decisions"), 0)
	require.InDelta(t, 0, got.value("not_decidable"), 0)
	moves := got.value("moves").([]any)
	require.Len(t, moves, 1)
	require.Equal(t, large, moves[0].(map[string]any)["authorization"])
	require.Equal(t, []any{"limit"}, moves[0].(map[string]any)["rules"])

	const byComment = `has(context.amount) && context.amount > 10000 && has(context.comment) && context.comment == "x"`
	path := draft(byComment)
	got = w.Server.post(t, path, nil).is(200)
	require.InDelta(t, 1, got.value("decisions"), 0, "the small payment is below the limit, whatever its comment")
	require.InDelta(t, 1, got.value("not_decidable"), 0)
	require.Equal(t, toAny([]object{{
		"authorization": large, "decided_at": w.Server.get(t, "/api/v1/authorizations/"+large).is(200).value("decided_at"), "decision": "allow",
		"rules": []object{{"rule": "limit", "unknown": []string{"context.comment"}}},
	}}), toAny(got.value("undecided")))
	require.NotContains(t, string(got.body), small)

	v := w.signedIn(t, models.RoleOperator)
	page := v.get("/console/" + w.ID + "/policies/" + id + "/3?last=100")
	require.Equal(t, 200, page.status, page.body)
	require.Contains(t, page.body, "could not be decided again")
	require.Contains(t, page.body, "context.comment")
	require.Contains(t, v.get("/console/"+w.ID+"/policies/"+id+"/2?last=100").body, "Decisions that would change")
}
