package hold_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a review sends to Postgres does not change by accident. The transaction that writes an approval is not counted, because it is that of the
// test's follow-up decision, and the first review fills the caches.
func TestReviewsCostTheSameStatements(t *testing.T) {
	t.Parallel()
	for resolution, want := range map[string]map[string]storetest.Cost{
		hold.Approve: {"prepare": {Statements: 4, RoundTrips: 4}, "resolve": {Statements: 3, RoundTrips: 3}, "receipt of a repeat": {Statements: 1, RoundTrips: 1}},
		hold.Reject:  {"prepare": {Statements: 3, RoundTrips: 3}, "resolve": {Statements: 11, RoundTrips: 3}, "receipt of a repeat": {Statements: 1, RoundTrips: 1}},
	} {
		t.Run(resolution, func(t *testing.T) {
			t.Parallel()
			st, meter := storetest.NewMeasured(t)
			b := setupOn(t, st)
			unmeasured := t.Context()
			b.deciding = func(context.Context) context.Context { return unmeasured }
			reviewer := b.Principal("crd_ann")
			found := map[string]storetest.Cost{}
			for range 2 {
				h := b.Hold(life, 1)
				var p hold.Prepared
				found["prepare"] = meter.Of(t.Context(), func(ctx context.Context) {
					var err error
					p, err = b.service.PrepareReview(ctx, reviewer, h.AuthorizationID, hold.Vote{Resolution: resolution})
					require.NoError(t, err)
				})
				move := b.moved(t, p, h.AuthorizationID)
				found["resolve"] = meter.Of(t.Context(), func(ctx context.Context) {
					_, err := b.service.Review(ctx, move)
					require.NoError(t, err)
				})
				found["receipt of a repeat"] = meter.Of(t.Context(), func(ctx context.Context) {
					_, err := b.service.Receipt(ctx, b.Scope, h.AuthorizationID, hold.Prepared{Resolution: resolution})
					require.NoError(t, err)
				})
			}
			require.Equal(t, want, found)
		})
	}
}
