package evaluation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// One tenant counts one open evaluation at a time; a further report is unavailable, with the time to retry after.
func TestReportsOfOpenEvaluationsAreLimited(t *testing.T) {
	t.Parallel()
	st := testenv.Store(t)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	w, other := fixture.New(t, st, now), fixture.New(t, st, now)
	s := New(st, clock.NewFake(now))
	create := func(w *fixture.World) string {
		v, err := s.Create(t.Context(), w.Principal("crd_1"), Create{Name: "Transfers", ActionKeys: []string{"payments.transfer"}, Criteria: DefaultCriteria()})
		require.NoError(t, err)
		return v.ID
	}
	id, otherID := create(w), create(other)

	require.NoError(t, s.reports.Enter(t.Context(), w.Scope.Tenant, 0))
	_, err := s.Report(t.Context(), w.Scope, id)
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.Positive(t, problem.As(err).RetryAfter)
	_, err = s.Report(t.Context(), other.Scope, otherID)
	require.NoError(t, err)
	s.reports.Leave(w.Scope.Tenant)
	_, err = s.Report(t.Context(), w.Scope, id)
	require.NoError(t, err)
}
