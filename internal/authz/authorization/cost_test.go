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
	for name, requirements := range map[string]policy.Requirements{
		"allow with a proof": allowing, "challenge": challenging, "hold": holding, "deny": denying,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st, requirements)
			_, err := b.authorize(t, b.request())
			require.NoError(t, err)
			r := b.request()
			require.Equal(t, storetest.Cost{Statements: 2, RoundTrips: 2}, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}))
			require.Equal(t, storetest.Cost{Statements: 1, RoundTrips: 1}, meter.Of(t.Context(), func(ctx context.Context) {
				_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
				require.NoError(t, err)
			}), "the stored response of a repeat")
		})
	}
}
