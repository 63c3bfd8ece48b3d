package integration_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// limited makes an action in mode enforce that allows 1,000 a day of a subject, or of a resource, without evidence, whatever is decided at
// the same time.
func (w world) limited(t *testing.T, of string) string {
	t.Helper()
	const key = "payments.limited"
	path := "/api/v1/actions/" + w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Send a transfer", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
		"context_schema": object{"type": "object", "required": []string{"amount", "currency"}, "properties": object{
			"amount": object{"type": "string", "maxLength": 20, "x-countersign-aggregate": "sum",
				"x-countersign-display": object{"label": "Amount", "format": "money", "currency": "/currency"}},
			"currency": object{"type": "string", "enum": []string{"EUR", "USD"}},
		}},
	}).is(201).string("id")
	limit := with(rule("limit", of+`.sum("amount", "payments.limited", "allow", "24h") + decimal(context.amount) > 1000`, object{"deny_on": []string{"rule_matched"}}),
		object{"reserve": true})
	version := w.Server.post(t, path+"/policy-versions", object{"requirements": with(allowing, object{"rules": []object{limit}})}).is(201)
	require.Equal(t, true, version.value("requirements.rules").([]any)[0].(map[string]any)["reserve"])
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
	return key
}

// A number may have an exponent, or more digits than an amount: it is added up as it is compared.
func TestNumbersWithExponentsAreAddedUp(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.keeping(t, "enforce", with(allowing, object{"rules": []object{
		rule("limit", `resource.sum("amount", "payment.any", "allow", "24h") + decimal(context.amount) > 1000`, object{"deny_on": []string{"rule_matched"}}),
	}}), object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "number", "x-countersign-aggregate": "sum"}}})
	subject := w.subject(t)
	for sent, want := range map[string]string{"-0": "allow", "-0.0": "allow", "-0e2": "allow", "-0.000E-7": "allow", "0." + strings.Repeat("1", 40): "allow", "1E3": "allow", "1.001e3": "deny", "0.10": "allow"} {
		body := with(request(subject, action), object{"resource": object{"type": "payment", "id": "pay_1"}, "context": object{"amount": json.Number(sent)}})
		require.Equal(t, want, w.Server.post(t, "/api/v1/authorize", body).is(200).string("decision"), sent)
	}
	for _, sent := range []string{"-0.5", "1e41", "1e-25", "1e-20000"} {
		body := with(request(subject, action), object{"resource": object{"type": "payment", "id": "pay_1"}, "context": object{"amount": json.Number(sent)}})
		w.Server.post(t, "/api/v1/authorize", body).is(422)
	}
}

func inEuros(subject, action, amount string) object {
	return with(request(subject, action), object{"context": object{"amount": amount, "currency": "EUR"}})
}

// decideAtOnce sends the requests at the same time, and again while they are not decided. It returns how many had each decision, and an
// allowed one.
func (w world) decideAtOnce(t *testing.T, bodies []object) (decisions map[string]int, allowed string) {
	t.Helper()
	answers, errs := make([]response, len(bodies)), make([]error, len(bodies))
	waiting := make([]int, len(bodies))
	for i := range bodies {
		waiting[i] = i
	}
	for len(waiting) > 0 {
		require.NoError(t, t.Context().Err())
		concurrently(len(waiting), func(k int) {
			i := waiting[k]
			answers[i], errs[i] = w.Server.send("POST", "/api/v1/authorize", bodies[i])
		})
		waiting = slices.DeleteFunc(waiting, func(i int) bool { return errs[i] != nil || answers[i].header.Get("Retry-After") == "" })
	}
	decisions = map[string]int{}
	for i := range answers {
		require.NoError(t, errs[i])
		answers[i].t = t
		decision := answers[i].is(200).string("decision")
		if decisions[decision]++; decision == "allow" {
			allowed = answers[i].string("id")
		}
	}
	return decisions, allowed
}

// The test does not run in parallel, since it uses the whole capacity of the service.
func TestConcurrentRequestsNeverExceedALimit(t *testing.T) {
	w := newSandbox(t)
	subject, action := w.subject(t), w.limited(t, "subject")
	const n = 200
	bodies := make([]object, n)
	for i := range bodies {
		bodies[i] = inEuros(subject, action, "30.00")
	}
	decisions, allowed := w.decideAtOnce(t, bodies)
	require.Equal(t, map[string]int{"allow": 33, "deny": n - 33}, decisions)

	for _, body := range bodies { // a repetition counts once
		require.Equal(t, "true", w.Server.post(t, "/api/v1/authorize", body).is(200).header.Get("Idempotent-Replayed"))
	}
	require.Equal(t, 33, count(t, "select count(*) from proofs where environment_id = $1", w.ID))
	send := func(amount string) string {
		return w.Server.post(t, "/api/v1/authorize", inEuros(subject, action, amount)).is(200).string("decision")
	}
	require.Equal(t, "deny", send("10.01"))
	w.Server.post(t, "/api/v1/authorizations/"+allowed+"/outcome", object{"outcome": "not_executed"}).is(200)
	require.Equal(t, "allow", send("40.00"), "what was not executed is given back")
	require.Equal(t, "deny", send("0.01"))
	require.Equal(t, "allow", w.Server.post(t, "/api/v1/authorize", inEuros(w.subject(t), action, "1000.00")).is(200).string("decision"), "another subject")
	w.Server.post(t, "/api/v1/authorize", inEuros(subject, action, "-1.00")).is(422)
}

