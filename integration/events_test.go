package integration_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/audit"
)

func TestDecisionEventsReachEveryReader(t *testing.T) {
	t.Parallel()
	w, stranger := newSandbox(t), newSandbox(t)
	r := newReceiver(t)
	w.subscribe(t, r, "authorization.*", "challenge.*")
	next := w.follow(t, "?type=challenge.*", "")
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	asked := w.authorize(t, subject, action, "challenge")
	w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)

	want := []string{"authorization.decided", "challenge.requested", "challenge.completed", "authorization.decided"}
	require.Eventually(t, func() bool { return len(r.types()) == len(want) }, patience, 20*time.Millisecond, "%v", r.types())
	require.ElementsMatch(t, want, r.types())
	require.NoError(t, r.fault)

	requested := next()
	require.Equal(t, "challenge.requested", requested.Type)
	require.Equal(t, "challenge.completed", next().Type)
	resumed := w.follow(t, "?type=challenge.*", requested.ID)
	require.Equal(t, "challenge.completed", resumed().Type, "a stream resumes after the given id")

	var list []map[string]any
	w.Server.get(t, "/api/v1/activity?subject="+subject+"&type=authorization.decided").is(200).into(&list)
	require.Len(t, list, 2)
	require.Equal(t, "allow", list[0]["data"].(map[string]any)["decision"])
	list = nil
	w.Server.get(t, "/api/v1/activity?decision=challenge").is(200).into(&list)
	require.NotEmpty(t, list)

	require.Equal(t, "[]", string(stranger.Server.get(t, "/api/v1/activity").is(200).body))
	elsewhere := stranger.follow(t, "", requested.ID)
	require.Equal(t, "resync", elsewhere().Type, "a stream does not resume from another tenant's event")
}

func TestAuditLogRecordsChangesAndVerifies(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	subject := w.subject(t)
	held := w.authorize(t, subject, action, "hold").string("id")
	approved := w.Admin.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve", "note": "seen the papers"}).is(200)
	child := approved.string("decision.id")
	w.Server.post(t, "/api/v1/verify", object{"proof": approved.string("decision.proof"), "audience": audience, "consume": true}).is(200)

	var kinds []string
	require.Eventually(t, func() bool {
		var list []audit.Entry
		w.Admin.get(t, "/api/v1/audit?limit=200").is(200).into(&list)
		kinds = nil
		for _, e := range list {
			kinds = append(kinds, e.Kind)
		}
		return slices.Contains(kinds, "proof.consumed") // entries of work in the background may follow it
	}, patience, 50*time.Millisecond, "the entries are sealed")
	require.Subset(t, kinds, []string{"credential.created", "action.created", "policy.created", "policy.activated", "action.updated", "subject.created",
		"authorization.decided", "hold.opened", "hold.approved", "proof.consumed"})
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'proof.consumed' and subject_uid is not null", w.ID),
		"an erasure and an export of the subject find it")

	scope := w.scope()
	var head audit.Head
	w.Admin.get(t, "/api/v1/audit/head").is(200).into(&head)
	require.NoError(t, audit.CheckHead(t.Context(), scope, shared.Signing, head))
	result, err := audit.Verify(t.Context(), shared.Store, scope, &head)
	require.NoError(t, err)
	require.True(t, result.Intact(), "%+v", result.Findings)

	trail, err := audit.TrailOf(t.Context(), shared.Store, scope, child, wiring.Histories{Client: shared.Temporal})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, trail.WriteText(&text))
	for _, want := range []string{"Decided HOLD", "Decided ALLOW", "Review: approved", "approve by credential:", "consumed", "Workflow hold/" + held, subject} {
		require.Contains(t, text.String(), want)
	}
	// What the decisions were based on is that of the contract, and nothing of it is missing.
	require.Len(t, trail.Decisions, 2)
	for _, d := range trail.Decisions {
		var shown struct {
			ActionHash string `json:"action_hash"`
			Assurance  struct {
				Claims       []struct{ Claim, Status string }
				ModelVersion string `json:"model_version"`
			}
		}
		w.Server.get(t, "/api/v1/authorizations/"+d.ID).is(200).into(&shown)
		require.NotEmpty(t, shown.ActionHash)
		require.Equal(t, shown.ActionHash, d.ActionHash)
		require.Equal(t, shown.Assurance.ModelVersion, d.Evidence.Model)
		require.Len(t, d.Evidence.Claims, len(shown.Assurance.Claims))
		require.NotEmpty(t, d.ContextDigest)
		require.NotEmpty(t, d.Policy.ContentHash)
	}
	require.Contains(t, text.String(), "NOT MET")
	require.NotContains(t, text.String(), "seen the papers", "only the digest of a note is stored")
}
