package authorization_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a decision sends to Postgres does not change by accident. The first decision fills the caches.
func TestDecisionsCostTheSameStatements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requirements policy.Requirements
		repeat       int // a proof is read with its decision, from which it is assembled
	}{
		"allow with a proof": {allowing, 2}, "challenge": {challenging, 1}, "hold": {holding, 1}, "deny": {denying, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st, c.requirements)
			_, err := b.authorize(t, b.request())
			require.NoError(t, err)
			r := b.request()
			require.Equal(t, storetest.Cost{Statements: 2, RoundTrips: 2}, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}))
			require.Equal(t, storetest.Cost{Statements: c.repeat, RoundTrips: c.repeat}, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}), "the stored response of a repeat")
		})
	}
}
