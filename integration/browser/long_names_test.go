package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/models"
)

// long returns a name of 128 characters, the contract's limit of keys and ids, that has no place to break a line.
func long(start string) string { return start + strings.Repeat("w", 128-len(start)) }

// newLong is an environment whose keys, ids and names are as long as the contract allows.
func newLong(t *testing.T) populated {
	t.Helper()
	w := populated{world: newSandbox(t), action: long("payments" + strings.ToLower(unique())), subject: long("person-" + unique())}
	w.actionID = w.post(t, "/api/v1/actions", object{
		"key": w.action, "name": long("Release")[:120], "consequence": long("Money"), "allowed_audiences": []string{audience},
	}).is(201).string("id")
	versions := "/api/v1/actions/" + w.actionID + "/policy-versions"
	w.post(t, versions, object{"requirements": object{
		"coverage_min": "partial", "insufficient_evidence": "hold", "claims": object{"operator_continuity": "likely", "human_presence": "likely"},
		"hold_on": []string{"automation_not_met", "evidence_replay_not_met", "operator_continuity_not_met"},
	}}).is(201)
	w.post(t, versions+"/1/activate", nil).is(200)
	w.do(t, http.MethodPatch, "/api/v1/actions/"+w.actionID, object{"mode": "enforce"}).is(200)
	w.post(t, versions, object{"requirements": challenging}).is(201)
	w.post(t, "/api/v1/subjects", object{"id": w.subject}).is(201)
	w.held = w.authorize(t, w.subject, w.action, "hold").string("id")
	w.allowed = w.authorize(t, w.subject, w.action, "hold").string("id")
	w.evaluation = w.post(t, "/api/v1/evaluations", object{"name": long("Pilot")[:64], "action_keys": []string{w.action}}).is(201).string("id")
	w.endpoint = w.post(t, "/api/v1/webhook-endpoints", object{
		"url": "http://127.0.0.1:9/" + long("hook"), "description": long("Case system")[:64], "events": []string{"hold.*", "webhook.test"},
	}).is(201).string("id")
	w.list = w.post(t, "/api/v1/lists", object{"name": long("list")[:64], "kind": "text", "description": long("Paid")}).is(201).string("id")
	w.post(t, "/api/v1/lists/"+w.list+"/entries", object{"add": []object{{"value": long("Payee") + long(""), "reason": long("Paid")}}}).is(200)
	w.post(t, "/api/v1/credentials", object{"scope": "server", "name": strings.Repeat("n", 64)}).is(201)
	w.do(t, http.MethodPatch, "/api/v1/environment", object{"second_approver_required": true}).is(200)
	w.change = w.post(t, versions+"/2/activate", nil).is(202).string("id")
	return w
}

// Keys and ids of 128 characters are shown whole on every page: no table and no box is narrower than its content.
func TestConsolePagesShowLongNamesWhole(t *testing.T) {
	t.Parallel()
	w := newLong(t)
	b := newTab(t)
	b.enter(w.world, "Olga Operator-Reviewer", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	b.expect("status of 404")
	for _, p := range append(w.pages(), w.forms(t)...) {
		b.open(p.path)
		b.until(`document.querySelector("main h1")`)
		for _, width := range widths {
			b.size(width, 800)
			b.requireNoOverflow()
			b.screenshot(fmt.Sprintf("long-%s-%d", p.name, width))
		}
	}
}

// A hold's page begins with the request and the reasons in sentences. The requirements that are met are folded.
func TestReviewPageBeginsWithTheReasons(t *testing.T) {
	t.Parallel()
	w := newLong(t)
	b := newTab(t)
	b.enter(w.world, "Ann", models.RoleReviewer)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("reviews", w.held))
		b.see("There is too little evidence to know who is acting.")
		b.until(`(() => { // the reasons precede the review form, the evidence and the history
			const top = (s) => document.querySelector(s).getBoundingClientRect().top;
			return top(".case-title") < top("#why-heading") && top("#why-heading") < top("[data-approve]") && top("#why-heading") < top("#evidence-heading");
		})()`)
		b.until(`!document.querySelector(".record").open && document.querySelector(".record").textContent.includes("met")`)
		b.eval(`document.querySelector(".record").open = true`, nil)
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot(fmt.Sprintf("console-review-reasons-%d", width))
	}
}
