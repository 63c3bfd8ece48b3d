package authorization_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a decision sends to Postgres does not change by accident: one round trip reads the facts, and one writes. A hold takes one more, which finds the
// person who requests among the staff. The first decision fills the caches.
func TestDecisionsCostTheSameStatements(t *testing.T) {
	t.Parallel()
	const read, begin, guard, decision, event, commit = 2, 1, 1, 1, 2, 1 // an event is announced by a row of the outbox
	for name, c := range map[string]struct {
		requirements policy.Requirements
		follows      int // statements for what the decision leads to
		people       int // statements and round trips that find the person who requests
		repeat       storetest.Cost
	}{
		"allow with a proof": {allowing, 1, 0, storetest.Cost{Statements: read + 1, RoundTrips: 2}}, // the proof is read by itself
		"challenge":          {challenging, 2 + event, 0, storetest.Cost{Statements: read, RoundTrips: 1}},
		"hold":               {holding, 3 + event, 1, storetest.Cost{Statements: read, RoundTrips: 1}},
		"deny":               {denying, 0, 0, storetest.Cost{Statements: read, RoundTrips: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st, c.requirements)
			_, err := b.authorize(t, b.request())
			require.NoError(t, err)
			r := b.request()
			require.Equal(t, storetest.Cost{Statements: read + begin + guard + decision + event + c.follows + c.people + commit, RoundTrips: 2 + c.people}, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}))
			require.Equal(t, c.repeat, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}), "the stored response of a repeat")
		})
	}
}

// A rule adds a statement to the round trip that reads for each number, and one for its lists, and one to the round trip that writes for
// the values of the request. Only a rule that reserves takes round trips: its locks, with which the transaction begins, and the commit.
func TestRulesCostStatementsAndNoRoundTrips(t *testing.T) {
	t.Parallel()
	const (
		plain = 9 // of an allowed request
		sum   = `subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`
		more  = `subject.distinct("payee", "payments.transfer", "allow", "1h") > 4 && subject.seen("payee", "b", "30d") && resource.sum("amount", "payments.transfer", "any", "1h") > 1000`
		count = `subject.decisions("payments.transfer", "allow", "24h") > 9`
	)
	for name, c := range map[string]struct {
		rules []policy.Rule
		want  storetest.Cost
	}{
		"numbers":       {[]policy.Rule{denyRule("a", sum, false), denyRule("b", more, false), denyRule("c", count, false)}, storetest.Cost{Statements: plain + 5 + 2, RoundTrips: 2}},
		"a limit":       {[]policy.Rule{denyRule("a", sum, true)}, storetest.Cost{Statements: plain + 2 + 1 + 2, RoundTrips: 3}},
		"none to count": {[]policy.Rule{denyRule("a", `decimal(context.amount) > 10 && `+sum, false)}, storetest.Cost{Statements: plain + 2, RoundTrips: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st, allowing)
			b.activateCounting(t, allowing, c.rules...)
			b.send(t, "1", "a")
			r := b.request()
			r.Context = json.RawMessage(`{"amount": "1", "currency": "EUR", "payee": "a"}`)
			require.Equal(t, c.want, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}))
		})
	}
}
