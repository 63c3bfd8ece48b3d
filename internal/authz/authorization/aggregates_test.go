package authorization_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// counted is a context_schema with an amount by currency and a payee by which rules count.
const counted = `{"type": "object", "required": ["amount", "payee"], "properties": {
	"amount": {"type": "string", "maxLength": 30, "x-countersign-aggregate": "sum",
		"x-countersign-display": {"label": "Amount", "format": "money", "currency": "/currency"}},
	"currency": {"type": "string"}, "payee": {"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct"}}}`

// denyRule denies what its condition matches.
func denyRule(name, when string, reserve bool) policy.Rule {
	return policy.Rule{Name: name, When: when, Requirements: policy.Stricter{DenyOn: []string{reason.RuleMatched}}, Reason: "Because of " + name, Reserve: reserve}
}

// counting is a bundle whose policy allows without evidence, counts by an amount and a payee, and has these rules.
func counting(t *testing.T, list ...policy.Rule) *bundle {
	t.Helper()
	b := setup(t, allowing)
	b.activateCounting(t, allowing, list...)
	return b
}

func (b *bundle) activateCounting(t *testing.T, requirements policy.Requirements, list ...policy.Rule) {
	t.Helper()
	requirements.Rules = list
	b.activate(t, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(counted)})
}

// send authorizes an amount in euros to a payee and returns the decision.
func (b *bundle) send(t *testing.T, amount, payee string) policy.Effect {
	t.Helper()
	return b.pay(t, fmt.Sprintf(`{"amount": %q, "currency": "EUR", "payee": %q}`, amount, payee)).Decision
}

func TestRuleAddsAmountsUpByCurrency(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("much", `subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, false))
	require.Equal(t, policy.Allow, b.send(t, "600.10", "a"))
	require.Equal(t, policy.Deny, b.send(t, "399.91", "a"))
	require.Equal(t, policy.Allow, b.send(t, "399.90", "a"), "to the cent")
	require.Equal(t, policy.Deny, b.send(t, "0.01", "a"))
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": "1000", "currency": "USD", "payee": "a"}`).Decision, "another currency")
	b.clock.Advance(24 * time.Hour)
	require.Equal(t, policy.Allow, b.send(t, "1000", "a"), "the window has passed")
}

// An explanation names a sum with its window, its limit and what it came to, which is stored sealed. The payer does not see it.
func TestExplanationNamesSumsOfShownAmounts(t *testing.T) {
	t.Parallel()
	const sum, hidden = `subject.sum("amount", "payments.transfer", "allow", "24h")`, `subject.sum("fee", "payments.transfer", "allow", "7d")`
	b := setup(t, allowing)
	requirements := allowing
	requirements.Rules = []policy.Rule{
		denyRule("limit", sum+` + decimal(context.amount) > 1000`, false), denyRule("half", sum+` > 500`, false), denyRule("fees", hidden+` > 1`, false),
		denyRule("account", `resource.sum("amount", "payments.transfer", "any", "1h") >= 1`, false),
	}
	b.activate(t, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(`{"type": "object", "required": ["amount", "fee"], "properties": {
		"amount": {"type": "string", "maxLength": 30, "x-countersign-aggregate": "sum",
			"x-countersign-display": {"label": "Amount", "format": "money", "currency": "/currency"}},
		"currency": {"type": "string"}, "fee": {"type": "string", "maxLength": 30, "x-countersign-aggregate": "sum"}}}`)})
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": "940", "currency": "EUR", "fee": "7.31"}`).Decision)
	denied := b.pay(t, `{"amount": "100", "currency": "EUR", "fee": "7.31"}`)
	require.Equal(t, policy.Deny, denied.Decision)
	amount := policy.ShownValue{Label: "Amount", Value: "100.00 EUR"}
	for rule, want := range map[string][]policy.ShownValue{
		"limit":   {amount, {Label: "Amount in 24 hours", Value: "940.00 EUR + 100.00 EUR of 1,000.00 EUR"}},
		"half":    {{Label: "Amount in 24 hours", Value: "more than 500.00 EUR"}},
		"fees":    nil, // it is not shown
		"account": {{Label: "Amount to this resource in 1 hour, any", Value: "more than 1.00 EUR"}},
	} {
		got, listed := b.explained(t, denied.ID, rule)
		require.True(t, listed, rule)
		require.Equal(t, want, got.Shown, rule)
	}
	stored, err := authorization.TraceDecision(t.Context(), b.Store.Q, b.Scope, denied.ID)
	require.NoError(t, err)
	for _, value := range []string{"940", "100.00", "7.31", "EUR"} {
		require.NotContains(t, string(stored.Authorization.Explanation), value)
	}
	trace, err := b.Get(t.Context(), b.Scope, denied.ID)
	require.NoError(t, err)
	require.Len(t, trace.Display.Details, 1, "what the payer sees")

	b.Exec("delete from shown_details")
	got, _ := b.explained(t, denied.ID, "limit")
	require.Equal(t, []policy.ShownValue{{Label: "Amount"}, {Label: "Amount in 24 hours"}}, got.Shown, "past its retention")
}

