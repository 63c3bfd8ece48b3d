package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorizeDistinguishesTypists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", cautious)
	ada := typist("ada")
	subject := w.enrolled(t, ada)
	require.Equal(t, "enrolled", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("enrollment"))

	own := w.session(t, subject, "score", ada, 5)
	profile := w.Server.get(t, "/api/v1/sessions/"+own+"/assessment").is(200)
	require.Contains(t, []string{"confirmed", "likely"}, claim(profile.value("claims"), "operator_continuity"))
	allowed := w.authorize(t, subject, action, "allow")
	require.NotEmpty(t, allowed.string("proof"))
	require.NotEmpty(t, allowed.string("proof_id"))
	require.Equal(t, own, allowed.string("assurance.session"))

	w.session(t, subject, "score", typist("mallory"), 5)
	other := w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
	require.NotEqual(t, "allow", other.string("decision"), "response: %s", other.body)
	require.Nil(t, other.value("proof"))
}

func TestAuthorizeDenialHasNoProof(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", denying)
	denied := w.authorize(t, w.subject(t), action, "deny")
	require.Nil(t, denied.value("proof"))
	require.Contains(t, denied.strings("reason_codes"), "insufficient_evidence")
}

func TestReportOutcomeIsRecorded(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), action, "allow").string("id")
	receipt := w.Server.post(t, "/api/v1/authorizations/"+id+"/outcome", object{"outcome": "executed", "note": "done"}).is(200)
	require.Equal(t, id, receipt.string("authorization"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+id).is(200)
	require.Equal(t, "executed", trace.string("outcome"))
	require.NotEmpty(t, trace.string("outcome_reported_at"))
}

func TestAuthorizeObeysTheActionMode(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, tested := w.action(t, "test", allowing)
	require.Nil(t, w.authorize(t, subject, tested, "allow").value("proof"), "mode test gives no proof")
	_, shadowed := w.action(t, "shadow", challenging)
	require.Nil(t, w.authorize(t, subject, shadowed, "challenge").value("challenge"), "mode shadow creates no challenge")
	_, held := w.action(t, "shadow", holding)
	w.authorize(t, subject, held, "hold")
	require.Empty(t, w.Server.get(t, "/api/v1/reviews?status=pending").is(200).list())
}

func TestReportOutcomeRejectsConflicts(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), action, "allow").string("id")
	path := "/api/v1/authorizations/" + id + "/outcome"
	first := w.Server.post(t, path, object{"outcome": "executed"}).is(200)
	again := w.Server.post(t, path, object{"outcome": "executed"}).is(200)
	require.JSONEq(t, string(first.body), string(again.body))
	w.Server.post(t, path, object{"outcome": "not_executed"}).problem(409, "outcome_conflict")
	w.Server.post(t, "/api/v1/authorizations/"+id+"/review", object{"resolution": "approve"}).problem(409, "not_held")
	require.Len(t, w.Server.get(t, "/api/v1/authorizations?action="+action+"&decision=allow").is(200).list(), 1)
}
