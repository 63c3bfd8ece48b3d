package authorization_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/store"
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
		for _, divided := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, divided %t", name, divided), func(t *testing.T) {
				t.Parallel()
				requireCost(t, c.requirements, c.repeat, divided)
			})
		}
	}
}

func requireCost(t *testing.T, requirements policy.Requirements, repeat int, divided bool) {
	t.Helper()
	st, meter := storetest.NewMeasured(t)
	if divided {
		_, err := st.Partition(t.Context(), time.Now(), func(int, int) {})
		require.NoError(t, err)
		require.Equal(t, 1, meter.Of(t.Context(), func(ctx context.Context) {
			_, err := st.Decisions().FactsFor(ctx, store.Scope{}, store.Wanted{Subject: "unknown"})
			require.ErrorIs(t, err, store.ErrNotFound)
		}).Statements, "the store that divided the decisions knows it")
	}
	// The setting COUNTERSIGN_TEST_PARTITIONED divides every database. There a stored response is found by its keys, and read by its id.
	var lookups int
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from decision_division where complete").Scan(&lookups))
	repeat += lookups
	b := setupOn(t, st, requirements)
	_, err := b.authorize(t, b.request())
	require.NoError(t, err)
	r := b.request()
	require.Equal(t, storetest.Cost{Statements: 2, RoundTrips: 2}, meter.Of(t.Context(), func(ctx context.Context) {
		_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
		require.NoError(t, err)
	}))
	require.Equal(t, storetest.Cost{Statements: repeat, RoundTrips: repeat}, meter.Of(t.Context(), func(ctx context.Context) {
		_, err := b.Authorize(ctx, b.principal, r, b.clock.Now())
		require.NoError(t, err)
	}), "the stored response of a repeat")
}
