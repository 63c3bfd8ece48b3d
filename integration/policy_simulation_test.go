package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A more permissive draft would have allowed the challenged requests. The simulation changes nothing.
func TestSimulatePolicyVersion(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, action := w.action(t, "test", challenging)
	for range 3 {
		w.authorize(t, w.subject(t), action, "challenge")
	}
	versions := "/api/v1/actions/" + id + "/policy-versions"
	draft := w.Server.post(t, versions, object{"requirements": object{"coverage_min": "none"}}).is(201)
	number := draft.value("version").(float64)
	require.InDelta(t, 2, number, 0)

	got := w.Server.post(t, versions+"/2/simulate", nil).is(200)
	require.InDelta(t, 3, got.value("decisions"), 0)
	require.InDelta(t, 3, got.value("changed"), 0)
	require.InDelta(t, 3, got.value("before.challenge"), 0)
	require.InDelta(t, 3, got.value("after.allow"), 0)
	require.InDelta(t, 0, got.value("not_decidable"), 0)
	require.Empty(t, got.value("undecided"))
	moves := got.value("moves").([]any)
	require.Len(t, moves, 3, "at most a hundred are listed")
	newest := moves[0].(map[string]any)
	require.Equal(t, "challenge", newest["from"])
	require.Equal(t, "allow", newest["to"])
	older := w.Server.post(t, versions+"/2/simulate", object{"list": 1, "until": newest["decided_at"]}).is(200).value("moves").([]any)
	require.Len(t, older, 1)
	require.Equal(t, moves[1].(map[string]any)["authorization"], older[0].(map[string]any)["authorization"], "the next page")
	require.Empty(t, w.Server.post(t, versions+"/2/simulate", object{"list": 0}).is(200).value("moves"))

	same := w.Server.post(t, versions+"/1/simulate", object{"last": 2}).is(200)
	require.InDelta(t, 2, same.value("decisions"), 0)
	require.InDelta(t, 0, same.value("changed"), 0, "the version that decided makes the same decisions")

	require.Equal(t, "draft", w.Server.get(t, versions+"/2").is(200).string("status"))
	w.authorize(t, w.subject(t), action, "challenge")
	w.Server.post(t, versions+"/9/simulate", nil).problem(404, "not_found")
	newSandbox(t).Server.post(t, versions+"/2/simulate", nil).problem(404, "not_found")
}