// The limit of an account holds for all who pay to it together. The test does not run in parallel, as the one above.
func TestConcurrentRequestsOfManySubjectsNeverExceedTheLimitOfAnAccount(t *testing.T) {
	w := newSandbox(t)
	action := w.limited(t, "resource")
	subjects := make([]string, 40)
	for i := range subjects {
		subjects[i] = w.subject(t)
	}
	to := func(account, subject, amount string) object {
		return with(inEuros(subject, action, amount), object{"resource": object{"type": "resource", "id": account}})
	}
	var bodies []object
	for i := range 200 { // an account beside it has a limit of its own
		bodies = append(bodies, to([]string{"acc_many", "acc_few"}[min(i%20/18, 1)], subjects[i%len(subjects)], "30.00"))
	}
	decisions, allowed := w.decideAtOnce(t, bodies)
	require.Equal(t, map[string]int{"allow": 33 + 20, "deny": 200 - 33 - 20}, decisions)
	require.Equal(t, 53, count(t, "select count(*) from proofs where environment_id = $1", w.ID))
	require.NotEmpty(t, allowed)
	send := func(account, amount string) string {
		return w.Server.post(t, "/api/v1/authorize", to(account, w.subject(t), amount)).is(200).string("decision")
	}
	require.Equal(t, "deny", send("acc_many", "10.01"), "of another subject")
	require.Equal(t, "allow", send("acc_many", "10.00"))
	require.Equal(t, "allow", send("acc_few", "400.00"))
}

// What was given back to a cap because it was not executed cannot be executed afterwards: its proof is revoked, also that of a follow-up decision.
func TestWhatIsGivenBackHasNoProof(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, action, auditor := w.subject(t), w.limited(t, "subject"), w.signedIn(t, models.RoleAuditor)
	id, _ := w.Server.get(t, "/api/v1/actions?key="+action).is(200).list()[0]["id"].(string)
	spend := func() response {
		return w.Server.post(t, "/api/v1/authorize", inEuros(subject, action, "1000.00")).is(200)
	}
	givenBack := func(reported, allowed string) {
		t.Helper()
		trace := w.Server.get(t, "/api/v1/authorizations/"+allowed).is(200)
		require.Equal(t, "allow", trace.string("decision"), "%s", trace.body)
		require.Equal(t, "deny", spend().string("decision"), "the cap is reached")
		w.Server.post(t, "/api/v1/authorizations/"+reported+"/outcome", object{"outcome": "not_executed"}).is(200)
		verdict := w.Server.post(t, "/api/v1/verify", object{"proof": trace.string("proof.compact"), "audience": audience, "consume": true}).is(200)
		require.Equal(t, false, verdict.value("valid"))
		require.Equal(t, []string{"proof_revoked"}, verdict.strings("reason_codes"))
		require.NotContains(t, auditor.get("/console/"+w.ID+"/decisions/"+allowed).body, "contradicts the sealed audit log")
	}
	direct := spend()
	givenBack(direct.string("id"), direct.string("id"))

	requirements := w.Server.get(t, "/api/v1/actions/"+id+"/policy-versions/1").is(200).value("requirements").(map[string]any)
	asking := with(requirements, challenging)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": asking}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/2/activate", nil).is(200)
	asked := spend()
	require.Equal(t, "challenge", asked.string("decision"))
	followUp := w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
	givenBack(asked.string("id"), followUp)
}

// What was paid out stays counted, whatever is reported afterwards.
func TestConsumedProofGivesNothingBack(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, action := w.subject(t), w.limited(t, "subject")
	for paid := range 3 {
		got := w.Server.post(t, "/api/v1/authorize", inEuros(subject, action, "450.00")).is(200)
		if paid == 2 {
			require.Equal(t, "deny", got.string("decision"), "1,350 under a limit of 1,000")
			return
		}
		w.Server.post(t, "/api/v1/verify", object{"proof": got.string("proof"), "audience": audience, "consume": true}).is(200)
		w.Server.post(t, "/api/v1/authorizations/"+got.string("id")+"/outcome", object{"outcome": "not_executed"}).is(200)
	}
}