// A decision is stored by its resource only where a rule of its action counts by the resource.
func TestResourceIsStoredWhereRulesCountByIt(t *testing.T) {
	t.Parallel()
	for when, stored := range map[string]int{`subject.sum("amount", "payments.transfer", "allow", "24h") > 1`: 0, `resource.sum("amount", "payments.transfer", "allow", "24h") > 1`: 2} {
		b := counting(t, denyRule("much", when, false))
		require.Equal(t, policy.Allow, b.send(t, "600", "a"))
		require.Equal(t, stored, b.Count("select count(resource_digest) from aggregate_values"), when)
		require.Equal(t, policy.Deny, b.send(t, "1", "a"), when)
	}
}

func TestRuleCountsDifferentValues(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("payees", `subject.distinct("payee", "payments.transfer", "allow", "1h") >= 2 && !subject.seen("payee", context.payee, "1h")`, false))
	require.Equal(t, policy.Allow, b.send(t, "1", "a"))
	require.Equal(t, policy.Allow, b.send(t, "1", "b"))
	require.Equal(t, policy.Deny, b.send(t, "1", "c"), "a third payee")
	require.Equal(t, policy.Allow, b.send(t, "1", "a"), "a payee of before")
	require.Equal(t, 2, b.Count("select count(distinct digest) from aggregate_values where decision = 'allow' and digest is not null"))
	require.Zero(t, b.Count("select count(*) from aggregate_values where amount is null and length(digest) <> 32"))
}

func TestRuleCountsOfTheResource(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("mule", `resource.distinct("subject", "payments.transfer", "allow", "24h") >= 1 && resource.sum("amount", "payments.transfer", "any", "24h") >= 100`, false))
	require.Equal(t, policy.Allow, b.send(t, "100", "a"))
	require.Equal(t, policy.Deny, b.send(t, "1", "a"))
	r := b.request()
	r.Resource.ID, r.Context = "acc_2", json.RawMessage(`{"amount": "1", "currency": "EUR", "payee": "a"}`)
	got, err := b.authorize(t, r)
	require.NoError(t, err)
	require.Equal(t, policy.Allow, got.Decision, "another resource")
}

