package console

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
)

func TestHealthShowsTheStartOfTheWorkflowEngine(t *testing.T) {
	t.Parallel()
	starting := &durable.StartingError{Step: "building, 62 %"}
	c := &console{Deps: Deps{
		Clock: clock.NewFake(noon),
		Checks: func(context.Context) []Check {
			return []Check{{Name: "postgres", State: "ok"}, {Name: "temporal", State: "starting", Starting: starting.Error()}}
		},
		Workers: func(context.Context) ([]durable.Poller, error) { return nil, starting },
	}}
	v, view := &visit{console: c, ctx: t.Context()}, healthView{}
	c.dependencies(v, &view)
	c.workers(v, &view, stamps{noon})
	const says = "The workflow engine is starting: building, 62 %. Decisions continue; challenges, holds and enrollments are served as soon as it runs."
	require.Equal(t, says, view.Starting)
	require.Equal(t, says, view.WorkersFault)
	require.Len(t, view.Findings, 2)
	for _, f := range view.Findings {
		require.Equal(t, tag{"starting", "warn"}, f.State, f.Name)
		require.Equal(t, says, f.Remedy, f.Name)
	}
}
