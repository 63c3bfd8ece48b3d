package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// ruledActions are actions of requests with a rule that counts their decisions. The rules match no request, so that they are
// allowed as without one.
var ruledActions = []ruledAction{
	{key: "payment.ruled", when: `decimal(context.amount) > 10000 && `, what: "authorize, with a rule, a display and a count"},
	// The evidence is not known before the count is read.
	{key: "payment.counted", when: `assurance.coverage == "none" && `, what: "authorize, the same with the count read"},
	{key: "payment.summed", when: `assurance.coverage == "none" && subject.sum("amount", "payment.summed", "allow", "24h") + decimal(context.amount) > 1000000 && ` +
		`subject.distinct("currency", "payment.summed", "allow", "1h") > 4 && context.currency in list("currencies") && `,
		what: "authorize, the same with a sum, a number of values and a list", summed: true},
}

// ruledAction is an action of requests with a rule.
type ruledAction struct {
	key, when, what string
	summed          bool // the rule counts by the amount and the currency, and a subject has manyDecisions
}

// manyDecisions is the number of earlier decisions about one subject, over a month.
const manyDecisions = 10_000

// decideMany copies a decision of an action, with its values, to earlier ones about the same subject.
func decideMany(ctx context.Context, conn *pgx.Conn, action string) error {
	for _, copied := range []string{
		`insert into authorizations select r.* from authorizations a, generate_series(1, $2::int) i, jsonb_populate_record(a, jsonb_build_object('id', 'azn_many' || i, 'nonce', 'many' || i,
			'idempotency_key', 'many' || i, 'decided_at', a.decided_at - i * interval '4 minutes')) r
			where a.id = (select min(id) from authorizations where action_key = $1)`,
		`insert into aggregate_values select r.* from authorizations a, aggregate_values v, jsonb_populate_record(v, jsonb_build_object('request_id', a.id, 'decided_at', a.decided_at, 'reserved_at', a.decided_at)) r
			where a.id like 'azn_many%' and a.action_key = $1 and v.environment_id = a.environment_id and v.request_id = (select min(request_id) from aggregate_values where action_key = $1) limit $2::int * 2`,
	} {
		if _, err := conn.Exec(ctx, copied, action, manyDecisions); err != nil {
			return err
		}
	}
	return nil
}

// ruled is trusting with a rule, and an amount that is shown.
func ruled(a ruledAction) countersign.PolicyVersionCreate {
	requirements := trusting
	requirements.Rules = []countersign.PolicyRule{{
		Name: "many", When: a.when + `subject.decisions("` + a.key + `", "allow", "24h") >= 3`,
		Requirements: countersign.PolicyRuleRequirements{ExplicitApprovalRequired: true}, Reason: "The fourth payment of a day is approved.",
	}}
	amount := map[string]any{"type": "string", "maxLength": 20, "x-countersign-display": map[string]any{
		"label": "Amount", "format": "money", "currency": "/currency",
	}}
	currency := map[string]any{"type": "string", "enum": []string{"EUR", "USD"}}
	if a.summed {
		amount["x-countersign-aggregate"], currency["x-countersign-aggregate"] = "sum", "distinct"
	}
	return countersign.PolicyVersionCreate{
		Requirements: requirements,
		ContextSchema: map[string]any{
			"type": "object", "required": []string{"amount", "currency"}, "properties": map[string]any{"amount": amount, "currency": currency},
		},
	}
}

// mostWithRule is the factor by which a rule, a display and a count may raise the p50 and lower the throughput.
const mostWithRule = 1.15

// withRule measures decisions with a rule, a display and a count and those without, in turn, and compares them.
func (b *bench) withRule(ctx context.Context, without loadgen.Work, all []person) error {
	if _, err := b.sdk.CreateList(ctx, countersign.NamedListCreate{Name: "currencies", Kind: "text"}); err != nil {
		return err
	}
	for _, a := range ruledActions {
		if err := harness.NewActionWithPolicy(ctx, b.sdk, a.key, ruled(a)); err != nil {
			return err
		}
		if err := b.withRuleOf(ctx, a, without, all); err != nil {
			return err
		}
	}
	return nil
}

// withRuleOf measures the requests of one action with a rule.
func (b *bench) withRuleOf(ctx context.Context, a ruledAction, without loadgen.Work, all []person) error {
	ask := newRequests(a.key, func(i int) string { return all[i%len(all)].subject })
	with := func(context.Context, int) error { return b.allowed(ask.next()) }
	loadgen.Closed(ctx, clients, 2*time.Second, with) // caches filled
	if err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		if a.summed {
			if err := decideMany(ctx, conn, a.key); err != nil {
				return err
			}
		}
		_, err := conn.Exec(ctx, "vacuum analyze") // as Postgres does by itself within minutes
		return err
	}); err != nil {
		return err
	}
	for _, load := range loads(ctx) {
		r := b.compare(ctx, "authorize", load.how, load.side(a.what, with), load.side("authorize, without them", without))
		b.report.under(a.what+": p50 over without, "+load.how, r.p50, mostWithRule, "x")
		if load.how != fmt.Sprintf("%d/s open", openRate) { // an open loop has its rate on both sides
			b.report.under(a.what+": throughput without over with, "+load.how, inverse(r.perSecond), mostWithRule, "x")
		}
	}
	return nil
}

// inverse returns 0 for 0.
func inverse(ratio float64) float64 {
	if ratio == 0 {
		return 0
	}
	return 1 / ratio
}
