package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A follow-up decision uses the current state: if the action was archived or the subject revoked in the meantime, the completion
// or review succeeds and the follow-up decision is deny.
func TestFollowUpDecisionChecksCurrentState(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for reason, change := range map[string]func(action, subject string){
		"action_archived": func(action, _ string) { require.Less(t, w.Server.delete(t, "/api/v1/actions/"+action).status, 300) },
		"subject_revoked": func(_, subject string) { w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200) },
	} {
		for decision, requirements := range map[string]object{"challenge": challenging, "hold": holding} {
			id, key := w.action(t, "enforce", requirements)
			subject := w.subject(t)
			asked := w.authorize(t, subject, key, decision)
			change(id, subject)
			var child string
			if decision == "challenge" {
				child = w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
			} else {
				child = w.Server.post(t, "/api/v1/authorizations/"+asked.string("id")+"/review", object{"resolution": "approve"}).is(200).string("decision.id")
			}
			decided := w.Server.get(t, "/api/v1/authorizations/"+child).is(200)
			require.Equal(t, "deny", decided.string("decision"), "%s after a %s", reason, decision)
			require.Contains(t, decided.strings("reason_codes"), reason)
		}
	}
	require.Zero(t, count(t, "select count(*) from proofs where environment_id = $1", w.ID), "no proof was issued")
}
