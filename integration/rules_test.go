package integration_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// transferSchema shows the amount of a transfer and not the purpose.
var transferSchema = object{
	"type": "object", "required": []string{"amount"}, "properties": object{
		"amount":  object{"type": "string", "maxLength": 20, "x-countersign-display": object{"label": "Amount", "format": "money", "currency": "EUR"}},
		"purpose": object{"type": "string", "maxLength": 100},
		"memo":    object{}, // of any type and size
	},
}

// ruled makes an action in mode enforce that allows without evidence, with rules over transferSchema. It returns its path and key.
func (w world) ruled(t *testing.T, key string, list ...object) (path, action string) {
	t.Helper()
	path = "/api/v1/actions/" + w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Send a transfer", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
		"context_schema": transferSchema,
	}).is(201).string("id")
	w.Server.post(t, path+"/policy-versions", object{"requirements": with(allowing, object{"rules": list})}).is(201)
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
	return path, key
}

// rule is a rule that adds requirements.
func rule(name, when string, requirements object) object {
	return object{"name": name, "when": when, "requirements": requirements, "reason": "Reason of " + name}
}

var holdMatched = object{"hold_on": []string{"rule_matched"}}

func transfer(subject, action, amount string) object {
	return with(request(subject, action), object{"context": object{"amount": amount, "purpose": "secret-purpose"}})
}

// ruleEntry returns the entry of a rule in the explanation of a decision; nil if it has none.
func (w world) ruleEntry(t *testing.T, id, name string) map[string]any {
	t.Helper()
	for _, entry := range w.Server.get(t, "/api/v1/authorizations/"+id).is(200).value("explanation").([]any) {
		if e := entry.(map[string]any); e["requirement"] == "rules."+name {
			return e
		}
	}
	return nil
}

func TestRuleHoldsTransfersAboveALimit(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	path, action := w.ruled(t, "transfer.large", rule("large", `decimal(context.amount) > 10000`, with(holdMatched, object{"approvals_required": 2})))
	version := w.Server.get(t, path+"/policy-versions/1").is(200)
	require.Len(t, version.value("requirements.rules"), 1)
	require.Equal(t, canonicalDigest(t, object{
		"requirements": version.value("requirements"), "context_schema": version.value("context_schema"), "proof_ttl_seconds": version.value("proof_ttl_seconds"),
		"allowed_audiences": version.value("allowed_audiences"), "allowed_callers": version.value("allowed_callers"),
	}), version.string("content_hash"), "the hash covers the rules as they are returned")

	subject := w.subject(t)
	below := w.Server.post(t, "/api/v1/authorize", transfer(subject, action, "10000.00")).is(200)
	require.Equal(t, "allow", below.string("decision"))
	require.Nil(t, w.ruleEntry(t, below.string("id"), "large"))

	above := w.Server.post(t, "/api/v1/authorize", transfer(subject, action, "10000.01")).is(200)
	require.Equal(t, "hold", above.string("decision"))
	require.Equal(t, []string{"hold_on_matched", "rule_matched"}, above.strings("reason_codes"))
	entry := w.ruleEntry(t, above.string("id"), "large")
	require.Equal(t, "Reason of large", entry["wanted"])
	require.Equal(t, "matched: context.amount", entry["found"])
	require.Equal(t, []any{map[string]any{"label": "Amount", "value": "10,000.01 EUR"}}, entry["shown"])

	review := "/api/v1/authorizations/" + above.string("id") + "/review"
	w.reviewer(t).post(t, review, object{"resolution": "approve"}).is(202)
	w.reviewer(t).post(t, review, object{"resolution": "approve"}).is(200)
	followUp := w.Server.get(t, "/api/v1/authorizations/"+above.string("id")).is(200).string("review_authorization_id")
	require.Equal(t, "matched when it was requested: context.amount", w.ruleEntry(t, followUp, "large")["found"])
	require.Equal(t, "allow", w.Server.get(t, "/api/v1/authorizations/"+followUp).is(200).string("decision"))
}

