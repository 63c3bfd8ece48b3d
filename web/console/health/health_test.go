package health

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestHealthShowsTheStartOfTheWorkflowEngine(t *testing.T) {
	t.Parallel()
	starting := &durable.StartingError{Step: "building, 62 %"}
	c := &Pages{
		Shell: &shell.Shell{Clock: clock.NewFake(noon)},
		Checks: func(context.Context) []Check {
			return []Check{{Name: "postgres", State: "ok"}, {Name: "temporal", State: "starting", Starting: starting.Error()}}
		},
		Workers: func(context.Context) ([]durable.Poller, error) { return nil, starting },
	}
	v, view := &shell.Visit{Shell: c.Shell, Context: t.Context()}, healthView{}
	c.dependencies(v, &view)
	c.workers(v, &view, show.Stamps{Now: noon})
	const says = "The workflow engine is starting: building, 62 %. Decisions continue; challenges, holds and enrollments are served as soon as it runs."
	require.Equal(t, says, view.Starting)
	require.Equal(t, says, view.WorkersFault)
	require.Len(t, view.Findings, 2)
	for _, f := range view.Findings {
		require.Equal(t, show.Tag{Text: "starting", Tone: "warn"}, f.State, f.Name)
		require.Equal(t, says, f.Remedy, f.Name)
	}
}
