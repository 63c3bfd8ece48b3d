package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/models"
)

const environmentPath = "/api/v1/environment"

// changePath is the path of a change request, or of one of its resolutions.
func changePath(id string, resolution ...string) string {
	out := "/api/v1/changes/" + id
	for _, r := range resolution {
		out += "/" + r
	}
	return out
}

// fourEyes is a sandbox that requires a second approver, with an admin key of another party.
func fourEyes(t *testing.T) (world, caller) {
	t.Helper()
	w := newSandbox(t)
	require.Equal(t, false, w.Admin.get(t, environmentPath).is(200).value("second_approver_required"), "off by default")
	require.Equal(t, true, w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200).value("second_approver_required"))
	return w, caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}
}

// draft creates an action with a draft and returns the paths of both.
func (w world) draft(t *testing.T, requirements object) (action, key, version string) {
	t.Helper()
	made := w.Server.post(t, "/api/v1/actions", object{
		"key": "payments.release", "name": "Release a payment", "consequence": "Money leaves.", "allowed_audiences": []string{apitest.Audience},
	}).is(201)
	action = "/api/v1/actions/" + made.string("id")
	w.Server.post(t, action+"/policy-versions", object{"requirements": requirements}).is(201)
	return action, made.string("key"), action + "/policy-versions/1"
}

func TestSecondApproverActivatesPolicy(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	action, key, version := w.draft(t, allowing)
	waiting := w.Server.post(t, version+"/activate", nil).is(http.StatusAccepted)
	id := waiting.string("id")
	require.Equal(t, "pending", waiting.string("status"))
	require.Equal(t, "policy.activate", waiting.string("kind"))
	require.Equal(t, id, w.Server.post(t, version+"/activate", nil).is(http.StatusAccepted).string("id"), "a repeated request is the same change")
	require.Nil(t, w.Server.get(t, action).is(200).value("active_policy_version"))
	require.Equal(t, "draft", w.Server.get(t, version).is(200).string("status"))

	seen := other.get(t, changePath(id)).is(200)
	require.Equal(t, true, seen.value("approvable"))
	require.Equal(t, true, seen.value("applies"))
	require.InDelta(t, 0, seen.value("simulation.decisions"), 0)
	require.NotEmpty(t, seen.value("differences"))
	require.Equal(t, id, other.get(t, "/api/v1/changes?status=pending&kind=policy.activate").is(200).list()[0]["id"])

	done := other.post(t, changePath(id, "approve"), nil).is(200)
	require.Equal(t, "approved", done.string("status"))
	require.InDelta(t, 1, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
	require.Equal(t, done.string("resolved_at"), other.post(t, changePath(id, "approve"), nil).is(200).string("resolved_at"))
	w.authorize(t, w.subject(t), key, "allow")
	other.post(t, changePath(id, "reject"), nil).problem(http.StatusConflict, "change_settled")
	w.Server.post(t, changePath(id, "withdraw"), nil).problem(http.StatusConflict, "change_settled")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'change.approved'", w.ID))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'policy.activated' and workflow_id = $2", w.ID, "change/"+id))
}

// Who requests and who settles a change say why; so does who makes a policy version, whose reason its activation begins with.
func TestChangesHaveReasons(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	action, _, _ := w.draft(t, allowing)
	version := w.Server.post(t, action+"/policy-versions", object{"requirements": allowing, "reason": "The bank raised\nits limit."}).is(201)
	require.Equal(t, "The bank raised\nits limit.", version.string("reason"))
	require.Empty(t, w.Server.get(t, action+"/policy-versions/1").is(200).string("reason"))
	waiting := w.Server.post(t, action+"/policy-versions/2/activate", nil).is(http.StatusAccepted)
	require.Equal(t, "The bank raised\nits limit.", waiting.string("reason"))
	id := waiting.string("id")

	other.patch(t, changePath(id), object{"reason": "Mine."}).problem(http.StatusForbidden, "forbidden")
	w.Server.patch(t, changePath(id), object{"reason": strings.Repeat("x", 501)}).is(http.StatusUnprocessableEntity)
	w.Server.patch(t, changePath(id), object{"reason": "p\u0430ypal"}).is(http.StatusUnprocessableEntity)
	require.Equal(t, "Ticket 4711.", w.Server.patch(t, changePath(id), object{"reason": "Ticket 4711."}).is(200).string("reason"))
	require.Equal(t, "Ticket 4711.", other.get(t, changePath(id)).is(200).string("reason"))

	done := other.post(t, changePath(id, "approve"), object{"reason": "Agreed with the bank."}).is(200)
	require.Equal(t, "Agreed with the bank.", done.string("resolution_reason"))
	require.Equal(t, "Ticket 4711.", done.string("reason"))
	w.Server.patch(t, changePath(id), object{"reason": "Later."}).problem(http.StatusConflict, "change_settled")
}

