package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/internal/bench/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// ruledAction is the action of requests with a rule. Its rule counts its own decisions.
const ruledAction = "payment.ruled"

// ruled is trusting with a rule that reads the context and a count, and an amount that is shown. The amount of the requests is
// below the limit of the rule, so that they are allowed as without it.
var ruled = countersign.PolicyVersionCreate{
	Requirements: func() countersign.PolicyRequirements {
		out := trusting
		out.Rules = []countersign.PolicyRule{{
			Name: "many_large", When: `decimal(context.amount) > 10000 && subject.decisions("` + ruledAction + `", "allow", "24h") >= 3`,
			Requirements: countersign.PolicyRuleRequirements{ExplicitApprovalRequired: true}, Reason: "The fourth large payment of a day is approved.",
		}}
		return out
	}(),
	ContextSchema: map[string]any{
		"type": "object", "required": []string{"amount", "currency"}, "properties": map[string]any{
			"amount": map[string]any{"type": "string", "maxLength": 20, "x-countersign-display": map[string]any{
				"label": "Amount", "format": "money", "currency": "/currency",
			}},
			"currency": map[string]any{"type": "string", "enum": []string{"EUR", "USD"}},
		},
	},
}

// mostWithRule is the factor by which a rule, a display and a count may raise the p50 and lower the throughput.
const mostWithRule = 1.15

// withRule measures decisions with a rule, a display and a count and those without, in turn, and compares them.
func (b *bench) withRule(ctx context.Context, without loadgen.Work, all []person) error {
	if err := harness.NewActionWithPolicy(ctx, b.sdk, ruledAction, ruled); err != nil {
		return err
	}
	ask := newRequests(ruledAction, func(i int) string { return all[i%len(all)].subject })
	with := func(context.Context, int) error { return b.allowed(ask.next()) }
	loadgen.Closed(ctx, clients, 2*time.Second, with) // caches filled
	if err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "vacuum analyze") // as Postgres does by itself within minutes
		return err
	}); err != nil {
		return err
	}
	const what = "authorize, with a rule, a display and a count"
	for _, load := range []struct {
		how string
		run func(do loadgen.Work, lasts time.Duration) loadgen.Result
	}{
		{fmt.Sprintf("%d clients", clients), func(do loadgen.Work, lasts time.Duration) loadgen.Result {
			return loadgen.Closed(ctx, clients, lasts, do)
		}},
		{fmt.Sprintf("%d/s open", openRate), func(do loadgen.Work, lasts time.Duration) loadgen.Result {
			return loadgen.Open(ctx, openRate, openClients, lasts, do)
		}},
	} {
		sideOf := func(name string, do loadgen.Work) side {
			return side{name, func(lasts time.Duration) loadgen.Result { return load.run(do, lasts) }}
		}
		r := b.compare(ctx, "authorize", load.how, sideOf(what, with), sideOf("authorize, without them", without))
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
