package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// What a frame sends to Postgres does not change by accident.
func TestFrameCostsTheSameStatements(t *testing.T) {
	t.Parallel()
	st, meter := storetest.NewMeasured(t)
	b := setupOn(t, st)
	id := b.start(t)
	_, err := b.Evidence(t.Context(), b.principal, id, b.frame())
	require.NoError(t, err)
	f := b.frame()
	require.Equal(t, storetest.Cost{Statements: 11, RoundTrips: 2}, meter.Of(t.Context(), func(ctx context.Context) {
		_, err := b.Evidence(ctx, b.principal, id, f)
		require.NoError(t, err)
	}))
}
