package integration_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// secretOf returns the secret that a page shows once.
func secretOf(t testing.TB, page visit) string {
	t.Helper()
	require.Equal(t, http.StatusOK, page.status, page.body)
	found := regexp.MustCompile(`data-secret>([^<]+)<`).FindStringSubmatch(page.body)
	require.NotNil(t, found, page.body)
	return found[1]
}

// fault returns the text at a field of a refused form.
func fault(t testing.TB, page visit, field string) string {
	t.Helper()
	found := regexp.MustCompile(`id="f-` + regexp.QuoteMeta(field) + `-fault">([\s\S]*?)</p>`).FindStringSubmatch(page.body)
	require.NotNil(t, found, page.body)
	return html.UnescapeString(found[1])
}

// sure is the form of a change that cannot be undone.
func sure() url.Values { return url.Values{"sure": {"yes"}} }

// overlapping is the form of a rotation.
func overlapping(hours string) url.Values {
	return url.Values{"sure": {"yes"}, "overlap_hours": {hours}}
}

// recorded waits until the audit log has an entry of the type by the person.
func (w world) recorded(t *testing.T, v *visitor, kind string) {
	t.Helper()
	eventually(t, func() bool {
		for _, e := range w.Admin.get(t, "/api/v1/audit?actor=person:"+v.person).is(200).list() {
			if e["kind"] == kind {
				return true
			}
		}
		return false
	}, "the audit log lacks "+kind)
}

