package integration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alteredFlow is a change of a record by another hand between two requests of one flow: the second must not end in what the record says then.
type alteredFlow struct {
	name, table string
	set         string // of the only row of the table in the environment
	given       func(t *testing.T, w world) func() response
}

// alteredColumns are values of the columns that a later request of a flow reads, by table.
var alteredColumns = map[string]map[string]string{
	"authorizations": {
		"audience": "'https://evil.example'", "action_hash": "'sha256:00'", "resource_digest": "'sha256:00'", "context_digest": "'sha256:00'", "nonce": "'another'",
		"hold_approved": "not hold_approved", "policy_version": "policy_version + 1", "challenge_completed": "'passkey'", "actor": "'credential:crd_1'", "explanation": "'{}'",
		"credential_id": "'crd_1'", "mode": "'shadow'", "session_pinned": "not session_pinned", "challenges_used": "challenges_used + 1", "decided_at": "now()",
		"row_mac": "null",
	},
	"challenges": {
		"methods": "'{sandbox_confirm,passkey,oob}'", "display": "'{}'", "display_digest": "'sha256:00'", "action_hash": "'sha256:00'", "random": `'\x00'`,
		"expires_at": "now() + interval '1 hour'", "row_mac": "null",
		"subject_uid": "(select uid from subjects where environment_id = @environment and external_id = 'mallory')",
	},
	"proofs": {
		"audience": "'https://evil.example'", "expires_at": "now() + interval '1 day'", "subject_uid": "'sub_1'", "kid": "'other'", "row_mac": "null",
	},
}

var alteredFlowsOf = map[string]map[string]func(t *testing.T, w world) func() response{
	"authorizations": {"approving its hold": holdWaiting, "completing its challenge": challengeWaiting},
	"challenges":     {"completing it": challengeWaiting},
	"proofs":         {"consuming it": proofActive},
}

func alteredFlows() (out []alteredFlow) {
	for table, flows := range alteredFlowsOf {
		for flow, given := range flows {
			for column, value := range alteredColumns[table] {
				out = append(out, alteredFlow{table + " " + column + " before " + flow, table, column + " = " + value, given})
			}
		}
	}
	return out
}

func holdWaiting(t *testing.T, w world) func() response {
	_, action := w.action(t, "enforce", holding)
	return w.approves(t, action, w.reviewer(t))
}

func challengeWaiting(t *testing.T, w world) func() response {
	w.Server.post(t, "/api/v1/subjects", object{"id": "mallory"}).is(http.StatusCreated)
	_, action := w.action(t, "enforce", challenging)
	challenge := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	return func() response {
		return w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"})
	}
}

func proofActive(t *testing.T, w world) func() response {
	_, action := w.action(t, "enforce", allowing)
	proof := w.authorize(t, w.subject(t), action, "allow").string("proof")
	return func() response {
		return w.Server.post(t, "/api/v1/verify", object{"proof": proof, "audience": audience, "consume": true})
	}
}

// A row that was changed between two requests of one flow is not believed: the second is refused by a code and a detail that names the table, nothing
// is signed or consumed, and the audit log and the trace of the decision say that the row was altered.
func TestFlowsRefuseAlteredRecords(t *testing.T) {
	t.Parallel()
	for _, c := range alteredFlows() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			send := c.given(t, w)
			proofs := count(t, "select count(*) from proofs where environment_id = $1", w.ID)
			w.alter(t, "update "+c.table+" set "+c.set+" where environment_id = @environment")
			refused := send()
			require.Equal(t, http.StatusServiceUnavailable, refused.status, string(refused.body))
			require.Equal(t, "unavailable", refused.string("code"))
			require.NotEmpty(t, refused.header.Get("Retry-After"))
			require.Contains(t, refused.string("detail"), "of the table "+c.table+", was changed outside of the service")
			require.Equal(t, proofs, count(t, "select count(*) from proofs where environment_id = $1", w.ID), "nothing is signed")
			require.Zero(t, count(t, "select count(*) from proofs where environment_id = $1 and status = 'consumed'", w.ID))
			eventually(t, func() bool {
				return count(t, "select count(*) from events where environment_id = $1 and type = 'record.altered' and data->>'table' = $2", w.ID, c.table) > 0
			}, "the audit log has an entry")
		})
	}
}

// A repeated request is refused if the stored response was altered.
func TestRepeatedRequestsRefuseAlteredResponses(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	body := request(w.subject(t), action)
	w.Server.post(t, "/api/v1/authorize", body).is(http.StatusOK)
	w.Server.post(t, "/api/v1/authorize", body).is(http.StatusOK)
	w.alter(t, `update authorizations set response = replace(response::text, '"challenge"', '"allow"')::json, decision = 'allow' where environment_id = @environment`)
	refused := w.Server.post(t, "/api/v1/authorize", body)
	require.Equal(t, http.StatusServiceUnavailable, refused.status, string(refused.body))
	require.True(t, strings.Contains(refused.string("detail"), "authorizations"))
}
