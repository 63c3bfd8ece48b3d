package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/workflows"
)

// While Temporal is being started, every request is refused without a connection: the client has none.
func TestRequestsAreRefusedWhileTemporalStarts(t *testing.T) {
	t.Parallel()
	startup := durable.NewStartup()
	startup.Report("building, 62 %")
	c := workflows.NewStartingClient(nil, "", startup)
	for name, request := range map[string]func(ctx context.Context) error{
		"ping":    c.Ping,
		"backlog": func(ctx context.Context) error { _, err := c.Backlog(ctx); return err },
		"start":   func(ctx context.Context) error { return c.StartChallenge(ctx, challenge.WorkflowInput{}) },
		"update": func(ctx context.Context) error {
			_, err := c.ReviewHold(ctx, hold.WorkflowInput{}, "approve", "req_1")
			return err
		},
		"signal":    func(ctx context.Context) error { return c.SettleHold(ctx, "azn_1") },
		"wake":      func(ctx context.Context) error { return c.WakeEndpoint(ctx, "env_1", "whe_1", false) },
		"schedules": func(ctx context.Context) error { return c.EnsureSchedules(ctx, nil) },
		"forget":    func(ctx context.Context) error { return c.Forget(ctx, []string{"challenge/chl_1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := request(t.Context())
			require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
			p := problem.As(err)
			require.Equal(t, "The workflow engine is starting: building, 62 %. Decisions do not wait for it. Retry after the Retry-After header.", p.Detail)
			require.Equal(t, 5*time.Second, p.RetryAfter)
			var starting *durable.StartingError
			require.ErrorAs(t, err, &starting)
		})
	}
}
