package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// otherValues are values of the types of columns that no constraint refuses, and of columns that a constraint binds.
var otherValues = map[string]string{
	"text": "coalesce(%[1]s, '') || 'x'", "integer": "coalesce(%[1]s, 0) + 1", "bigint": "coalesce(%[1]s, 0) + 1", "boolean": "not %[1]s", "bytea": `coalesce(%[1]s, '') || '\x01'`,
	"timestamp with time zone": "(coalesce(%[1]s, '2100-01-01Z') at time zone 'utc' + interval '1 minute') at time zone 'utc'", "ARRAY": "array_append(%[1]s, 'x')", "jsonb": `'{"x": 1}'`, "json": `'{"x": 1}'`,

	"mode": "'shadow'", "risk_class": "'low'", "decision": "'deny'", "explanation": "'[]'", "assurance": "", // the contract requires its form
	"action_hash": digest0, "context_digest": digest0, "resource_digest": digest0, "display_digest": digest0, "policy_hash": digest0,
}

const digest0 = "'sha256:' || repeat('0', 64)"

// Who looks at a decision whose records were altered, in whichever column, reads them: neither the API nor the console fails, and what is altered is
// in the audit log and on the pages.
func TestAlteredRecordsAreRead(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"authorizations", "holds", "challenges", "proofs"} {
		for _, column := range slices.Concat(pg.TableOf(table).Fixed, pg.TableOf(table).Added) {
			var kind string
			require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), `select data_type from information_schema.columns where table_schema = 'public'
				and table_name = $1 and column_name = $2`, table, column).Scan(&kind))
			value, named := otherValues[column]
			if !named {
				value = otherValues[kind]
			}
			if value == "" || slices.Contains([]string{"id", "jti", "authorization_id", "tenant_id", "environment_id"}, column) {
				continue // another record, or none: the log says so
			}
			t.Run(table+" "+column, func(t *testing.T) {
				t.Parallel()
				w := newSandbox(t)
				v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
				_, action := w.action(t, "enforce", map[string]any{"authorizations": holding, "holds": holding, "challenges": challenging, "proofs": allowing}[table].(object))
				id := w.Server.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(http.StatusOK).string("id")
				set := value
				if slices.Contains([]byte(value), '%') {
					set = fmt.Sprintf(value, column)
				}
				w.alter(t, "update "+table+" set "+column+" = "+set+" where environment_id = @environment")
				for _, path := range []string{"/api/v1/authorizations/" + id, "/api/v1/authorizations", "/api/v1/reviews", "/api/v1/activity"} {
					read := w.Admin.get(t, path)
					require.Equal(t, http.StatusOK, read.status, "%s: %s", path, read.body)
				}
				for _, page := range []string{"/decisions", "/decisions/" + id, "/reviews", "/reviews/" + id} {
					shown := v.get("/console/" + w.ID + page)
					require.Less(t, shown.status, http.StatusInternalServerError, "%s: %s", page, shown.body)
				}
				if table == "holds" {
					refused := v.submit("/console/"+w.ID+"/reviews/"+id, url.Values{"resolution": {"approve"}})
					require.NotEqual(t, http.StatusInternalServerError, refused.status, refused.body)
				}
				if column == "remind_at" {
					return // version 1.0 makes the MACs of holds, and without it
				}
				eventually(t, func() bool {
					return count(t, "select count(*) from events where environment_id = $1 and type = 'record.altered' and data->>'table' = $2", w.ID, table) > 0
				}, "the audit log has an entry")
			})
		}
	}
}

// No state is shown of a proof whose record was altered.
func TestStatusOfAnAlteredProofIsUnknown(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	_, action := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), action, "allow").string("id")
	path := "/api/v1/authorizations/" + id
	jti := w.Server.get(t, path).is(http.StatusOK).string("proof_id")
	require.Equal(t, "active", w.Server.get(t, path).string("proof.status"))
	w.alter(t, "update proofs set expires_at = now() + interval '1 day' where environment_id = @environment")
	read := w.Server.get(t, path).is(http.StatusOK)
	require.Equal(t, "unknown", read.string("proof.status"))
	require.Nil(t, read.value("proof.compact"))
	require.Equal(t, "unknown", w.Server.get(t, "/api/v1/proofs/"+jti+"/status").is(http.StatusOK).string("status"))
	shown := v.get("/console/" + w.ID + "/decisions/" + id)
	require.Equal(t, http.StatusOK, shown.status)
	require.Regexp(t, `>\s*unknown\s*<`, shown.body)
}