func TestSecondApproverMustBeAnotherPrincipal(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	action, _ := w.action2(t)
	waiting := w.Admin.patch(t, action, object{"mode": "shadow"}).is(http.StatusAccepted)
	id := waiting.string("id")
	minted, _ := w.Admin.issue(t, "admin")
	deputy, _ := minted.issue(t, "admin")
	for name, c := range map[string]caller{"the key that requested it": w.Admin, "a key that it issued": minted, "a key that this one issued": deputy} {
		c.post(t, changePath(id, "approve"), nil).problem(http.StatusForbidden, "self_approval")
		require.Equal(t, false, c.get(t, changePath(id)).is(200).value("approvable"), name)
	}
	w.Server.post(t, changePath(id, "approve"), nil).problem(http.StatusForbidden, "insufficient_scope")
	require.Equal(t, "test", w.Server.get(t, action).is(200).string("mode"))
	newSandbox(t).Admin.post(t, changePath(id, "approve"), nil).problem(http.StatusNotFound, "not_found")

	require.Equal(t, "withdrawn", minted.post(t, changePath(id, "withdraw"), nil).is(200).string("status"))
	again := w.Admin.patch(t, action, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	require.NotEqual(t, id, again)
	other.post(t, changePath(again, "withdraw"), nil).problem(http.StatusForbidden, "forbidden")
	require.Equal(t, "rejected", other.post(t, changePath(again, "reject"), nil).is(200).string("status"))
	require.Equal(t, "test", w.Server.get(t, action).is(200).string("mode"))

	last := w.Admin.patch(t, action, object{"mode": "shadow", "name": "Release"}).is(http.StatusAccepted).string("id")
	other.post(t, changePath(last, "approve"), nil).is(200)
	require.Equal(t, "shadow", w.Server.get(t, action).is(200).string("mode"))
	require.Equal(t, "Release", w.Server.get(t, action).is(200).string("name"))
	w.Server.patch(t, action, object{"name": "Release"}).is(200)
	text := w.Server.patch(t, action, object{"name": "Release a payment", "consequence": "Nothing happens."}).is(http.StatusAccepted).string("id")
	require.Equal(t, "Release", w.Server.get(t, action).is(200).string("name"), "what customers sign waits")
	other.post(t, changePath(text, "approve"), nil).is(200)
	require.Equal(t, "Nothing happens.", w.Server.get(t, action).is(200).string("consequence"))
}

// Every field of an action, of an environment and of a webhook endpoint waits, except an endpoint's status. A field that is added to the contract needs a value here.
func TestSecondApproverApprovesEveryField(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	action, _ := w.action2(t)
	w.exec(t, "update environments set second_approver_required = false where id = $1", w.ID)
	endpoint := "/api/v1/webhook-endpoints/" + w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"}).is(http.StatusCreated).string("id")
	w.Admin.patch(t, environmentPath, object{"working_zone": "Europe/Berlin"}).is(http.StatusOK)
	w.exec(t, "update environments set second_approver_required = true where id = $1", w.ID)
	w.Admin.patch(t, endpoint, object{"status": "disabled"}).is(200)
	for path, c := range map[string]struct {
		schema string
		values object
	}{
		action: {"ActionUpdate", object{"name": "Nothing", "consequence": "Nothing happens.", "mode": "shadow", "labels": object{"de": object{"name": "Nichts", "consequence": "Nichts geschieht."}}}},
		environmentPath: {"EnvironmentUpdate", object{
			"rp_name": "Alder", "origins": []string{"http://localhost:8081"}, "challenge_ttl_seconds": 299, "hold_ttl_seconds": 7200,
			"enrollment_grant_required": true, "brand": object{"name": "Alder"}, "passkeys": object{"aaguids": []string{"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"}}, "bar_self_review": true,
			"page_origin": "http://localhost:8080", "return_origins": []string{"https://shop.example"}, "frame_ancestors": []string{"https://shop.example"},
			"second_approver_required": false, "change_ttl_seconds": 7200, "federated_key_days": 30, "resource_reservation_seconds": 7200, "review_notes": false, "key_expiry_required": true,
			"case_link": "https://cases.example/search?q={decision_id}", "background": "prior",
			"working_zone": "Asia/Kolkata", "working_hours": []string{"mon-fri 09:00-17:00"}, "holidays": []string{"2026-12-24"},
			"holidays_file": "QkVHSU46VkNBTEVOREFSCkJFR0lOOlZFVkVOVApEVFNUQVJUOjIwMjYxMjI0CkVORDpWRVZFTlQKRU5EOlZDQUxFTkRBUgo=",
		}},
		endpoint: {"WebhookEndpointUpdate", object{
			"url": "https://hooks.example/b", "events": []string{"hold.*"}, "description": "Ledger", "include_details": true, "status": nil,
		}},
	} {
		for _, field := range properties(t, c.schema) {
			if c.values[field] == nil && field == "status" {
				continue
			}
			require.Contains(t, c.values, field, c.schema)
			w.Admin.patch(t, path, object{field: c.values[field]}).is(http.StatusAccepted)
		}
	}
}

// Where events go is not one party's choice: nothing is sent to a URL before a second one has approved it.
func TestSecondApproverApprovesWebhookEndpoints(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	const endpoints = "/api/v1/webhook-endpoints"
	receiver := object{"url": "https://hooks.example/a", "events": []string{"hold.*"}}
	waiting := w.Admin.post(t, endpoints, receiver).is(http.StatusAccepted)
	require.Equal(t, "webhook.create", waiting.string("kind"))
	require.NotContains(t, string(waiting.body), "whsec_")
	require.Empty(t, w.Admin.get(t, endpoints).is(200).list(), "nothing is made yet")
	w.Server.get(t, changePath(waiting.string("id"))).problem(http.StatusNotFound, "not_found")
	w.Admin.post(t, changePath(waiting.string("id"), "approve"), nil).problem(http.StatusForbidden, "self_approval")
	other.post(t, changePath(waiting.string("id"), "approve"), nil).is(200)
	made := w.Admin.get(t, endpoints).is(200).list()
	require.Len(t, made, 1)
	path := endpoints + "/" + fmt.Sprint(made[0]["id"])
	require.Contains(t, w.Admin.post(t, path+"/rotate", object{"overlap_seconds": 0}).is(200).string("secret"), "whsec_", "the first secret that is shown")

	moved := w.Admin.patch(t, path, object{"url": "https://evil.example/a"}).is(http.StatusAccepted)
	require.Equal(t, []any{object{"field": "url", "before": "https://hooks.example/a", "after": "https://evil.example/a"}}, moved.value("differences"))
	require.Equal(t, fmt.Sprint(made[0]["id"]), moved.string("endpoint"))
	w.Admin.patch(t, path, object{"url": "https://hooks.example/a", "events": []string{"hold.*"}}).is(200)
	w.Admin.patch(t, path, object{"status": "disabled"}).is(200)
	w.Admin.patch(t, path, object{"status": "enabled", "include_details": true}).is(http.StatusAccepted)
	w.Admin.patch(t, path, object{"url": "https://10.0.0.1/"}).is(http.StatusUnprocessableEntity)
	require.Equal(t, "disabled", w.Admin.get(t, path).is(200).string("status"), "a change waits as a whole")
	w.Admin.delete(t, path).is(204)
	other.post(t, changePath(moved.string("id"), "approve"), nil).problem(http.StatusConflict, "change_superseded")
}

// properties returns the names of the fields of a schema of the contract.
func properties(t *testing.T, schema string) []string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &document))
	return slices.Sorted(maps.Keys(document.Components.Schemas[schema].Properties))
}

