package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/countersign-dev/countersign/internal/testing/transittest"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	// payers is how many requests of the first tenant are at work at a time: as many as one tenant may have.
	payers = 32
	// besideRate is the rate of the second tenant's requests.
	besideRate = 40
	// mostBeside is the factor by which the payments may raise the second tenant's p99.
	mostBeside = 1.5
)

// limits measures the decisions of a second tenant while the payers pay to one account under its limit, whose proofs a slow backend signs, and while
// they do not, in turn: with a key of the second tenant in software, and with one in the same backend.
func limits(ctx context.Context, b *bench) error {
	if err := harness.NewActionWithPolicy(ctx, b.sdk, "payment.limited", limited); err != nil {
		return err
	}
	all, err := b.people(ctx, 1, true)
	if err != nil {
		return err
	}
	ask := newRequests("payment.limited", func(int) string { return all[0].subject })
	ask.resource = "account"
	if err := b.awaitAllowed(ctx, ask, 0); err != nil {
		return err
	}
	pay := func(context.Context, int) error { return b.allowed(ask.next()) }
	backend := b.rig.SigningKeys
	for _, keys := range []string{"software", backend} {
		b.rig.SigningKeys = keys
		second := &bench{Options: b.Options, rig: b.rig}
		where := "in the same backend"
		if keys != backend {
			where = "in " + keys
		}
		if err := second.enter(ctx, "Second "+where); err != nil {
			return err
		}
		if err := b.besidePayments(ctx, second, where, pay); err != nil {
			return err
		}
	}
	return nil
}

// slowBackend starts a stand-in for the Transit engine that takes a time for each signature. It returns the backends of signing keys, this one first,
// and the function that ends it.
func slowBackend(signs time.Duration) (keys string, stop func(), err error) {
	folder, err := os.MkdirTemp("", "bench-transit")
	if err != nil {
		return "", nil, err
	}
	backend, end, err := transittest.New(folder)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	backend.SlowBy(signs)
	return backend.URI + " software", func() { end(); _ = os.RemoveAll(folder) }, nil
}

// limited allows more than the payers pay.
var limited = countersign.PolicyVersionCreate{
	Requirements: countersign.PolicyRequirements{CoverageMin: trusting.CoverageMin, FreshnessMaxMS: trusting.FreshnessMaxMS, Rules: []countersign.PolicyRule{{
		Name: "account", When: `resource.sum("amount", "payment.limited", "allow", "24h") + decimal(context.amount) > 1000000000`, Reserve: true,
		Requirements: countersign.PolicyRuleRequirements{DenyOn: []string{"rule_matched"}}, Reason: "The limit of the account is reached.",
	}}},
	ContextSchema: map[string]any{
		"type": "object", "required": []string{"amount", "currency"}, "properties": map[string]any{
			"amount": map[string]any{"type": "string", "maxLength": 20, "x-countersign-aggregate": "sum", "x-countersign-display": map[string]any{
				"label": "Amount", "format": "money", "currency": "/currency",
			}},
			"currency": map[string]any{"type": "string", "enum": []string{"EUR", "USD"}},
		},
	},
}

// besidePayments measures the decisions of the second tenant with and without the payments. In the report, where names the holder of the tenant's key.
func (b *bench) besidePayments(ctx context.Context, second *bench, where string, pay loadgen.Work) error {
	ask, err := second.decisions(ctx)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d/s open", besideRate)
	decide := func(lasts time.Duration) loadgen.Result {
		return loadgen.Open(ctx, besideRate, openClients, lasts, func(context.Context, int) error { return second.allowed(ask.next()) })
	}
	decide(2 * time.Second) // caches filled, connections made
	var paid loadgen.Result
	r := b.compare(ctx, "limits", how, side{
		what: "a second tenant, its key " + where + ", beside payments to one account", run: func(lasts time.Duration) loadgen.Result {
			ended := make(chan loadgen.Result, 1)
			go func() { ended <- loadgen.Closed(ctx, payers, lasts, pay) }()
			out := decide(lasts)
			paid.Join(<-ended)
			return out
		},
	}, side{what: "a second tenant, its key " + where + ", alone", run: decide})
	b.add(row("limits", "the payments to one account", fmt.Sprintf("%d clients", payers), paid, cost{}))
	b.report.under("p99 of a second tenant, its key "+where+", beside payments to one account, over alone", r.p99, mostBeside, "x")
	return nil
}