// Every page and list that shows a record of configuration which was altered says what is altered; none fails without a word.
func TestAlteredConfigurationIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ table, set string }{
		{"actions", "name = name || 'x'"}, {"actions", "mode = 'shadow'"}, {"policy_versions", "reason = coalesce(reason, '') || 'x'"},
		{"policy_versions", "requirements = '{}'"}, {"lists", "kind = 'country'"}, {"list_entries", "expires_at = now() + interval '1 day'"}, {"teams", "key = key || 'x'"},
		{"team_members", "member = member || 'x'"}, {"credentials", "permissions = '{decide}'"}, {"changes", "reason = reason || 'x'"}, {"changes", "proposed_by = 'credential:crd_1'"},
		{"changes", "status = 'approved'"}, {"subjects", "adaptation_frozen = not adaptation_frozen"}, {"webhook_endpoints", "include_details = not include_details"},
		{"hold_teams", "team = 'friends'"}, {"hold_steps", "approvals = approvals + 1"}, {"reviews", "principal = 'credential:crd_1'"}, {"environments", "bar_self_review = not bar_self_review"},
		{"passkeys", "backup_eligible = not backup_eligible"}, {"proofs", "status = 'active'"}, {"signing_keys", "activated_at = now() + interval '1 hour'"},
	} {
		t.Run(c.table+" "+c.set, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
			list := path.Base(w.listOf(t, object{"name": "trusted", "kind": "text"}, "rent"))
			reviewer := w.reviewer(t)
			w.team(t, "finance", reviewer)
			_, free := w.action(t, "enforce", allowing)
			w.authorize(t, w.subject(t), free, "allow")
			endpoint := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
			action, key := w.action(t, "enforce", with(holding, object{"review": object{"steps": []object{
				{"name": "team", "entries": []object{{"group": "finance", "approvals": 1}}}, {"name": "second", "entries": []object{{"approvals": 1}}},
			}}}))
			subject := w.subject(t)
			w.device(t, subject)
			id := w.authorize(t, subject, key, "hold").string("id")
			reviewer.post(t, reviewPath(id), approve).is(http.StatusAccepted)
			w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(http.StatusOK)
			change := w.Admin.post(t, "/api/v1/subjects/"+subject+"/reinstate", object{"reason": "Found."}).is(http.StatusAccepted).string("id")
			statement := "update " + c.table + " set " + c.set + " where environment_id = @environment"
			if c.table == "environments" {
				statement = "update environments set " + c.set + " where id = @environment"
			}
			w.alter(t, statement)
			for _, at := range []string{
				"/actions", "/actions/" + action, "/actions/" + action + "/policy-versions", "/actions/" + action + "/policy-versions/1", "/lists", "/lists/" + list, "/lists/" + list + "/entries",
				"/teams", "/credentials", "/changes", "/changes/" + change, "/subjects", "/subjects/" + subject, "/subjects/" + subject + "/passkeys", "/webhook-endpoints", "/webhook-endpoints/" + endpoint,
				"/reviews", "/authorizations", "/authorizations/" + id, "/environment", "/signing-keys", "/activity", "/audit",
			} {
				read := w.Admin.get(t, "/api/v1"+at)
				require.NotEqual(t, http.StatusInternalServerError, read.status, "%s: %s", at, read.body)
				if read.status == http.StatusServiceUnavailable {
					require.Contains(t, string(read.body), c.table, at)
				}
			}
			for _, page := range []string{
				"/decisions", "/decisions/" + id, "/reviews", "/reviews/" + id, "/changes", "/changes/" + change, "/subjects", "/subjects/" + subject, "/policies", "/policies/" + action,
				"/lists", "/lists/" + list, "/teams", "/webhooks", "/webhooks/" + endpoint, "/keys", "/settings", "/people", "/audit", "/health", "/signing-keys",
			} {
				shown := v.get("/console/" + w.ID + page)
				require.NotEqual(t, http.StatusInternalServerError, shown.status, "%s: %s", page, shown.body)
			}
		})
	}
}
