package workflows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// adaptationRecord fails the given number of times and then succeeds.
type adaptationRecord struct {
	out   template.AdaptationResult
	fails int
	asked []template.Step
}

func (r *adaptationRecord) Adapt(_ context.Context, step template.Step) (template.AdaptationResult, error) {
	r.asked = append(r.asked, step)
	if len(r.asked) <= r.fails {
		return template.AdaptationResult{}, errUnavailable
	}
	return r.out, nil
}

func adaptationScenarios() map[string]func() scenario {
	of := func(out template.AdaptationResult) func() scenario {
		return func() scenario {
			return scenario{
				id: workflows.AdaptationID("ses_1"), services: worker.Services{Templates: &adaptationRecord{out: out}},
				drive: func(t *testing.T, c *workflows.Client) {
					require.NoError(t, c.StartAdaptation(t.Context(), template.WorkflowInput{Session: "ses_1", Environment: "env_1"}))
				},
			}
		}
	}
	return map[string]func() scenario{
		"adaptation-adapted":   of(template.AdaptationResult{Status: template.Adapted}),
		"adaptation-unchanged": of(template.AdaptationResult{Status: template.Unchanged, Reason: template.ReasonFrozen}),
	}
}

// The step is retried until it succeeds, however long the database is unavailable, and returns the result of the session.
func TestAdaptationRetriesUntilItSucceeds(t *testing.T) {
	t.Parallel()
	record := &adaptationRecord{out: template.AdaptationResult{Status: template.Unchanged, Reason: template.ReasonTooSoon}, fails: 5}
	env := environment(t, worker.Services{Templates: record})
	env.ExecuteWorkflow(workflows.NameAdaptation, workflows.AdaptationInput{Session: "ses_1", Environment: "env_1"})
	require.NoError(t, env.GetWorkflowError())
	var out workflows.AdaptationResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.Equal(t, workflows.AdaptationResult{Status: "unchanged", Reason: "too_soon"}, out)
	require.Len(t, record.asked, 6)
	for _, step := range record.asked {
		require.Equal(t, "ses_1", step.Session)
		require.False(t, step.At.IsZero())
	}
	require.False(t, errors.Is(env.GetWorkflowError(), errUnavailable))
}
