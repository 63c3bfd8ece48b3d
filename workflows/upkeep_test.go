package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// upkeepRecord has some batches to do, and faults before it does them.
type upkeepRecord struct {
	batches int
	faults  int
	asked   []string
}

func (r *upkeepRecord) Run(_ context.Context, task string, _ time.Time, _ string) (int, bool, error) {
	if r.faults > 0 {
		r.faults--
		return 0, false, errUnavailable
	}
	r.asked = append(r.asked, task)
	r.batches--
	return 10, r.batches > 0, nil
}

func TestUpkeepRunsUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	r := &upkeepRecord{batches: 3, faults: 1}
	env := environment(t, worker.Services{Upkeep: r})
	env.ExecuteWorkflow(workflows.NameUpkeep, workflows.UpkeepInput{Task: "retention"})
	require.NoError(t, env.GetWorkflowError())
	var out workflows.UpkeepResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.Equal(t, 30, out.Done)
	require.Equal(t, []string{"retention", "retention", "retention"}, r.asked)
}

// The next run of the schedule does what an outage kept this one from.
func TestUpkeepGivesUpInAnOutage(t *testing.T) {
	t.Parallel()
	r := &upkeepRecord{batches: 1, faults: 1000}
	env := environment(t, worker.Services{Upkeep: r})
	env.ExecuteWorkflow(workflows.NameUpkeep, workflows.UpkeepInput{Task: "retention"})
	require.True(t, env.IsWorkflowCompleted())
	require.Error(t, env.GetWorkflowError())
	require.Empty(t, r.asked)
}

// A run that never finds an end leaves the rest to the next.
func TestUpkeepBoundsBatches(t *testing.T) {
	t.Parallel()
	r := &upkeepRecord{batches: 1 << 30}
	env := environment(t, worker.Services{Upkeep: r})
	env.ExecuteWorkflow(workflows.NameUpkeep, workflows.UpkeepInput{Task: "retention"})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 200)
}

func upkeepScenarios() map[string]func() scenario {
	return map[string]func() scenario{"upkeep-done": func() scenario {
		return scenario{
			id: workflows.UpkeepID("retention"), services: worker.Services{Upkeep: &upkeepRecord{batches: 2}},
			start: func(t *testing.T, c client.Client) {
				_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: workflows.UpkeepID("retention"), TaskQueue: workflows.TaskQueue},
					workflows.NameUpkeep, workflows.UpkeepInput{Task: "retention"})
				require.NoError(t, err)
			},
		}
	}}
}
