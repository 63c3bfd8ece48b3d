package challenge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a completion sends to Postgres does not change by accident. The transaction that writes it is not counted, because it is that of the test's
// follow-up decision, and the first completion fills the caches.
func TestCompletionsCostTheSameStatements(t *testing.T) {
	t.Parallel()
	st, meter := storetest.NewMeasured(t)
	b := setupOn(t, st)
	unmeasured := t.Context()
	b.deciding = func(context.Context) context.Context { return unmeasured }
	p := b.Principal("crd_1")
	var preparing, completing, repeating storetest.Cost
	for range 2 {
		c := b.Challenge(life, "sandbox_confirm")
		var prepared challenge.Prepared
		preparing = meter.Of(t.Context(), func(ctx context.Context) {
			var err error
			prepared, err = b.service.PrepareCompletion(ctx, p, c.ID, challenge.MethodSandboxConfirm, nil)
			require.NoError(t, err)
		})
		completing = meter.Of(t.Context(), func(ctx context.Context) {
			_, err := b.service.Complete(ctx, b.move(prepared))
			require.NoError(t, err)
		})
		repeating = meter.Of(t.Context(), func(ctx context.Context) {
			_, err := b.service.Receipt(ctx, b.Scope, c.ID, prepared.Request)
			require.NoError(t, err)
		})
	}
	require.Equal(t, map[string]storetest.Cost{
		"prepare": {Statements: 3, RoundTrips: 3}, "complete": {Statements: 1, RoundTrips: 1}, "receipt of a repeat": {Statements: 1, RoundTrips: 1},
	}, map[string]storetest.Cost{"prepare": preparing, "complete": completing, "receipt of a repeat": repeating})
}
