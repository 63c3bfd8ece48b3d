package integration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// Who can write to the database cannot loosen what it decides: each kind of record is altered as such an attacker would, to their advantage,
// and the request that rests on it is refused with 503. Requests that do not rest on it, and other environments, are served.
func TestAlteredRecordsAreRefused(t *testing.T) {
	t.Parallel()
	bystander := newSandbox(t)
	_, free := bystander.action(t, "enforce", allowing)
	person := bystander.subject(t)
	decision := func(w world, subject, action string) response {
		return w.Server.post(t, "/api/v1/authorize", request(subject, action))
	}
	settings := func(w world, _, _ string) response { return w.Admin.get(t, environmentPath) }
	for _, c := range []struct {
		name, table, alter string // @environment and @other stand for the ids
		send               func(w world, subject, action string) response
	}{
		{"policy loosened", "policy_versions", `update policy_versions set requirements = (select requirements from policy_versions p where p.environment_id = @other limit 1)
			where environment_id = @environment`, decision},
		{"policy deleted", "policy_versions", "delete from policy_versions where environment_id = @environment", decision},
		{"audience added", "policy_versions", "update policy_versions set allowed_audiences = array_append(allowed_audiences, 'elsewhere') where environment_id = @environment", decision},
		{"mode of an action", "actions", "update actions set mode = 'shadow' where environment_id = @environment", decision},
		{"earlier policy in force", "actions", "update actions set active_policy_version = null where environment_id = @environment", decision},
		{"settings", "environments", "update environments set bar_self_review = false, second_approver_required = false, challenge_ttl_seconds = 900 where id = @environment", settings},
		{"rules of passkeys", "environment_passkeys", "update environment_passkeys set rp_ids = '{evil.example}' where environment_id = @environment", settings},
		{"rules of passkeys deleted", "environment_passkeys", "delete from environment_passkeys where environment_id = @environment", settings},
		{"permissions of a key", "credentials", "update credentials set permissions = null, scope = 'admin' where environment_id = @environment", decision},
		{"life of a key", "credential_keys", "update credential_keys set expires_at = now() + interval '1 hour' where credential_id in (select id from credentials where environment_id = @environment)",
			decision},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			subject := w.subject(t)
			_, action := w.action(t, "enforce", challenging)
			execSQL(t, strings.NewReplacer("@environment", "'"+w.ID+"'", "@other", "'"+bystander.ID+"'").Replace(c.alter))
			w.refusesAltered(t, c.table, func() response { return c.send(w, subject, action) })
			bystander.authorize(t, person, free, "allow")
		})
	}
}

// A hold that waits for the second of two approvals does not count a review that the service did not record.
func TestAlteredReviewsAreRefused(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"made up": `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at)
			select id, environment_id, 'credential:' || credential_id, 'credential:' || credential_id, 'approve', now() from authorizations where environment_id = @environment`,
		"of another principal": "update reviews set principal = 'credential:crd_1' where environment_id = @environment",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
			review := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
			w.Admin.post(t, review, approve).is(http.StatusAccepted)
			second := w.reviewer(t)
			execSQL(t, strings.ReplaceAll(alter, "@environment", "'"+w.ID+"'"))
			w.refusesAltered(t, "reviews", func() response { return second.post(t, review, approve) })
			second.post(t, review, object{"resolution": "reject"}).is(200)
		})
	}
}

// refusesAltered requires that requests which rest on an altered record of a table are refused, and that the audit log says so.
func (w world) refusesAltered(t *testing.T, table string, send func() response) {
	t.Helper()
	var refused response
	// A process checks a record when it loads it, at most some seconds after a change.
	eventually(t, func() bool {
		refused = send()
		return refused.status == http.StatusServiceUnavailable
	}, "the altered record is refused")
	require.Equal(t, "60", refused.header.Get("Retry-After"))
	require.Contains(t, string(refused.body), "changed outside of the service")
	require.Zero(t, count(t, "select count(*) from authorizations where environment_id = $1 and decision = 'allow'", w.ID))
	eventually(t, func() bool {
		return count(t, "select count(*) from events where environment_id in (select id from environments where tenant_id = $1) and type = 'record.altered' and data->>'table' = $2",
			w.TenantID, table) > 0
	}, "the audit log has an entry")
}

// The console says so on every page, and Health names the record.
func TestConsoleShowsAlteredRecords(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.action(t, "enforce", challenging)
	v := w.signedIn(t, models.RoleOperator)
	require.NotContains(t, v.get("/console/"+w.ID+"/policies").body, "changed outside of the service")
	execSQL(t, "update policy_versions set proof_ttl_seconds = proof_ttl_seconds + 1 where environment_id = '"+w.ID+"'")
	require.Contains(t, v.get("/console/"+w.ID+"/health").body, "What rests on them is refused: policy_versions pol_")
	require.Contains(t, v.get("/console/"+w.ID+"/policies").body, "A stored record on which decisions rest was changed outside of the service.")
}
