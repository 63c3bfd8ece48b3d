package integration_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// policyPage returns the page of an action's policy from the path of the action.
func (w world) policyPage(action string) string {
	return strings.Replace(action, "/api/v1/actions/", "/console/"+w.ID+"/policies/", 1)
}

// draftForm is the form of a version that requires nothing but its rules.
func draftForm(fields ...string) url.Values {
	out := url.Values{"requirements.coverage_min": {"none"}, "requirements.challenge_methods": {"passkey"}}
	for pair := range slices.Chunk(fields, 2) {
		out.Set(pair[0], pair[1])
	}
	return out
}

// A rule is written in controls of its own, refused at them, and shown in words, formatted and unescaped.
func TestConsoleWritesRulesInAForm(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	w.Server.post(t, "/api/v1/teams", object{"key": "treasury", "name": "Treasury", "members": []string{}})
	action, _ := w.ruled(t, "transfer.forms", rule("first", "true", holdMatched))
	page := w.policyPage(action)
	const when = "decimal(context.amount) > 10000 && has(context.purpose) && context.purpose != \"a<b\""
	form := draftForm("requirements.rules.0.name", "Large", "requirements.rules.0.when", when, "requirements.rules.0.then", "hold",
		"requirements.rules.0.approvals", "two", "requirements.rules.0.reason", "Large transfers are reviewed.", "requirements.rules.0.more", "[1]")
	refused := v.submit(page+"/draft", form)
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, fault(t, refused, "requirements-rules-0-more"), "a JSON object")
	form.Set("requirements.rules.0.more", "")
	require.Contains(t, fault(t, v.submit(page+"/draft", form), "requirements-rules-0-approvals"), "a number")
	form.Set("requirements.rules.0.approvals", "9")
	refused = v.submit(page+"/draft", form)
	require.Contains(t, fault(t, refused, "requirements-rules-0-approvals"), "Approvals must be at most 5.")
	require.Contains(t, fault(t, refused, "requirements-rules-0-name"), "Lower case with underscores")
	require.Contains(t, refused.body, `<a href="#f-requirements-rules-0-name">`)
	form.Set("requirements.rules.0.approvals", "2")
	form.Set("requirements.rules.0.name", "large")
	form.Set("requirements.rules.0.team", "treasure")
	require.Contains(t, fault(t, v.submit(page+"/draft", form), "requirements-rules-0-team"), "treasure")
	form.Set("requirements.rules.0.team", "")

	form.Set("more", "yes")
	another := v.submit(page+"/draft", form)
	require.Equal(t, http.StatusOK, another.status)
	require.Contains(t, another.body, `name="requirements.rules.1.when"`)
	form.Del("more")
	form.Set("keep_read", "true")
	made := v.submit(page+"/draft", form)
	require.Equal(t, page+"/2?last=1000", made.location, made.body)
	version := w.Server.get(t, action+"/policy-versions/2").is(200)
	require.Equal(t, []any{map[string]any{
		"name": "large", "when": when, "reason": "Large transfers are reviewed.", "requirements": map[string]any{"hold_on": []any{"rule_matched"}, "approvals_required": 2.0},
	}}, version.value("requirements.rules"))
	for _, property := range []string{"amount", "purpose"} {
		require.Equal(t, true, version.value("context_schema.properties." + property).(map[string]any)["x-countersign-keep"], "rules read "+property)
	}
	shown := v.get(made.location).body
	require.Contains(t, shown, "Holds a request for 2 approvals if amount is over 10,000 and purpose is not a&lt;b.")
	require.Contains(t, shown, "<span><bdi>decimal(context.amount) &gt; 10000</bdi></span>\n<span><bdi>&amp;&amp; has(context.purpose)</bdi></span>\n<span><bdi>&amp;&amp; context.purpose != &#34;a&lt;b&#34;</bdi></span>")
	require.NotContains(t, shown, "U+000A")
	require.NotContains(t, shown, "u003e")
	again := html.UnescapeString(v.get(page + "/draft?from=2").body)
	require.Contains(t, again, "decimal(context.amount) > 10000\n&& has(context.purpose)\n&& context.purpose", "the form shows what the version has")

	form.Set("requirements.rules.0.when", "decimal(context.amount) > 20000 && has(context.purpose) && context.purpose != \"a<b\"")
	made = v.submit(page+"/draft", form)
	shown = v.get(strings.Split(made.location, "?")[0] + "?against=2").body
	require.Contains(t, shown, "<del><bdi>decimal(context.amount) &gt; </bdi><mark><bdi>10000</bdi></mark></del>")
	require.Contains(t, shown, "<ins><bdi>decimal(context.amount) &gt; </bdi><mark><bdi>20000</bdi></mark></ins>")
}