// A limit is for an account, a payee and a currency, and not for one of their spellings.
func TestLimitsCountEverySpellingTogether(t *testing.T) {
	t.Parallel()
	b := counting(t,
		denyRule("account", `resource.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true),
		denyRule("payees", `subject.distinct("payee", "payments.transfer", "allow", "24h") >= 2 && !subject.seen("payee", context.payee, "24h")`, false),
	)
	pay := func(account, payee, currency string) policy.Effect {
		t.Helper()
		r := b.request()
		r.Resource.ID, r.Context = account, json.RawMessage(fmt.Sprintf(`{"amount": "400", "currency": %q, "payee": %q}`, currency, payee))
		got, err := b.authorize(t, r)
		require.NoError(t, err)
		return got.Decision
	}
	require.Equal(t, policy.Allow, pay("GB33BUKB20201555555555", "Zoë Ltd", "EUR"))
	require.Equal(t, policy.Allow, pay("gb33 bukb 2020 1555 5555 55", "ZOE\u0308\u00a0LTD", "EUR"))
	for _, spelling := range []string{"GB33 BUKB 2020 1555 5555 55", "gb33bukb20201555555555", "ＧＢ33BUKB20201555555555", "GB33\u200bBUKB\u00a020201555555555", "GB\u0663\u0663BUKB20201555555555", "gb\u0969\u0969bukb\u2777\u24ff201555555555"} {
		require.Equal(t, policy.Deny, pay(spelling, "Zoë Ltd", "EUR"), "%q", spelling)
	}
	require.Equal(t, policy.Allow, pay("GB94BARC10201530093459", "Second", "EUR"))
	for _, amount := range []string{"\u0664\u0660\u0660", "４００", "4\u0966\u0966.00", "-\u0664"} {
		r := b.request()
		r.Context = json.RawMessage(fmt.Sprintf(`{"amount": %q, "currency": "EUR", "payee": "a"}`, amount))
		_, err := b.authorize(t, r)
		require.Equal(t, []any{"body", "context", "amount"}, problem.As(err).Fields[0].Loc, amount)
	}
	require.Equal(t, policy.Deny, pay("DE89370400440532013000", "Third", "EUR"))
	require.Equal(t, policy.Allow, pay("DE89370400440532013000", "zoe\u0308ltd", "EUR"), "a payee of before")
	for _, invented := range []string{"EUX", "QQQ", "EU1", "BTC"} {
		require.Equal(t, policy.Deny, pay("FR1420041010050500013M02606", "Zoë Ltd", invented), "the sum of %s is not known", invented)
	}
	require.Equal(t, policy.Allow, pay("FR1420041010050500013M02606", "Zoë Ltd", "JPY"))
}

// What version 1.0.0 stored under the spelling of a request still counts for requests with that spelling.
func TestLimitCountsWhatWasStoredAsWritten(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("account", `resource.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true))
	r := b.request()
	r.Resource.ID, r.Context = "Acc 7", json.RawMessage(`{"amount": "900", "currency": "EUR", "payee": "a"}`)
	got, err := b.authorize(t, r)
	require.NoError(t, err)
	b.Exec("update aggregate_values v set resource_digest = a.resource_digest from authorizations a where a.id = v.request_id and a.id = $1", got.ID)
	for spelling, want := range map[string]policy.Effect{"Acc 7": policy.Deny, "acc7": policy.Allow} {
		next := b.request()
		next.Resource.ID, next.Context = spelling, json.RawMessage(`{"amount": "101", "currency": "EUR", "payee": "a"}`)
		got, err := b.authorize(t, next)
		require.NoError(t, err)
		require.Equal(t, want, got.Decision, spelling)
		b.Exec("delete from authorizations where id = $1", got.ID)
	}
}

