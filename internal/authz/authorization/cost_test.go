package authorization_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a decision sends to Postgres does not change by accident: one round trip reads the facts, and one writes. The first decision fills
// the caches.
func TestDecisionsCostTheSameStatements(t *testing.T) {
	t.Parallel()
	const read, begin, guard, decision, event, commit = 5, 1, 1, 1, 2, 1 // an event is announced by a row of the outbox
	for name, c := range map[string]struct {
		requirements policy.Requirements
		follows      int // statements for what the decision leads to
		repeat       storetest.Cost
	}{
		"allow with a proof": {allowing, 1, storetest.Cost{Statements: read + 1, RoundTrips: 2}}, // the proof is read by itself
		"challenge":          {challenging, 2 + event, storetest.Cost{Statements: read, RoundTrips: 1}},
		"hold":               {holding, 3 + event, storetest.Cost{Statements: read, RoundTrips: 1}},
		"deny":               {denying, 0, storetest.Cost{Statements: read, RoundTrips: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st, c.requirements)
			_, err := b.authorize(t, b.request())
			require.NoError(t, err)
			r := b.request()
			require.Equal(t, storetest.Cost{Statements: read + begin + guard + decision + event + c.follows + commit, RoundTrips: 2}, meter.Of(t.Context(), func(ctx context.Context) {
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
