package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What changed between a decision and its completion counts: an action archived, a subject revoked, while a person confirms
// or a reviewer thinks. The confirmation is taken, and the decision that follows is a denial.
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
	require.Zero(t, count(t, "select count(*) from proofs where environment_id = $1", w.ID), "nothing was proven")
}