func TestAmountThatCannotBeAddedUpIsRefused(t *testing.T) {
	t.Parallel()
	b := counting(t)
	for name, context := range map[string]string{
		"negative": `{"amount": "-1", "currency": "EUR", "payee": "a"}`, "no number": `{"amount": "1,50", "currency": "EUR", "payee": "a"}`, "no currency": `{"amount": "1", "payee": "a"}`,
		"another form": `{"amount": "1", "currency": "eur", "payee": "a"}`, "exponent": `{"amount": "1e9", "currency": "EUR", "payee": "a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := b.request()
			r.Context = json.RawMessage(context)
			_, err := b.authorize(t, r)
			requireProblem(t, err, problem.Unprocessable)
		})
	}
	require.Zero(t, b.Count("select count(*) from aggregate_values"))
}

// limit is a cap of 1,000 a day that reserves.
var limit = denyRule("limit", `subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true)

// toHold is limit beside a rule that holds payments to a payee.
func toHold(rule string, method policy.Stricter) policy.Rule {
	return policy.Rule{Name: "to", When: `context.payee == "` + rule + `"`, Requirements: method, Reason: "To " + rule}
}

// left returns how much of the cap is left: the highest of some amounts that is allowed now.
func (b *bundle) left(t *testing.T) string {
	t.Helper()
	for _, amount := range []string{"1000", "600", "400", "100"} {
		r := b.request()
		r.Context = json.RawMessage(fmt.Sprintf(`{"amount": %q, "currency": "EUR", "payee": "probe"}`, amount))
		got, err := b.authorize(t, r)
		require.NoError(t, err)
		b.Exec("delete from aggregate_values where request_id = $1", got.ID)
		b.Exec("delete from authorizations where id = $1", got.ID)
		if got.Decision == policy.Allow {
			return amount
		}
	}
	return "0"
}

func TestCapCountsUntilTheAmountIsGivenBack(t *testing.T) {
	t.Parallel()
	holds, challenges := policy.Stricter{HoldOn: []string{reason.RuleMatched}}, policy.Stricter{ExplicitApprovalRequired: true}
	type world struct {
		*bundle
		first authorization.Response
	}
	followUp := func(t *testing.T, w world, r settle.FollowUp) models.Authorization {
		t.Helper()
		r.Scope, r.Parent, r.At, r.Actor = w.Scope, w.first.ID, w.clock.Now(), "test"
		second, err := w.Service.FollowUp(t.Context(), w.Store.Q, r)
		require.NoError(t, err)
		return second
	}
	report := func(t *testing.T, w world, id, outcome string) {
		t.Helper()
		_, err := w.Outcome(t.Context(), w.principal, id, outcome, nil)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		with policy.Stricter // of the first decision about 900; nothing is left of another 100 as long as it counts
		then func(t *testing.T, w world)
		left string
	}{
		"allowed":              {policy.Stricter{}, func(*testing.T, world) {}, "100"},
		"allowed, a day later": {policy.Stricter{}, func(_ *testing.T, w world) { w.clock.Advance(24 * time.Hour) }, "1000"},
		"not executed":         {policy.Stricter{}, func(t *testing.T, w world) { report(t, w, w.first.ID, "not_executed") }, "1000"},
		"its proof was consumed, then not executed": {policy.Stricter{}, func(t *testing.T, w world) {
			w.Exec("update proofs set status = 'consumed', consumed_at = now() where authorization_id = $1", w.first.ID)
			report(t, w, w.first.ID, "not_executed")
		}, "100"},
		"the follow-up executed, the request not executed": {challenges, func(t *testing.T, w world) {
			report(t, w, followUp(t, w, settle.FollowUp{ChallengeMethod: "sandbox_confirm"}).ID, "executed")
			report(t, w, w.first.ID, "not_executed")
		}, "100"},
		"the follow-up's proof was consumed, the request not executed": {challenges, func(t *testing.T, w world) {
			second := followUp(t, w, settle.FollowUp{ChallengeMethod: "sandbox_confirm"})
			w.Exec("update proofs set status = 'consumed', consumed_at = now() where authorization_id = $1", second.ID)
			report(t, w, w.first.ID, "not_executed")
		}, "100"},
		"not executed, reported twice": {policy.Stricter{}, func(t *testing.T, w world) {
			report(t, w, w.first.ID, "not_executed")
			report(t, w, w.first.ID, "not_executed")
		}, "1000"},
		"unknown, then not executed": {policy.Stricter{}, func(t *testing.T, w world) {
			report(t, w, w.first.ID, "unknown")
			report(t, w, w.first.ID, "not_executed")
		}, "1000"},
		"executed":                        {policy.Stricter{}, func(t *testing.T, w world) { report(t, w, w.first.ID, "executed") }, "100"},
		"held":                            {holds, func(*testing.T, world) {}, "100"},
		"held for longer than the window": {holds, func(_ *testing.T, w world) { w.clock.Advance(30 * time.Hour) }, "100"},
		"held and approved": {holds, func(t *testing.T, w world) {
			w.clock.Advance(30 * time.Hour)
			followUp(t, w, settle.FollowUp{HoldApproved: true})
		}, "100"},
		"held and approved, a day later": {holds, func(t *testing.T, w world) {
			followUp(t, w, settle.FollowUp{HoldApproved: true})
			w.clock.Advance(24 * time.Hour)
		}, "1000"},
		"held and executed nevertheless": {holds, func(t *testing.T, w world) { report(t, w, w.first.ID, "executed") }, "100"},
		"held, approved, then not executed": {holds, func(t *testing.T, w world) {
			report(t, w, followUp(t, w, settle.FollowUp{HoldApproved: true}).ID, "not_executed")
		}, "1000"},
		"held, approved, the hold reported": {holds, func(t *testing.T, w world) {
			followUp(t, w, settle.FollowUp{HoldApproved: true})
			report(t, w, w.first.ID, "not_executed")
		}, "1000"},
		"held, approved, the hold executed": {holds, func(t *testing.T, w world) {
			followUp(t, w, settle.FollowUp{HoldApproved: true})
			report(t, w, w.first.ID, "executed")
		}, "100"},
		"challenged":               {challenges, func(*testing.T, world) {}, "100"},
		"challenged and completed": {challenges, func(t *testing.T, w world) { followUp(t, w, settle.FollowUp{ChallengeMethod: "sandbox_confirm"}) }, "100"},
		"challenged, and the follow-up is denied": {challenges, func(t *testing.T, w world) {
			w.Exec("update subjects set status = 'revoked'")
			require.Equal(t, "deny", followUp(t, w, settle.FollowUp{ChallengeMethod: "sandbox_confirm"}).Decision)
			w.Exec("update subjects set status = 'active'")
		}, "1000"},
		"executed although the follow-up was denied": {challenges, func(t *testing.T, w world) {
			w.Exec("update subjects set status = 'revoked'")
			report(t, w, followUp(t, w, settle.FollowUp{ChallengeMethod: "sandbox_confirm"}).ID, "customer_override")
			w.Exec("update subjects set status = 'active'")
		}, "100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := []policy.Rule{limit}
			if len(c.with.HoldOn) > 0 || c.with.ExplicitApprovalRequired {
				list = append(list, toHold("a", c.with))
			}
			w := world{bundle: counting(t, list...)}
			w.first = w.pay(t, `{"amount": "900", "currency": "EUR", "payee": "a"}`)
			require.Equal(t, "100", w.left(t), "the amount counts from the decision on")
			c.then(t, w)
			require.Equal(t, c.left, w.left(t))
		})
	}
}