func TestConsoleMakesAndEditsWebhookEndpoints(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/webhooks"
	require.Contains(t, v.get(at).body, `href="`+at+`/new"`)
	require.Contains(t, v.get(at+"/new").body, "data-confirmed")

	wrong := v.submit(at+"/new", url.Values{"url": {"ftp://receiver.example"}, "events": {"hold.*\nholds.opened"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, wrong.body, "value is not accepted. Nothing was changed.")
	require.Contains(t, wrong.body, "holds.opened", "what the user wrote stays")
	missing := v.submit(at+"/new", url.Values{})
	require.Contains(t, fault(t, missing, "url"), "URL must be a URL.")

	made := v.submit(at+"/new", url.Values{"url": {"https://receiver.example/hook"}, "events": {"hold.*\r\nchange.*"}, "description": {"Payments"}})
	secret := secretOf(t, made)
	require.True(t, strings.HasPrefix(secret, "whsec_"), secret)
	endpoint := w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list()[0]
	require.Equal(t, []any{"hold.*", "change.*"}, endpoint["events"])
	page := at + "/" + endpoint["id"].(string)
	require.NotContains(t, v.get(page).body, secret)

	require.Contains(t, v.get(page+"/edit").body, "hold.*\nchange.*</textarea>")
	saved := v.submit(page+"/edit", url.Values{"url": {"https://receiver.example/other"}, "events": {""}, "description": {""}, "include_details": {"true"}})
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	endpoint = w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list()[0]
	require.Equal(t, "https://receiver.example/other", endpoint["url"])
	require.Equal(t, []any{"*"}, endpoint["events"])
	require.Nil(t, endpoint["description"])
	require.Equal(t, true, endpoint["include_details"])

	require.Equal(t, http.StatusBadRequest, v.submit(page+"/rotate", overlapping("169")).status)
	require.NotEqual(t, secret, secretOf(t, v.submit(page+"/rotate", overlapping("24"))))
	require.Equal(t, http.StatusConflict, v.submit(page+"/rotate", overlapping("24")).status)
	require.Equal(t, http.StatusBadRequest, v.submit(page+"/delete", nil).status)
	require.Equal(t, http.StatusSeeOther, v.submit(page+"/delete", sure()).status)
	require.Equal(t, http.StatusNotFound, v.get(page).status)
	for _, kind := range []string{"webhook_endpoint.created", "webhook_endpoint.updated", "webhook_endpoint.secret_rotated", "webhook_endpoint.deleted"} {
		w.recorded(t, v, kind)
	}
}

func TestConsoleMakesActionsAndPolicies(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/policies"
	wrong := v.submit(at+"/new", url.Values{"key": {"Payments Release"}, "name": {"Release"}, "consequence": {"Money leaves."}, "context_schema": {"{"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, fault(t, wrong, "context_schema"), "not valid JSON")
	wrong = v.submit(at+"/new", url.Values{"key": {"Payments Release"}, "name": {"Release"}, "consequence": {"Money leaves."}})
	require.Contains(t, fault(t, wrong, "key"), "Key is not written as it must be. Dotted lower case, such as payments.transfer.")
	require.Contains(t, fault(t, wrong, "allowed_audiences"), "Audiences that may receive proofs is missing.")
	require.Contains(t, wrong.body, `<a href="#f-key">`, "the notice leads to the field")
	made := v.submit(at+"/new", url.Values{
		"key": {"payments.release"}, "name": {"Release a payment"}, "consequence": {"Money leaves."}, "risk_class": {"critical"},
		"allowed_audiences": {"payments-api"}, "proof_ttl_seconds": {"120"}, "context_schema": {`{"type":"object","properties":{"amount":{"type":"number"}}}`},
	})
	require.Equal(t, http.StatusSeeOther, made.status, made.body)
	page := strings.TrimSuffix(made.location, "/draft")
	id := page[strings.LastIndex(page, "/")+1:]
	action := "/api/v1/actions/" + id
	require.Equal(t, "critical", w.Server.get(t, action).is(200).string("risk_class"))

	require.Contains(t, v.get(made.location).body, `value="2 min"`)
	bad := url.Values{"requirements.freshness_max_ms": {"5"}, "requirements.max_challenges": {"two"}, "requirements.challenge_methods": {"passkey"}}
	refused := v.submit(made.location, bad)
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, fault(t, refused, "requirements-max_challenges"), "must be a number")
	bad.Set("requirements.max_challenges", "2")
	require.Contains(t, fault(t, v.submit(made.location, bad), "requirements-freshness_max_ms"), "1000")
	bad.Set("requirements.freshness_max_ms", "60000")
	bad.Set("requirements.rules.0.name", "large")
	bad.Set("requirements.rules.0.when", "context.amount >")
	bad.Set("requirements.rules.0.reason", "Large amounts.")
	bad.Set("requirements.rules.0.then", "hold")
	require.Contains(t, fault(t, v.submit(made.location, bad), "requirements-rules-0-when"), "Line 1 column")
	bad.Set("requirements.rules.0.remove", "true")
	bad.Set("requirements.claims.operator_continuity", "likely")
	bad["requirements.challenge_compensates"] = []string{"coverage", "freshness"}
	drafted := v.submit(made.location, bad)
	require.Equal(t, page+"/1?last=1000", drafted.location, drafted.body)
	shown := v.get(drafted.location).body
	require.Contains(t, shown, "What it would have decided")
	require.Contains(t, shown, `data-confirmed`)
	require.Equal(t, "draft", w.Server.get(t, action+"/policy-versions/1").is(200).string("status"))
	require.Equal(t, http.StatusSeeOther, v.submit(page+"/1/activate", nil).status)

	text := v.get(page + "/draft-text")
	require.Contains(t, html.UnescapeString(text.body), `"operator_continuity": "likely"`)
	require.Contains(t, fault(t, v.submit(page+"/draft-text", url.Values{"body": {`{"requirement": {}}`}}), ""), "requirement")
	require.Equal(t, http.StatusSeeOther, v.submit(page+"/draft-text", url.Values{"body": {`{"requirements": {"coverage_min": "none"}}`}}).status)
	require.Equal(t, "none", w.Server.get(t, action+"/policy-versions/2").is(200).value("requirements").(map[string]any)["coverage_min"])

	edit := url.Values{"name": {"Release"}, "consequence": {"Money leaves."}, "mode": {"enforce"}}
	require.Equal(t, http.StatusSeeOther, v.submit(page+"/edit", edit).status)
	require.Equal(t, "enforce", w.Server.get(t, action).is(200).string("mode"))
	edit.Set("mode", "off")
	require.Contains(t, fault(t, v.submit(page+"/edit", edit), "mode"), "Mode must be one of")
	require.Equal(t, http.StatusSeeOther, v.submit(page+"/archive", sure()).status)
	require.NotContains(t, v.get(at).body, "payments.release")
	for _, kind := range []string{"action.created", "policy.created", "policy.activated", "action.updated", "action.archived"} {
		w.recorded(t, v, kind)
	}
}

// A change of the mode waits for a second approver, and the form says so.
func TestConsoleFormsHonourTheSecondApprover(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	action, _, _ := w.draft(t, allowing)
	v := w.signedIn(t, models.RoleOperator)
	page := strings.Replace(action, "/api/v1/actions/", "/console/"+w.ID+"/policies/", 1) + "/edit"
	require.Contains(t, v.get(page).body, "This environment requires a second approver.")
	out := v.submit(page, url.Values{"name": {"Release"}, "consequence": {"Money leaves."}, "mode": {"enforce"}})
	require.Regexp(t, `/changes/[^/]+\?done=requested$`, out.location, out.body)
	require.Contains(t, v.get(out.location).body, "nothing is changed yet")
	require.Equal(t, "test", w.Server.get(t, action).is(200).string("mode"))
}

// Forms of dangerous changes require a recent use of the passkey, whatever the page shows.
func TestConsoleFormsRequireConfirmation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	w.exec(t, "update console_sessions set confirmed_at = now() - interval '1 hour' where person_id = $1", v.person)
	out := v.submit("/console/"+w.ID+"/webhooks/new", url.Values{"url": {"https://receiver.example/hook"}})
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "Confirm this change with your passkey.")
	require.Empty(t, w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list())
}