func TestRuleCountsDecisionsOfTheSubject(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	const key = "transfer.counted"
	often := rule("often", `subject.decisions("`+key+`", "allow", "24h") >= 2`, object{"explicit_approval_required": true})
	_, action := w.ruled(t, key, often)
	other.ruled(t, key, often)
	subject := w.subject(t)
	other.Server.post(t, "/api/v1/subjects", object{"id": subject}).is(201)
	for range 2 {
		require.Equal(t, "allow", other.Server.post(t, "/api/v1/authorize", transfer(subject, key, "1.00")).is(200).string("decision"))
	}
	for range 2 {
		require.Equal(t, "allow", w.Server.post(t, "/api/v1/authorize", transfer(subject, action, "1.00")).is(200).string("decision"), "another tenant's decisions do not count")
	}
	asked := w.Server.post(t, "/api/v1/authorize", transfer(subject, action, "1.00")).is(200)
	require.Equal(t, "challenge", asked.string("decision"))
	require.Equal(t, `matched: subject.decisions("transfer.counted", "allow", "24h") = 2`, w.ruleEntry(t, asked.string("id"), "often")["found"])
	require.Equal(t, "allow", w.Server.post(t, "/api/v1/authorize", transfer(w.subject(t), action, "1.00")).is(200).string("decision"), "another subject's neither")

	done := w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
	require.Equal(t, "allow", w.Server.get(t, "/api/v1/authorizations/"+done).is(200).string("decision"))
	require.NotNil(t, w.ruleEntry(t, done, "often"))
}

func TestRuleThatCannotBeEvaluatedAppliesAndIsCounted(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	failures := func() float64 {
		found := regexp.MustCompile(`(?m)^countersign_rule_failures_total (\S+)$`).FindSubmatch(w.Server.get(t, "/metrics").is(200).body)
		require.NotNil(t, found)
		n, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return n
	}
	for name, c := range map[string]struct {
		when        string
		good, bad   object
		why, secret string
	}{
		"a value": {
			`decimal(context.amount) > 10000`, object{"amount": "1.00"}, object{"amount": "one million"}, "decimal() reads digits", "million",
		},
		"its cost": { // is estimated for a list of a property without a type; a string can be longer
			`has(context.memo) && context.memo.contains("a word of thirty characters...")`, object{"amount": "1.00", "memo": "secret"},
			object{"amount": "1.00", "memo": strings.Repeat("secret", 10_000)}, "it cost more than 10000 units", "secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, action := w.ruled(t, "transfer.failing_by_"+strings.ReplaceAll(name, " ", "_"), rule("failing", c.when, with(holdMatched, object{"approvals_required": 2})))
			decide := func(context object) response {
				return w.Server.post(t, "/api/v1/authorize", with(request(w.subject(t), action), object{"context": context})).is(200)
			}
			require.Equal(t, "allow", decide(c.good).string("decision"))
			before := failures()
			held := decide(c.bad)
			require.Equal(t, "hold", held.string("decision"))
			require.Equal(t, []string{"hold_on_matched", "rule_matched", "rule_failed"}, held.strings("reason_codes"))
			found := w.ruleEntry(t, held.string("id"), "failing")["found"]
			require.Contains(t, found, "could not be evaluated, so it applies: "+c.why)
			require.NotContains(t, found, c.secret)
			require.GreaterOrEqual(t, failures(), before+1)

			review := "/api/v1/authorizations/" + held.string("id") + "/review"
			w.reviewer(t).post(t, review, object{"resolution": "approve"}).is(202)
		})
	}
}

func TestRuleIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	good := rule("good", `decimal(context.amount) > 1`, holdMatched)
	path, _ := w.ruled(t, "transfer.refused", good)
	for name, c := range map[string]struct {
		rules []object
		loc   []any
		msg   string
	}{
		"unknown property": {[]object{good, rule("bad", "context.amuont == \"1\"", holdMatched)}, []any{"body", "requirements", "rules", 1.0, "when"},
			`requirements.rules[1].when of the rule "bad": line 1 column 8: there is no property "amuont" here; the declared ones are amount, memo, purpose.`},
		"number and string":  {[]object{rule("bad", "true && context.amount > 10000", holdMatched)}, []any{"body", "requirements", "rules", 0.0, "when"}, "line 1 column 24: > cannot be applied to (string, int); write decimal(x)"},
		"may be missing":     {[]object{rule("bad", `context.purpose == "x"`, holdMatched)}, []any{"body", "requirements", "rules", 0.0, "when"}, "has(context.purpose) && ..."},
		"no requirement":     {[]object{rule("bad", "true", object{})}, []any{"body", "requirements", "rules", 0.0, "requirements"}, "at least one requirement"},
		"the same name":      {[]object{good, good}, []any{"body", "requirements", "rules", 1.0, "name"}, `"good" names two rules`},
		"rules in a rule":    {[]object{rule("bad", "true", object{"rules": []object{good}})}, []any{"body", "requirements", "rules", 0.0, "requirements", "rules"}, ""},
		"a name in capitals": {[]object{rule("Bad", "true", holdMatched)}, []any{"body", "requirements", "rules", 0.0, "name"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := w.Server.post(t, path+"/policy-versions", object{"requirements": with(allowing, object{"rules": c.rules})}).is(422)
			first := refused.value("detail").([]any)[0].(map[string]any)
			require.Equal(t, c.loc, first["loc"])
			require.Contains(t, first["msg"], c.msg)
		})
	}
}
