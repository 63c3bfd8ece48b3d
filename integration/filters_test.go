package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A limit holds for one payee, for what one agent does, and for what no person approved.
func TestFiltersOfSumsAndCounts(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := "payments.filtered_" + unique()
	schema := object{"type": "object", "required": []string{"amount", "currency", "payee", "agent"}, "properties": object{
		"amount": object{"type": "number", "x-countersign-display": object{"label": "Amount", "format": "money", "currency": "/currency"}, "x-countersign-aggregate": "sum",
			"x-countersign-keep": true},
		"currency": object{"type": "string", "x-countersign-keep": true},
		"payee":    object{"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct", "x-countersign-display": object{"label": "Payee", "format": "text", "title": true}},
		"agent":    object{"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct", "x-countersign-agent": true},
	}}
	id := w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Pay", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience}, "resource_type": "supplier", "context_schema": schema,
	}).is(201).string("id")
	path := "/api/v1/actions/" + id
	sum := func(filter string) string {
		return `subject.sum("amount", "` + key + `", "allow", "24h", ` + filter + `)`
	}
	payee := sum(`{"payee": context.payee}`)
	alone := sum(`{"approved_by_person": false, "agent": context.agent}`)
	often := `subject.decisions("` + key + `", "allow", "1h", {"approved_by_person": false})`
	requirements := with(allowing, object{
		"standing": object{"by": []string{"passkey"}, "max_uses": 10, "max_duration_seconds": 86_400, "agent": "named", "max_amount": object{"field": "amount", "limit": "1000"}},
		"rules": []object{
			with(rule("payee", payee+` + decimal(context.amount) > 100`, object{"deny_on": []string{"rule_matched"}}), object{"reserve": true}),
			rule("alone", alone+` + decimal(context.amount) > 120`, object{"explicit_approval_required": true}),
			rule("often", often+` >= 5`, holdMatched),
		},
	})
	w.Server.post(t, path+"/policy-versions", object{"requirements": requirements}).is(201)
	for filter, why := range map[string]string{
		`{"currency": context.currency}`: `"currency" is not stored for this: mark the property of context_schema with "x-countersign-aggregate": "distinct"; marked are agent, payee`,
		`{"payee": 5}`:                   `the filter compares "payee", of the type string, with a value of the type int`,
	} {
		refused := w.Server.post(t, path+"/policy-versions", object{"requirements": with(allowing, object{"rules": []object{rule("payee", sum(filter)+" > 1", holdMatched)}})}).is(422)
		said := strings.ReplaceAll(string(refused.body), `\"`, `"`)
		for _, part := range []string{"rule_invalid", `of the rule "payee"`, why} {
			require.Contains(t, said, part)
		}
	}
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)

	subject := w.subject(t)
	pay := func(amount float64, payee, agent string) object {
		return with(request(subject, key), object{
			"resource": object{"type": "supplier", "id": "supplier-12"}, "context": object{"amount": amount, "currency": "EUR", "payee": payee, "agent": agent},
		})
	}
	w.decides(t, pay(60, "DE 1", "bot"), "allow")
	denied := w.decides(t, pay(50, "de1", "bot"), "deny")
	found := w.ruleEntry(t, denied.string("id"), "payee")
	require.Contains(t, found["found"], payee+" <= 100")
	require.Contains(t, fmt.Sprint(found["shown"]), "Amount in 24 hours, same Payee")
	w.decides(t, pay(50, "DE 2", "bot"), "allow")
	challenged := w.decides(t, pay(20, "DE 3", "bot"), "challenge")
	w.Server.post(t, "/api/v1/challenges/"+challenged.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	w.decides(t, pay(5, "DE 4", "other bot"), "allow")
	w.decides(t, pay(10, "DE 4", "bot"), "allow")
	w.decides(t, pay(0.01, "DE 4", "bot"), "challenge")
	w.begun(t, subject, key, object{"agent": "bot"})
	used := w.decides(t, pay(7, "DE 4", "bot"), "allow")
	require.NotEmpty(t, used.string("standing_approval"))
	w.decides(t, pay(1, "DE 5", "third bot"), "allow")
	w.decides(t, pay(1, "DE 6", "third bot"), "hold")

	// The policy in force decides what is stored as it was decided, and says what it cannot know.
	simulated := w.Server.post(t, path+"/policy-versions/1/simulate", object{"last": 100}).is(200)
	require.Empty(t, simulated.value("moves"), string(simulated.body))
	require.Contains(t, string(simulated.body), `context.payee`)
}