// action2 creates an action in mode test without a policy version.
func (w world) action2(t *testing.T) (path, key string) {
	t.Helper()
	path, key, _ = w.draft(t, allowing)
	return path, key
}

func TestSecondApproverChangesSettings(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	off := w.Admin.patch(t, environmentPath, object{"second_approver_required": false}).is(http.StatusAccepted).string("id")
	bar := w.Admin.patch(t, environmentPath, object{"bar_self_review": true}).is(http.StatusAccepted).string("id")
	require.Equal(t, true, w.Admin.get(t, environmentPath).is(200).value("second_approver_required"), "switching it off waits too")
	w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200)
	require.Len(t, w.Server.get(t, "/api/v1/changes").is(200).list(), 0, "settings are shown to admin keys only")
	w.Server.get(t, changePath(bar)).problem(http.StatusNotFound, "not_found")
	require.Len(t, w.Admin.get(t, "/api/v1/changes").is(200).list(), 2)

	other.post(t, changePath(bar, "approve"), nil).is(200)
	require.Equal(t, true, w.Admin.get(t, environmentPath).is(200).value("bar_self_review"))
	other.post(t, changePath(off, "approve"), nil).is(200)
	require.Equal(t, false, w.Admin.patch(t, environmentPath, object{"bar_self_review": false}).is(200).value("bar_self_review"))
	require.Equal(t, []string{`["body","origins",0] value_error`}, w.Admin.patch(t, environmentPath, object{"origins": []string{"https://evil.example"}}).faults())
}