// account limits what all subjects together pay to an account.
var account = denyRule("account", `context.payee != "free" && resource.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true)

// heldFor decides a payment of 900 that waits for a reviewer, and the approval of it after a time in which others used what was left.
func heldFor(t *testing.T, wait time.Duration, meanwhile ...string) (b *bundle, denied []policy.Effect, approved models.Authorization) {
	t.Helper()
	b = counting(t, account, toHold("held", policy.Stricter{HoldOn: []string{reason.RuleMatched}}))
	first := b.pay(t, `{"amount": "900", "currency": "EUR", "payee": "held"}`)
	require.Equal(t, policy.Hold, first.Decision)
	b.clock.Advance(wait)
	for _, amount := range meanwhile {
		denied = append(denied, b.send(t, amount, "other"))
	}
	approved, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{
		Scope: b.Scope, Parent: first.ID, At: b.clock.Now(), Actor: "test", HoldApproved: true})
	require.NoError(t, err)
	return b, denied, approved
}

// A request that waits for a reviewer keeps others from an account for a limited time, and is denied if there is no room for it later.
func TestWaitingRequestReservesTheLimitOfItsAccountForALimitedTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait      time.Duration
		meanwhile []string
		decided   []policy.Effect
		approval  string
	}{
		"within the time":             {14 * time.Minute, []string{"100", "0.01"}, []policy.Effect{policy.Allow, policy.Deny}, "allow"},
		"after it, with room":         {16 * time.Minute, []string{"100"}, []policy.Effect{policy.Allow}, "allow"},
		"after it, to the cent":       {16 * time.Minute, []string{"100.01"}, []policy.Effect{policy.Allow}, "deny"},
		"after it, without room":      {70 * time.Hour, []string{"1000", "0.01"}, []policy.Effect{policy.Allow, policy.Deny}, "deny"},
		"after it, no one else asked": {70 * time.Hour, nil, nil, "allow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, decided, approved := heldFor(t, c.wait, c.meanwhile...)
			require.Equal(t, c.decided, decided)
			require.Equal(t, c.approval, approved.Decision)
			require.Equal(t, 1, b.Count("select count(*) from (select sum(amount) from aggregate_values where reserved = 'final' having sum(amount) <= 1000) x"))
			if c.approval == "deny" {
				got, found := b.explained(t, approved.ID, "account")
				require.True(t, found)
				require.NotContains(t, got.Found, "when it was requested")
			}
		})
	}
}

// The time is a setting of the environment, and only limits of a resource have it.
func TestReservationOfAnAccountIsASetting(t *testing.T) {
	t.Parallel()
	b := counting(t, account, limit, toHold("held", policy.Stricter{HoldOn: []string{reason.RuleMatched}}))
	env, err := tenancy.GetEnvironment(t.Context(), b.Store.Q, b.Scope)
	require.NoError(t, err)
	require.Equal(t, 900, env.ResourceReservationSeconds)
	_, err = tenancy.New(b.Store, nil, b.clock, func(string) {}).UpdateSettings(t.Context(), b.Scope, tenancy.Settings{"resource_reservation_seconds": 60}, "test", "")
	require.NoError(t, err)
	b.ForgetEnvironment(b.Scope.Environment)
	require.Equal(t, policy.Hold, b.send(t, "900", "held"))
	b.clock.Advance(61 * time.Second)
	require.Equal(t, policy.Deny, b.send(t, "500", "other"), "the subject's own limit is reserved until the hold is settled")
	other := storetest.Subject(t, b.Store, models.Environment{ID: b.Scope.Environment, TenantID: b.Scope.Tenant}, "user_other")
	r := b.request()
	r.Subject, r.Context = other.ExternalID, json.RawMessage(`{"amount": "500", "currency": "EUR", "payee": "other"}`)
	got, err := b.authorize(t, r)
	require.NoError(t, err)
	require.Equal(t, policy.Allow, got.Decision)
}

// The limit does not apply to every request: what the rule reads of the request is known again. It is denied once that is not.
func TestWaitingRequestIsCountedByWhatItsRuleReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payee, sql, approval string
	}{
		"the rule does not apply":         {"free", "select 1", "allow"},
		"what it reads is gone":           {"paid", "delete from kept_values", "deny"},
		"reserved until it is settled":    {"paid", "update aggregate_values set resource_until = null", "allow"},
		"reported as executed meanwhile":  {"paid", "update aggregate_values set reserved = 'executed' where reserved = 'open'", "allow"},
		"its values are still as written": {"paid", "select 1", "deny"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := counting(t, account, policy.Rule{Name: "held", When: `decimal(context.amount) > 800`, Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}, Reason: "Held"})
			first := b.pay(t, fmt.Sprintf(`{"amount": "900", "currency": "EUR", "payee": %q}`, c.payee))
			require.Equal(t, policy.Hold, first.Decision)
			b.clock.Advance(time.Hour)
			b.Exec(c.sql)
			if c.sql == "select 1" {
				require.Equal(t, policy.Allow, b.send(t, "700", "other"))
			}
			approved, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{
				Scope: b.Scope, Parent: first.ID, At: b.clock.Now(), Actor: "test", HoldApproved: true})
			require.NoError(t, err)
			require.Equal(t, c.approval, approved.Decision)
		})
	}
}

// Approvals and requests that meet at one account never exceed its limit.
func TestApprovalsAndRequestsAtOnceNeverExceedTheLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	b := counting(t, account, toHold("held", policy.Stricter{HoldOn: []string{reason.RuleMatched}}))
	var held []string
	for range 6 {
		held = append(held, b.pay(t, `{"amount": "300", "currency": "EUR", "payee": "held"}`).ID)
		b.clock.Advance(16 * time.Minute)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if i%2 == 1 {
				r := b.request()
				r.Context = json.RawMessage(`{"amount": "70", "currency": "EUR", "payee": "other"}`)
				_, _ = b.authorize(t, r)
				return
			}
			_ = settle.Retry(func() error {
				_, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{Scope: b.Scope, Parent: held[i/2], At: b.clock.Now(), Actor: "test", HoldApproved: true})
				return err
			})
		})
	}
	wg.Wait()
	require.Positive(t, b.Count("select count(*) from aggregate_values where reserved = 'final' and not first"))
	require.Equal(t, 1, b.Count("select count(*) from (select sum(amount) from aggregate_values where reserved = 'final' having sum(amount) between 700 and 1000) x"))
}

// Test and shadow reserve nothing, and a rule that does not reserve counts what was allowed, whatever became of it.
func TestWhatACapDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, mode := range []models.ActionMode{models.ModeTest, models.ModeShadow} {
		b := counting(t, limit)
		b.setMode(t, mode)
		require.Equal(t, policy.Allow, b.send(t, "900", "a"))
		b.setMode(t, models.ModeEnforce)
		require.Equal(t, "1000", b.left(t), mode)
		require.Equal(t, policy.Allow, b.send(t, "900", "a"))
		b.setMode(t, mode)
		require.Equal(t, policy.Deny, b.send(t, "200", "a"), "what is reserved counts in every mode")
	}
	plain := limit
	plain.Reserve = false
	b := counting(t, plain)
	first := b.pay(t, `{"amount": "900", "currency": "EUR", "payee": "a"}`)
	_, err := b.Outcome(t.Context(), b.principal, first.ID, "not_executed", nil)
	require.NoError(t, err)
	require.Equal(t, "100", b.left(t))
}

func (b *bundle) setMode(t *testing.T, mode models.ActionMode) {
	t.Helper()
	b.Exec("update actions set mode = $1", string(mode))
	b.actions.Forget("")
}

// A sum that reserves holds whatever is decided at the same time.
func TestConcurrentDecisionsNeverExceedACap(t *testing.T) {
	t.Parallel()
	b := counting(t, limit)
	const at = 64
	requests := make([]authorization.Request, at)
	for i := range requests {
		requests[i] = b.request()
		requests[i].Context = json.RawMessage(`{"amount": "70", "currency": "EUR", "payee": "a"}`)
	}
	var allowed, denied atomic.Int32
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() {
			for range 2 { // a repetition counts once
				answer, err := b.Authorize(t.Context(), b.principal, requests[i], b.clock.Now())
				switch {
				case err != nil:
					t.Error(err)
				case answer.Replayed:
				case answer.Decision == policy.Allow:
					allowed.Add(1)
				default:
					denied.Add(1)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 14, allowed.Load())
	require.EqualValues(t, at-14, denied.Load())
	require.Equal(t, 980, b.Count("select sum(amount)::int from aggregate_values where decision = 'allow' and amount is not null"))
	require.Equal(t, 14, b.Count("select count(*) from proofs"))
}

// The wait for others under a cap is bounded.
func TestDecisionUnderACapThatIsHeldIsUnavailable(t *testing.T) {
	t.Parallel()
	b := counting(t, limit)
	require.Equal(t, policy.Allow, b.send(t, "1", "a"))
	tx, err := b.Store.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "update aggregate_locks set locked_at = locked_at")
	require.NoError(t, err)
	r := b.request()
	r.Context = json.RawMessage(`{"amount": "1", "currency": "EUR", "payee": "a"}`)
	_, err = b.authorize(t, r)
	requireProblem(t, err, problem.Unavailable)
	require.NoError(t, tx.Rollback(t.Context()))
	_, err = b.authorize(t, r)
	require.NoError(t, err, "nothing was decided before")
}

// A simulation knows what was added up if that is certain, and does not guess.
func TestSimulationReplaysSums(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema  string
		between time.Duration
		change  string
		denied  int
		unknown bool
	}{
		"everything is stored":      {keptCounted, time.Minute, "", 1, false},
		"the currency is not kept":  {counted, time.Minute, "", 0, true},
		"made at the same time":     {keptCounted, time.Second, "", 0, true},
		"made before it was stored": {keptCounted, time.Minute, "update authorizations set policy_hash = 'sha256:other' where idempotency_key = 'key-1'", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, allowing)
			b.activate(t, action.CreateVersion{Requirements: allowing, ContextSchema: json.RawMessage(c.schema)})
			require.Equal(t, policy.Allow, b.send(t, "600", "a"))
			b.clock.Advance(c.between)
			require.Equal(t, policy.Allow, b.send(t, "600", "a"))
			if c.change != "" {
				b.Exec(c.change)
			}
			requirements := allowing
			requirements.Rules = []policy.Rule{denyRule("much", `subject.sum("amount", "payments.transfer", "allow", "24h") > 500 && subject.seen("payee", "a", "24h")`, false)}
			v, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(c.schema)})
			require.NoError(t, err)
			got, err := b.Simulate(t.Context(), b.Scope, v, policy.Sandbox, authorization.Window{Last: 10, List: 10})
			require.NoError(t, err)
			require.Equal(t, c.denied, got.After[policy.Deny])
			require.Equal(t, c.unknown, got.NotDecidable > 0)
			if c.unknown {
				require.Contains(t, got.Undecided[0].Rules[0].Unknown, `subject.sum("amount", "payments.transfer", "allow", "24h")`)
			}
		})
	}
}

// A number of a resource is known from when the policies store it, and as long as no subject was erased since.
func TestSimulationReplaysNumbersOfTheResource(t *testing.T) {
	t.Parallel()
	const more = `resource.sum("amount", "payments.transfer", "allow", "1h") > 500 && resource.distinct("subject", "payments.transfer", "allow", "1h") == 1`
	for name, c := range map[string]struct {
		inForce string // the rule of the policy under which the requests are decided
		change  string
		unknown bool
	}{
		"everything is stored":              {more + ` && resource.id == "none"`, "", false},
		"not stored by the resource":        {`subject.sum("amount", "payments.transfer", "allow", "1h") > 5000`, "", true},
		"the subjects are not stored by it": {`resource.sum("amount", "payments.transfer", "allow", "1h") > 5000`, "", true},
		"erased since":                      {more + ` && resource.id == "none"`, `insert into erasures (id, tenant_id, environment_id, status, requested_by, requested_at, completed_at) values ('ers_1', $1, $2, 'completed', 'test', $3, $3)`, true},
		"being erased":                      {more + ` && resource.id == "none"`, `insert into erasures (id, tenant_id, environment_id, status, requested_by, requested_at) values ('ers_1', $1, $2, 'erasing', 'test', $3)`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, allowing)
			requirements := allowing
			requirements.Rules = []policy.Rule{denyRule("counts", c.inForce, false)}
			b.activate(t, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(keptCounted)})
			b.clock.Advance(2 * time.Hour)
			for range 2 {
				b.clock.Advance(time.Minute)
				require.Equal(t, policy.Allow, b.send(t, "600", "a"))
			}
			if c.change != "" {
				b.Exec(c.change, b.Scope.Tenant, b.Scope.Environment, b.clock.Now())
			}
			b.clock.Advance(time.Minute)
			requirements.Rules = []policy.Rule{denyRule("much", more, false)}
			v, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(keptCounted)})
			require.NoError(t, err)
			got, err := b.Simulate(t.Context(), b.Scope, v, policy.Sandbox, authorization.Window{Last: 10, List: 10})
			require.NoError(t, err)
			if c.unknown {
				require.Positive(t, got.NotDecidable)
				require.Contains(t, got.Undecided[0].Rules[0].Unknown[0], "resource.")
			} else {
				require.Zero(t, got.NotDecidable)
				require.Equal(t, map[policy.Effect]int{policy.Allow: 1, policy.Deny: 1}, got.After)
			}
		})
	}
}

// keptCounted is counted with everything that a simulation needs.
var keptCounted = strings.NewReplacer(`{"type": "string", "maxLength": 30,`, `{"type": "string", "x-countersign-keep": true, "maxLength": 30,`,
	`"currency": {"type": "string"}`, `"currency": {"type": "string", "x-countersign-keep": true}`,
	`{"type": "string", "maxLength": 40,`, `{"type": "string", "x-countersign-keep": true, "maxLength": 40,`).Replace(counted)
