package integration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// alter changes the database by another hand.
func (w world) alter(t *testing.T, statement string) {
	t.Helper()
	n := execByHand(t, strings.ReplaceAll(statement, "@environment", "'"+w.ID+"'"))
	require.NotZero(t, n, "there is no record to alter")
}

// What ends a subject takes rows as they are: an altered one neither keeps it from ending nor becomes valid.
func TestAlteredRecordsCanBeEnded(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"passkey": "update passkeys set public_key = public_key || '\\x00' where environment_id = @environment",
		"token":   "update client_tokens set purposes = '{score,enroll}' where environment_id = @environment",
		"grant":   "update registration_grants set created_at = now() - interval '1 day' where environment_id = @environment",
		"hold":    "update holds set approvals_required = 7 where environment_id = @environment",
		"subject": "update subjects set adaptation_frozen = not adaptation_frozen where environment_id = @environment",
	} {
		for _, end := range []string{"revoke", "erase", "recover"} {
			t.Run(name+" "+end, func(t *testing.T) {
				t.Parallel()
				w := newSandbox(t)
				subject := w.subject(t)
				path := "/api/v1/subjects/" + subject
				_, held := w.action(t, "enforce", holding)
				_, allowed := w.action(t, "enforce", allowing)
				w.device(t, subject)
				w.page(t, subject, object{"purposes": []string{"score"}})
				w.Server.post(t, path+"/passkeys/registration-grants", nil).is(http.StatusCreated)
				w.authorize(t, subject, held, "hold")
				w.authorize(t, subject, allowed, "allow")
				w.alter(t, alter)
				switch end {
				case "revoke":
					w.Server.post(t, path+"/revoke", object{"reason": "left"}).is(http.StatusOK)
				case "recover":
					if name == "subject" { // a recovery rests on it
						w.Server.post(t, path+"/recovery", object{"anchor": "none"}).problem(http.StatusServiceUnavailable, "unavailable")
						testenv.Attest(t, shared.Store, w.scope())
						return
					}
					w.recover(t, subject)
				default:
					w.Server.delete(t, path).is(http.StatusAccepted)
					eventually(t, func() bool {
						return count(t, "select count(*) from erasures where environment_id = $1 and status = 'completed'", w.ID) == 1
					}, "the erasure ends")
				}
				require.Zero(t, count(t, "select count(*) from proofs where environment_id = $1 and status = 'active'", w.ID))
				require.Zero(t, count(t, "select count(*) from client_tokens where environment_id = $1 and revoked_at is null", w.ID))
				if (name != "hold" || end != "revoke") && (name != "passkey" || end == "revoke") { // the others are neither ended nor read
					eventually(t, func() bool {
						return count(t, "select count(*) from events where environment_id = $1 and type = 'record.altered'", w.ID) > 0
					}, "the audit log has an entry")
				}
				testenv.Attest(t, shared.Store, w.scope())
			})
		}
	}
}

// An altered passkey is revoked, so is a key that a made-up key names as its issuer, and an altered endpoint is disabled and deleted.
func TestAlteredKeysCanBeRevoked(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	d := w.device(t, subject)
	w.alter(t, "update passkeys set public_key = public_key || '\\x00' where environment_id = @environment")
	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+d.id).is(http.StatusNoContent)

	endpoint := "/api/v1/webhook-endpoints/" + w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
	w.alter(t, "update webhook_endpoints set url = 'https://evil.example/' where environment_id = @environment")
	w.Admin.patch(t, endpoint, object{"status": "disabled"}).is(http.StatusOK)
	w.Admin.patch(t, endpoint, object{"status": "enabled"}).problem(http.StatusServiceUnavailable, "unavailable")
	w.Admin.delete(t, endpoint).is(http.StatusNoContent)

	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "x"}).is(http.StatusCreated).string("id")
	w.alter(t, `insert into credentials (id, tenant_id, environment_id, scope, name, preview, created_at, created_by, principal, issuers)
		select id || 'x', tenant_id, environment_id, scope, 'x', '', created_at, created_by, principal, array['`+made+`']
		from credentials where environment_id = @environment and id = '`+made+`'`)
	w.Admin.delete(t, "/api/v1/credentials/"+made).is(http.StatusNoContent)
	require.Zero(t, count(t, "select count(*) from credentials where environment_id = $1 and revoked_at is null and $2 = any(issuers)", w.ID, made))
	testenv.Attest(t, shared.Store, w.scope())
}
