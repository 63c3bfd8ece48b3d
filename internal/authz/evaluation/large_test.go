package evaluation_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// seeded is how many decisions are written at once.
const seeded = 20_000

// BenchmarkReport measures a report over COUNTERSIGN_BENCH_DECISIONS decisions (100,000 if unset), all in the
// window.
func BenchmarkReport(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_BENCH_DECISIONS"))
	if err != nil {
		n = 100_000
	}
	st := testenv.Store(b)
	w := fixture.New(b, st, now)
	for range n / seeded {
		w.Decisions(w.Action, seeded)
	}
	w.Exec("vacuum analyze authorizations")
	s := evaluation.New(st, clock.NewFake(now.Add(time.Second)))
	window := now.Add(-200_000 * time.Second)
	v, err := s.Create(b.Context(), w.Principal("crd_1"), evaluation.Create{
		Name: "all", ActionKeys: []string{w.Action.Key}, StartsAt: &window, Criteria: evaluation.DefaultCriteria(),
	})
	require.NoError(b, err)
	for b.Loop() {
		r, err := s.Report(b.Context(), w.Scope, v.ID)
		require.NoError(b, err)
		require.EqualValues(b, n, r.Metrics.Decisions)
	}
}
