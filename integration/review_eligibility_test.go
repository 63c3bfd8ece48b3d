package integration_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// issue creates a key with the caller's key and returns it with its id.
func (c caller) issue(t *testing.T, scope string) (caller, string) {
	t.Helper()
	made := c.post(t, "/api/v1/credentials", object{"scope": scope, "name": "minted"}).is(201)
	return caller{base: c.base, key: made.string("key")}, made.string("id")
}

var approve = object{"resolution": "approve"}

// A key and all keys that it issued, directly or in a chain, count as one approval.
func TestReviewCountsIssuersNotKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"

	first, _ := w.Admin.issue(t, "server")
	second, _ := w.Admin.issue(t, "server")
	deputy, _ := w.Admin.issue(t, "admin")
	third, _ := deputy.issue(t, "server")
	for name, c := range map[string]caller{"first": first, "second": second, "their issuer": w.Admin, "issued by a key that it issued": third} {
		pending := c.post(t, path, approve).is(http.StatusAccepted)
		require.EqualValues(t, 1, pending.value("approvals.given"), name)
	}
	require.Equal(t, object{"given": 1.0, "required": 2.0}, w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["approvals"])
	require.Equal(t, "allow", w.reviewer(t).post(t, path, approve).is(200).string("decision.decision"), "a key of another party counts as a second approval")
}

// An approval counts only if its credential is still valid when the hold settles.
func TestReviewIgnoresApprovalsOfRevokedKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	leaver, id := w.Admin.issue(t, "server")
	leaver.post(t, path, approve).is(http.StatusAccepted)
	w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)

	pending := w.reviewer(t).post(t, path, approve).is(http.StatusAccepted)
	require.EqualValues(t, 1, pending.value("approvals.given"), "the approval of the revoked key does not count")
	queue := w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()
	require.Equal(t, object{"given": 1.0, "required": 2.0}, queue[0]["approvals"])
	require.Equal(t, "allow", w.reviewer(t).post(t, path, approve).is(200).string("decision.decision"))
	settled := w.Server.get(t, "/api/v1/reviews?status=approved&action="+action).is(200).list()
	require.NotEmpty(t, settled)
}

// Barring self-review bars the requesting key, its issuers and the keys that they issued.
func TestSelfReviewIsBarredForTheWholeParty(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	backend, _ := w.Admin.issue(t, "server")
	second, _ := w.Admin.issue(t, "server")
	deputy, _ := backendIssuer(t, w)
	_, action := w.action(t, "enforce", with(holding, object{"self_review": "barred"}))
	held := backend.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200)
	require.Equal(t, "hold", held.string("decision"))
	path := "/api/v1/authorizations/" + held.string("id") + "/review"
	for name, c := range map[string]caller{"the key that asked": backend, "another of its issuer": second, "its issuer": w.Admin, "a deputy's": deputy} {
		refused := c.post(t, path, approve).is(http.StatusForbidden)
		require.Equal(t, "self_review", refused.string("code"), name)
		require.Equal(t, false, c.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["reviewable"], name)
	}
	require.Equal(t, true, w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["reviewable"])
	require.Equal(t, "allow", w.Server.post(t, path, approve).is(200).string("decision.decision"))
}

// backendIssuer is a server key issued by an admin key that the environment's admin key issued.
func backendIssuer(t *testing.T, w world) (caller, string) {
	t.Helper()
	deputy, _ := w.Admin.issue(t, "admin")
	return deputy.issue(t, "server")
}

// An environment can bar self-review for all its policies, including pending holds.
func TestEnvironmentBarsSelfReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	const path = "/api/v1/environment"
	require.Equal(t, false, w.Admin.get(t, path).is(200).value("bar_self_review"), "off by default")
	review := func(id string) string { return "/api/v1/authorizations/" + id + "/review" }
	w.Server.post(t, review(w.authorize(t, w.subject(t), action, "hold").string("id")), approve).is(200)

	waiting := w.authorize(t, w.subject(t), action, "hold").string("id")
	require.Equal(t, true, w.Admin.patch(t, path, object{"bar_self_review": true}).is(200).value("bar_self_review"))
	opened := w.authorize(t, w.subject(t), action, "hold").string("id")
	for _, id := range []string{waiting, opened} {
		require.Equal(t, "self_review", w.Server.post(t, review(id), approve).is(http.StatusForbidden).string("code"))
	}
	for _, row := range w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list() {
		require.Equal(t, "barred", row["self_review"])
		require.Equal(t, false, row["reviewable"])
	}
	w.reviewer(t).post(t, review(opened), approve).is(200)
	require.Equal(t, true, w.Admin.patch(t, path, object{"rp_name": "Alder Bank"}).is(200).value("bar_self_review"), "omitted fields are unchanged")
}