// Who approves, break-glass and standing approvals are written as the API takes them.
func TestConsoleWritesReviewsInAForm(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	w.team(t, "payments")
	w.team(t, "incident")
	action, _ := w.ruled(t, "transfer.reviews", rule("first", "true", holdMatched))
	written := map[string]string{
		"review":      `{"steps": [{"name": "team", "entries": [{"group": "payments", "approvals": 1}]}, {"name": "board", "entries": [{"approvals": 2}]}]}`,
		"break_glass": `{"group": "incident", "after_review": {"approvals": 2, "within_seconds": 3600}}`,
	}
	form := draftForm("requirements.repeat_approvers", "true")
	for name, text := range written {
		form.Set("requirements."+name, text)
	}
	made := v.submit(w.policyPage(action)+"/draft", form)
	require.Equal(t, w.policyPage(action)+"/2?last=1000", made.location, made.body)
	version := w.Server.get(t, action+"/policy-versions/2").is(200)
	require.Equal(t, true, version.value("requirements.repeat_approvers"))
	for name, text := range written {
		stored, err := json.Marshal(version.value("requirements." + name))
		require.NoError(t, err)
		require.JSONEq(t, text, string(stored), name)
	}
	form.Set("requirements.break_glass", `{"group": 1}`)
	require.NotEmpty(t, fault(t, v.submit(w.policyPage(action)+"/draft", form), "requirements-break_glass"))
}

// replyOf decodes what the rule builder received.
func replyOf(t *testing.T, out visit) map[string]any {
	t.Helper()
	require.Equal(t, http.StatusOK, out.status, out.body)
	var reply map[string]any
	require.NoError(t, json.Unmarshal([]byte(out.body), &reply))
	return reply
}

// The service translates for the builder: a condition to a form, a form to a condition, and says what is wrong with either.
func TestConsoleTranslatesRules(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action, key := w.ruled(t, "transfer.builder", rule("first", "true", holdMatched))
	at := w.policyPage(action) + "/rule"
	const schema = `{"type":"object","required":["amount"],"properties":{"amount":{"type":"number"},"country":{"type":"string","enum":["DE","FR"]}}}`
	v := w.signedIn(t, models.RoleOperator)
	ask := func(more object) map[string]any {
		return replyOf(t, v.script(at, with(object{"schema": schema}, more)))
	}

	reply := ask(object{"when": `context.amount > 10 && has(context.country) && context.country == "DE"`, "values": true})
	tests := reply["form"].(map[string]any)["tests"].([]any)
	require.Equal(t, map[string]any{"value": "context.country", "operator": "==", "operand": "DE"}, tests[1])
	require.Equal(t, "amount is over 10 and country is DE", reply["said"])
	require.Empty(t, reply["faults"])
	require.Contains(t, reply["values"], map[string]any{"text": "context.country", "label": "country", "group": "Request", "kind": "text", "choices": []any{"DE", "FR"}})
	require.NotEmpty(t, reply["examples"])
	for _, example := range reply["examples"].([]any) {
		faults := ask(object{"when": example.(map[string]any)["when"]})["faults"]
		require.Empty(t, faults, example)
	}

	reply = ask(object{"form": object{"any": true, "tests": []object{{"value": "context.country", "operator": "one of", "operand": "DE\nFR"}, {"value": "context.amount", "operator": ">", "operand": "10"}}}})
	require.Equal(t, "(has(context.country) && context.country in [\"DE\", \"FR\"])\n|| context.amount > 10", reply["when"])
	require.Nil(t, ask(object{"when": "context.amount > 10 && (context.amount < 20 || true)"})["form"], "shown as text")
	require.Contains(t, ask(object{"when": "context.amuont > 10"})["faults"].([]any)[0], "Line 1, column 8: there is no property")
	require.Contains(t, ask(object{"form": object{"tests": []object{{"value": "context.amount", "operator": ">", "operand": "ten"}}}})["faults"].([]any)[0], "is not a number")
	require.Contains(t, ask(object{"schema": "{"})["faults"].([]any)[0], "cannot be used yet")
	require.Equal(t, http.StatusNotFound, newSandbox(t).signedIn(t, models.RoleOperator).script(at, object{}).status)
	require.Equal(t, http.StatusForbidden, w.signedIn(t, models.RoleAuditor).script(at, object{}).status)

	subject := w.subject(t)
	for _, amount := range []string{"5", "20"} {
		w.Server.post(t, "/api/v1/authorize", transfer(subject, key, amount)).is(200)
	}
	matching := func(when string) map[string]any {
		return replyOf(t, v.script(w.policyPage(action)+"/matches", object{"schema": schema, "when": when}))
	}
	require.Equal(t, "Matches 2 of the last 2 stored decisions.", matching("subject.passkeys == 0")["said"])
	require.Contains(t, matching("context.amount > 10")["said"], "2 more are unknown: they depend on context.amount, which is not stored.")
	require.Equal(t, http.StatusUnprocessableEntity, v.script(w.policyPage(action)+"/matches", object{"when": "context."}).status)
}

