package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// erasing is an erasure of which the test says how much there is, and which writes down what was asked of it.
type erasing struct {
	runs     []subject.WorkflowRef // two a page
	sweeps   int                   // sweeps that say there is more
	finishes int
	fault    func(n int) error // of the n-th step, from 0
	asked    []string
	at       []time.Time // of each finish
}

func (e *erasing) step(name string) error {
	n := len(e.asked)
	e.asked = append(e.asked, name)
	if e.fault != nil {
		return e.fault(n)
	}
	return nil
}

func (e *erasing) Workflows(_ context.Context, _ subject.Run, after subject.WorkflowRef) ([]subject.WorkflowRef, error) {
	if err := e.step("runs after " + after.ID); err != nil {
		return nil, err
	}
	var page []subject.WorkflowRef
	for _, r := range e.runs {
		if r.Kind+r.ID > after.Kind+after.ID && len(page) < 2 {
			page = append(page, r)
		}
	}
	return page, nil
}

func (e *erasing) Sweep(context.Context, subject.Run) (bool, error) {
	e.sweeps--
	return e.sweeps >= 0, e.step("sweep")
}

func (e *erasing) Finish(_ context.Context, _ subject.Run, _ string, at time.Time) (bool, error) {
	e.finishes--
	e.at = append(e.at, at.UTC())
	return e.finishes >= 0, e.step("finish")
}

func (e *erasing) Forget(_ context.Context, ids []string) error {
	return e.step("forget " + strings.Join(ids, " "))
}

func erase(t *testing.T, e *erasing, in workflows.ErasureInput) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := environment(t, worker.Services{Subjects: worker.Subjects{Erasures: e, Workflows: e}})
	env.ExecuteWorkflow(workflows.NameErasure, in)
	require.True(t, env.IsWorkflowCompleted())
	return env
}

// The runs are forgotten before the rows that name them go, all of it twice, and the subject last.
func TestErasureMakesTwoPasses(t *testing.T) {
	t.Parallel()
	e := &erasing{
		runs:   []subject.WorkflowRef{{Kind: "challenge", ID: "chl_1"}, {Kind: "hold", ID: "azn_1"}, {Kind: "recovery", ID: "rcv_1"}},
		sweeps: 1, finishes: 1,
	}
	env := erase(t, e, workflows.ErasureInput{Erasure: "ers_1", Environment: "env_1"})
	require.NoError(t, env.GetWorkflowError())
	pass := []string{
		"runs after ", "forget challenge/chl_1 hold/azn_1", "runs after azn_1", "forget recovery/rcv_1", "runs after rcv_1",
	}
	want := append([]string{}, pass...)
	want = append(want, "sweep", "sweep")
	want = append(want, pass...)
	want = append(want, "sweep", "finish", "finish")
	require.Equal(t, want, e.asked)
	require.GreaterOrEqual(t, e.at[0].Sub(start), 30*time.Second, "the second pass comes after every request under way has ended")
}

// A failed step is retried until it succeeds, and resumes from its previous position.
func TestErasureRetriesFailedSteps(t *testing.T) {
	t.Parallel()
	e := &erasing{runs: []subject.WorkflowRef{{Kind: "challenge", ID: "chl_1"}}}
	failed := map[string]bool{}
	e.fault = func(n int) error {
		if step := e.asked[n]; !failed[step] {
			failed[step] = true
			return errors.New("unavailable")
		}
		return nil
	}
	env := erase(t, e, workflows.ErasureInput{Erasure: "ers_1", Environment: "env_1"})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, "finish", e.asked[len(e.asked)-1])
	require.Len(t, failed, 5, "each kind of step has failed once")
}

// A subject with more than one run's worth of steps is erased by several, each going on from the last.
func TestErasureContinuesAsNew(t *testing.T) {
	t.Parallel()
	e := &erasing{sweeps: 5000}
	env := erase(t, e, workflows.ErasureInput{Erasure: "ers_1", Environment: "env_1"})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, workflows.NameErasure, next.WorkflowType.Name)
	require.Len(t, e.asked, 1000)
}

// An erasure whose run is full when the last workflow is forgotten goes on with the rows, and does not begin again.
func TestErasureOfAFullRunGoesOn(t *testing.T) {
	t.Parallel()
	e := &erasing{runs: make([]subject.WorkflowRef, 1998)} // and the page after them: 1,000 steps
	for i := range e.runs {
		e.runs[i] = subject.WorkflowRef{Kind: "challenge", ID: fmt.Sprintf("chl_%04d", i)}
	}
	in := workflows.ErasureInput{Erasure: "ers_1", Environment: "env_1"}
	for range 3 {
		env := erase(t, e, in)
		var next *workflow.ContinueAsNewError
		if !errors.As(env.GetWorkflowError(), &next) {
			require.NoError(t, env.GetWorkflowError())
			break
		}
		in = workflows.ErasureInput{}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	}
	passes := 0
	for _, step := range e.asked {
		if step == "runs after " {
			passes++
		}
	}
	require.Equal(t, 2, passes)
	require.Equal(t, "finish", e.asked[len(e.asked)-1])
}

func TestErasureContinuesAfterFirstPass(t *testing.T) {
	t.Parallel()
	e := &erasing{runs: []subject.WorkflowRef{{Kind: "challenge", ID: "chl_1"}, {Kind: "hold", ID: "azn_1"}}}
	env := erase(t, e, workflows.ErasureInput{Erasure: "ers_1", Environment: "env_1", Swept: true, AfterKind: "challenge", AfterID: "chl_1"})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"runs after chl_1", "forget hold/azn_1", "runs after azn_1", "sweep", "finish"}, e.asked)
}
