package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// backgroundRecord is a backgrounds.Service whose steps fail the given number of times each and then succeed.
type backgroundRecord struct {
	mu      sync.Mutex
	outcome string
	fails   int
	failed  map[string]int
	batches map[string]int // of Count and CarryOver that remain
	asked   []string
	inForce []string
}

func newBackgroundRecord(outcome string, fails int) *backgroundRecord {
	return &backgroundRecord{outcome: outcome, fails: fails, failed: map[string]int{}, batches: map[string]int{"count": 2, "carry": 1}}
}

// step records a call and fails it as often as it must.
func (r *backgroundRecord) step(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed[name]++; r.failed[name] <= r.fails {
		return errUnavailable
	}
	r.asked = append(r.asked, name)
	return nil
}

func (r *backgroundRecord) batch(name string) (int, bool, error) {
	if err := r.step(name); err != nil {
		return 0, false, err
	}
	r.batches[name]--
	return 50, r.batches[name] > 0, nil
}

func (r *backgroundRecord) Count(context.Context, string, time.Time) (int, bool, error) {
	return r.batch("count")
}

func (r *backgroundRecord) CarryOver(context.Context, time.Time, string) (int, bool, error) {
	return r.batch("carry")
}

func (r *backgroundRecord) Form(_ context.Context, _ string, m features.Modality, _ time.Time, _ string) (backgrounds.Result, error) {
	if err := r.step("form"); err != nil {
		return backgrounds.Result{}, err
	}
	if m == features.Pointer {
		return backgrounds.Result{Outcome: backgrounds.TooFew, People: 3}, nil
	}
	return backgrounds.Result{Outcome: r.outcome, Version: "cs-bg-0-keystroke-env_1-1", People: 30}, nil
}

func (r *backgroundRecord) Activate(_ context.Context, _, version string, _ time.Time, _ string) error {
	if err := r.step("activate"); err != nil {
		return err
	}
	r.inForce = append(r.inForce, version)
	return nil
}

func backgroundScenarios() map[string]func() scenario {
	of := func(outcome string) func() scenario {
		return func() scenario {
			return scenario{
				id: workflows.BackgroundID("env_1", "2026-11-23"), services: worker.Services{Backgrounds: newBackgroundRecord(outcome, 0)},
				drive: func(t *testing.T, c *workflows.Client) {
					require.NoError(t, c.StartBackground(t.Context(), backgrounds.WorkflowInput{Environment: "env_1", Day: "2026-11-23"}))
				},
			}
		}
	}
	return map[string]func() scenario{"background-in-force": of(backgrounds.Formed), "background-worse": of(backgrounds.Worse)}
}

func TestBackgroundPutsInForceOnlyWhatIsNotWorse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome string
		steps   []string
		inForce []string
		carried int
	}{
		"formed": {backgrounds.Formed, []string{"count", "count", "form", "activate", "form", "carry"}, []string{"cs-bg-0-keystroke-env_1-1"}, 50},
		"worse":  {backgrounds.Worse, []string{"count", "count", "form", "form"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := newBackgroundRecord(c.outcome, 2)
			env := environment(t, worker.Services{Backgrounds: record})
			env.ExecuteWorkflow(workflows.NameBackground, workflows.BackgroundInput{Environment: "env_1", Day: "2026-11-23"})
			require.NoError(t, env.GetWorkflowError())
			var out workflows.BackgroundResult
			require.NoError(t, env.GetWorkflowResult(&out))
			require.Equal(t, workflows.BackgroundResult{
				Counted: 100, Carried: c.carried, Outcomes: map[string]string{"keystroke": c.outcome, "pointer": backgrounds.TooFew},
			}, out)
			require.Equal(t, c.steps, record.asked, "each step was repeated until it succeeded, and once")
			require.Equal(t, c.inForce, record.inForce)
		})
	}
}
