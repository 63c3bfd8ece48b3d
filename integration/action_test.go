package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestActionLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, key := w.action(t, "test", allowing)
	path := "/api/v1/actions/" + id
	require.Equal(t, key, w.Server.get(t, path).is(200).string("key"))
	w.Server.post(t, "/api/v1/actions", object{"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{"a"}}).problem(409, "action_key_exists")
	changed := w.Server.patch(t, path, object{"name": "Another", "consequence": nil, "mode": "shadow"}).is(200)
	require.Equal(t, "Another", changed.string("name"))
	require.Equal(t, "Money leaves the account.", changed.string("consequence"), "null leaves the value unchanged")
	require.Equal(t, "shadow", changed.string("mode"))

	draft := w.Server.post(t, path+"/policy-versions", object{"requirements": holding, "proof_ttl_seconds": 60}).is(201)
	require.Equal(t, "draft", draft.string("status"))
	require.Equal(t, []string{audience}, draft.strings("allowed_audiences"), "omitted fields are copied from the action")
	require.Equal(t, "active", w.Server.post(t, path+"/policy-versions/2/activate", nil).is(200).string("status"))
	require.Equal(t, "active", w.Server.post(t, path+"/policy-versions/2/activate", nil).is(200).string("status"), "activation is idempotent")
	w.Server.post(t, path+"/policy-versions/1/activate", nil).problem(409, "policy_not_draft")
	versions := w.Server.get(t, path+"/policy-versions").is(200).list()
	require.Len(t, versions, 2)
	require.Equal(t, "active", versions[0]["status"])
	require.Equal(t, "retired", versions[1]["status"])
	require.InDelta(t, 2, w.Server.get(t, path).is(200).value("active_policy_version"), 0)
	require.Len(t, w.Server.get(t, "/api/v1/actions?key="+key).is(200).list(), 1)

	w.Server.delete(t, path).is(204)
	require.Empty(t, w.Server.get(t, "/api/v1/actions").is(200).list())
	w.Server.post(t, "/api/v1/authorize", request(w.subject(t), key)).problem(404, "not_found")
}

func TestActionRestrictsItsCallers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	mine := w.Server.get(t, "/api/v1/credential").is(200).string("credential")
	made := w.Server.post(t, "/api/v1/actions", object{
		"key": "pay.own", "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "allowed_callers": []string{mine},
	}).is(201)
	path := "/api/v1/actions/" + made.string("id") + "/policy-versions"
	w.Server.post(t, path, object{"requirements": allowing}).is(201)
	w.Server.post(t, path+"/1/activate", nil).is(200)
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/authorize", request(subject, "pay.own")).is(200)
	w.Admin.post(t, "/api/v1/authorize", request(subject, "pay.own")).problem(403, "caller_not_allowed")
}
