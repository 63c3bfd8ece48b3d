package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// evaluationRecord behaves as internal/authz/evaluation does on its row.
type evaluationRecord struct {
	mu     sync.Mutex
	ends   *time.Time
	closed []string // who closed it; empty for time
	fault  func(n int) error
	calls  int
}

func (r *evaluationRecord) Close(_ context.Context, m evaluation.Move) (evaluation.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.calls
	r.calls++
	if r.fault != nil && r.fault(n) != nil {
		return evaluation.Outcome{}, r.fault(n)
	}
	if m.Actor == "" && (r.ends == nil || m.At.Before(*r.ends)) {
		return evaluation.Outcome{Status: models.EvaluationOpen, Result: evaluation.InProgress, EndsAt: r.ends}, nil
	}
	if len(r.closed) == 0 {
		r.closed = append(r.closed, m.Actor)
	}
	return evaluation.Outcome{Status: models.EvaluationClosed, Result: evaluation.Passed}, nil
}

func runEvaluation(t *testing.T, r *evaluationRecord, ends *time.Time, asking func(env *testsuite.TestWorkflowEnvironment)) (evaluation.Outcome, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env := environment(t, worker.Services{Evaluations: r})
	asking(env)
	env.ExecuteWorkflow(workflows.NameEvaluation, evaluation.WorkflowInput{Evaluation: "evl_1", Environment: "env_1", EndsAt: ends})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out evaluation.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, env
}

var closeIt = evaluation.CloseRequest{Actor: "credential:crd_1"}

func TestEvaluationClosesAtItsEnd(t *testing.T) {
	t.Parallel()
	ends := start.Add(30 * 24 * time.Hour)
	r := &evaluationRecord{ends: &ends}
	out, env := runEvaluation(t, r, &ends, func(*testsuite.TestWorkflowEnvironment) {})
	require.Equal(t, evaluation.Outcome{Status: "closed", Result: "passed"}, out)
	require.Equal(t, ends, env.Now().UTC())
	require.Equal(t, []string{""}, r.closed)
}

func TestEvaluationIsClosedByHand(t *testing.T) {
	t.Parallel()
	ends := start.Add(time.Hour)
	for name, end := range map[string]*time.Time{"with an end": &ends, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &evaluationRecord{ends: end}
			var first, second *answer
			out, env := runEvaluation(t, r, end, func(env *testsuite.TestWorkflowEnvironment) {
				first = ask(env, time.Minute, workflows.UpdateClose, "u1", closeIt)
				second = ask(env, time.Minute, workflows.UpdateClose, "u2", closeIt)
			})
			require.Equal(t, out, first.result)
			require.Equal(t, problem.EvaluationClosed, second.code())
			require.Equal(t, []string{closeIt.Actor}, r.closed)
			require.Equal(t, start.Add(time.Minute), env.Now().UTC())
		})
	}
}

func TestEvaluationClosesAfterAnOutage(t *testing.T) {
	t.Parallel()
	ends := start.Add(time.Hour)
	r := &evaluationRecord{ends: &ends, fault: func(n int) error {
		if n < 7 {
			return errUnavailable
		}
		return nil
	}}
	out, _ := runEvaluation(t, r, &ends, func(*testsuite.TestWorkflowEnvironment) {})
	require.Equal(t, "passed", out.Result)
	require.Len(t, r.closed, 1)
}
