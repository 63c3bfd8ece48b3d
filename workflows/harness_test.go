package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/worker"
)

// start is when every run of these tests begins.
var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// patience is how long a workflow may take on a busy machine.
const patience = 30 * time.Second

// environment is a test environment with everything registered as in production, payloads sealed.
func environment(t *testing.T, s worker.Services) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	worker.Register(env, s)
	env.SetStartTime(start)
	env.SetTestTimeout(patience)
	env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: patience})
	return env
}

// answer is the result of one update.
type answer struct {
	rejected error // by the validator
	err      error // by the handler
	result   any
	done     bool
}

// code is the problem code of a refusal, by the validator or the handler.
func (a *answer) code() problem.Code {
	err := a.err
	if a.rejected != nil {
		err = a.rejected
	}
	code, _, _ := activities.Refusal(err)
	return code
}

// ask sends an update after a delay of workflow time and returns where its answer will be.
func ask(env *testsuite.TestWorkflowEnvironment, after time.Duration, name, id string, arg any) *answer {
	a := &answer{}
	env.RegisterDelayedCallback(func() { askNow(env, a, name, id, arg) }, after)
	return a
}

func askNow(env *testsuite.TestWorkflowEnvironment, a *answer, name, id string, arg any) {
	env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { a.rejected, a.done = err, true },
		OnComplete: func(result any, err error) {
			a.result, a.err, a.done = result, err, true
		},
	}, arg)
}

// quiet drops what workflows log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
