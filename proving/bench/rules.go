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
var ruledActions = []struct{ key, when, what string }{
	{"payment.ruled", `decimal(context.amount) > 10000 && `, "authorize, with a rule, a display and a count"},
	// The evidence is not known before the count is read.
	{"payment.counted", `assurance.coverage == "none" && `, "authorize, the same with the count read"},
}

// ruled is trusting with a rule, and an amount that is shown.
func ruled(action, when string) countersign.PolicyVersionCreate {
	requirements := trusting
	requirements.Rules = []countersign.PolicyRule{{
		Name: "many", When: when + `subject.decisions("` + action + `", "allow", "24h") >= 3`,
		Requirements: countersign.PolicyRuleRequirements{ExplicitApprovalRequired: true}, Reason: "The fourth payment of a day is approved.",
	}}
	return countersign.PolicyVersionCreate{
		Requirements: requirements,
		ContextSchema: map[string]any{
			"type": "object", "required": []string{"amount", "currency"}, "properties": map[string]any{
				"amount": map[string]any{"type": "string", "maxLength": 20, "x-countersign-display": map[string]any{
					"label": "Amount", "format": "money", "currency": "/currency",
				}},
				"currency": map[string]any{"type": "string", "enum": []string{"EUR", "USD"}},
			},
		},
	}
}

// mostWithRule is the factor by which a rule, a display and a count may raise the p50 and lower the throughput.
const mostWithRule = 1.15

// withRule measures decisions with a rule, a display and a count and those without, in turn, and compares them.
func (b *bench) withRule(ctx context.Context, without loadgen.Work, all []person) error {
	for _, a := range ruledActions {
		if err := harness.NewActionWithPolicy(ctx, b.sdk, a.key, ruled(a.key, a.when)); err != nil {
			return err
		}
		if err := b.withRuleOf(ctx, a.key, a.what, without, all); err != nil {
			return err
		}
	}
	return nil
}

// withRuleOf measures the requests of one action with a rule.
func (b *bench) withRuleOf(ctx context.Context, action, what string, without loadgen.Work, all []person) error {
	ask := newRequests(action, func(i int) string { return all[i%len(all)].subject })
	with := func(context.Context, int) error { return b.allowed(ask.next()) }
	loadgen.Closed(ctx, clients, 2*time.Second, with) // caches filled
	if err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "vacuum analyze") // as Postgres does by itself within minutes
		return err
	}); err != nil {
		return err
	}
	for _, load := range loads(ctx) {
		r := b.compare(ctx, "authorize", load.how, load.side(what, with), load.side("authorize, without them", without))
		b.report.under(what+": p50 over without, "+load.how, r.p50, mostWithRule, "x")
		if load.how != fmt.Sprintf("%d/s open", openRate) { // an open loop has its rate on both sides
			b.report.under(what+": throughput without over with, "+load.how, inverse(r.perSecond), mostWithRule, "x")
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
