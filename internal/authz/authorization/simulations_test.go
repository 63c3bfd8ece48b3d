package authorization

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// One tenant simulates once at a time and a process twice; a further simulation is unavailable, with the time to retry after.
func TestSimulationsAreLimited(t *testing.T) {
	t.Parallel()
	s := New(nil, nil, nil, nil, &signing.Service{}, nil)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	// A version without content is refused after admission, so that a simulation ends at once.
	simulate := func(tenant string) error {
		_, err := s.Simulate(impatient, pg.Scope{Tenant: tenant}, models.PolicyVersion{}, policy.Sandbox, Window{})
		require.Error(t, err)
		return err
	}
	refused := func(tenant string) {
		t.Helper()
		err := simulate(tenant)
		require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
		require.Equal(t, 503, problem.Of(problem.Unavailable).Status)
		require.Equal(t, 2*time.Second, problem.As(err).RetryAfter)
	}
	admitted := func(tenant string) {
		t.Helper()
		err := simulate(tenant)
		require.False(t, problem.Is(err, problem.Unavailable), "%v", err)
	}

	admitted("a")
	require.NoError(t, s.replays.Enter(t.Context(), "a", 0))
	refused("a")
	admitted("b")
	require.NoError(t, s.replays.Enter(t.Context(), "b", 0))
	refused("b")
	refused("c")
	s.replays.Leave("a")
	admitted("a")
	admitted("c")
	refused("b")
	s.replays.Leave("b")
	admitted("b")
}