func TestChangeIsSupersededOrExpires(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	action, _, version := w.draft(t, allowing)
	first := w.Server.post(t, version+"/activate", nil).is(http.StatusAccepted).string("id")
	w.Server.post(t, action+"/policy-versions", object{"requirements": holding}).is(201)
	second := w.Server.post(t, action+"/policy-versions/2/activate", nil).is(http.StatusAccepted).string("id")
	other.post(t, changePath(second, "approve"), nil).is(200)
	require.Equal(t, false, other.get(t, changePath(first)).is(200).value("applies"))
	other.post(t, changePath(first, "approve"), nil).problem(http.StatusConflict, "change_superseded")
	require.Equal(t, "superseded", other.get(t, changePath(first)).is(200).string("status"))
	require.InDelta(t, 2, w.Server.get(t, action).is(200).value("active_policy_version"), 0)

	late := w.Server.post(t, version+"/activate", nil).is(http.StatusAccepted).string("id")
	w.exec(t, "update changes set expires_at = created_at where id = '"+late+"'")
	eventually(t, func() bool { return other.get(t, changePath(late)).is(200).string("status") == "expired" }, "the change expires")
	other.post(t, changePath(late, "approve"), nil).problem(http.StatusConflict, "change_expired")
	require.InDelta(t, 2, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
}

func TestApprovalOfRevokedParties(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	action, _ := w.action2(t)
	backend, id := w.Admin.issue(t, "server")
	change := backend.patch(t, action, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
	other.post(t, changePath(change, "approve"), nil).problem(http.StatusConflict, "conflict")
	require.Equal(t, "test", w.Server.get(t, action).is(200).string("mode"))

	leaver, leaving := other.issue(t, "admin")
	mine := w.Server.patch(t, action, object{"mode": "enforce"}).is(http.StatusAccepted).string("id")
	other.delete(t, "/api/v1/credentials/"+leaving).is(204)
	leaver.post(t, changePath(mine, "approve"), nil).is(http.StatusUnauthorized)
	require.Equal(t, "test", w.Server.get(t, action).is(200).string("mode"))
}

func TestConcurrentDecisionsAboutAChange(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	third := caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}
	action, _ := w.action2(t)
	id := w.Admin.patch(t, action, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	statuses := make([]int, 6)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			if i%2 == 0 {
				statuses[i] = other.post(t, changePath(id, "approve"), nil).status
			} else {
				statuses[i] = third.post(t, changePath(id, "reject"), nil).status
			}
		})
	}
	all.Wait()
	approved, rejected := statuses[0] == 200, statuses[1] == 200
	require.NotEqual(t, approved, rejected, "exactly one kind of decision wins: %v", statuses)
	for i, s := range statuses {
		require.Equal(t, map[bool]int{true: 200, false: 409}[(i%2 == 0) == approved], s, "%v", statuses)
	}
	require.Equal(t, map[bool]string{true: "shadow", false: "test"}[approved], w.Server.get(t, action).is(200).string("mode"))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type in ('change.approved', 'change.rejected')", w.ID))
}