// An earlier version decides again in one step, as a new version with its content, and with two people where two are required.
func TestConsoleRollsBack(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action, _ := w.ruled(t, "transfer.back", rule("first", "true", holdMatched))
	w.Server.post(t, action+"/policy-versions", object{"requirements": allowing}).is(201)
	w.Server.post(t, action+"/policy-versions/2/activate", nil).is(200)
	olga, oscar := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleOperator)
	page := w.policyPage(action)
	require.NotContains(t, olga.get(page+"/2").body, "Roll back to", "it is active")
	require.Contains(t, olga.get(page+"/1").body, "Roll back to version 1")
	require.Equal(t, http.StatusBadRequest, olga.submit(page+"/1/roll-back", nil).status, "a reason is required")
	back := olga.submit(page+"/1/roll-back", url.Values{"reason": {"Version 2 lets everything through."}})
	require.Equal(t, page+"/3", back.location, back.body)
	require.InDelta(t, 3, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
	first, third := w.Server.get(t, action+"/policy-versions/1").is(200), w.Server.get(t, action+"/policy-versions/3").is(200)
	require.Equal(t, first.value("content_hash"), third.value("content_hash"))
	require.Contains(t, olga.get(back.location).body, "Version 2 lets everything through.")

	w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200)
	asked := olga.submit(page+"/2/roll-back", url.Values{"reason": {"The hold is not needed:\r\nsales asked."}})
	require.Regexp(t, `/changes/[^/]+\?done=requested$`, asked.location, asked.body)
	require.InDelta(t, 3, w.Server.get(t, action).is(200).value("active_policy_version"), 0, "nothing is changed yet")
	change := strings.Split(asked.location, "?")[0]
	seen := oscar.get(change).body
	for _, text := range []string{"<bdi>sales asked.</bdi>", "who requested it", "Allows every request.", "rule first", "removed: "} {
		require.Contains(t, seen, text)
	}
	require.Equal(t, http.StatusForbidden, oscar.submit(change+"/reason", url.Values{"reason": {"Mine."}}).status, "the reason is the requester's")
	long := oscar.submit(change, url.Values{"resolution": {"approve"}, "reason": {strings.Repeat("x", 501)}})
	require.Equal(t, http.StatusUnprocessableEntity, long.status)
	done := oscar.submit(change, url.Values{"resolution": {"approve"}, "reason": {"Agreed with sales."}})
	require.Equal(t, change+"?done=approved", done.location, done.body)
	require.InDelta(t, 4, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
	seen = olga.get(change).body
	require.Contains(t, seen, "Agreed with sales.")
	require.Contains(t, seen, "who settled it")
}
