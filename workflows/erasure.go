package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject"
)

// NameErasure is the registered name of the workflow. Histories refer to it: never rename it.
const NameErasure = "erasure"

// ErasureID returns the workflow id of an erasure.
func ErasureID(id string) string { return NameErasure + "/" + id }

// erasureGrace is the pause between the two passes of an erasure. It is longer than any request may run, so that the second
// pass removes what requests wrote that were under way when the subject was hidden.
const erasureGrace = 30 * time.Second

// erasureSteps is the maximum number of steps of one workflow run; a longer erasure continues as a new run.
const erasureSteps = 1000

// ErasureInput is the input of the workflow of an erasure. Histories contain it: fields are added, never renamed.
type ErasureInput struct {
	Erasure     string
	Environment string
	Swept       bool   // the first pass is done
	Forgotten   bool   // the workflows are removed in the current pass
	AfterKind   string // workflows up to this one are removed
	AfterID     string
}

// ErasureResult is how an erasure ended.
type ErasureResult struct {
	Status string
}

// Erasure removes everything stored about a subject: its workflows with their histories, its rows, and last the personal
// part of its events and the subject itself. The subject was hidden before the workflow started.
func Erasure(ctx workflow.Context, in ErasureInput) (ErasureResult, error) {
	r := &erasureRun{in: in}
	if !in.Swept {
		if err := r.pass(ctx); err != nil {
			return ErasureResult{}, err
		}
		r.record(ctx, "First pass done: workflows, histories and rows are removed. The second pass begins in %s.", erasureGrace)
		if err := workflow.Sleep(ctx, erasureGrace); err != nil {
			return ErasureResult{}, err
		}
		r.in.Swept, r.in.Forgotten = true, false
	}
	if err := r.pass(ctx); err != nil {
		return ErasureResult{}, err
	}
	if err := r.repeat(ctx, activities.ErasureFinish); err != nil {
		return ErasureResult{}, err
	}
	r.record(ctx, "Completed: only a receipt without personal data remains.")
	return ErasureResult{Status: subject.Completed}, upsertState(ctx, subject.Completed, "")
}

// erasureRun is the state of one workflow run.
type erasureRun struct {
	timeline
	in    ErasureInput
	steps int
}

// pass removes the workflows, which the rows name, and then the rows.
func (r *erasureRun) pass(ctx workflow.Context) error {
	if !r.in.Forgotten {
		if err := r.repeat(ctx, activities.ErasureForget); err != nil {
			return err
		}
		r.in.Forgotten = true
	}
	return r.repeat(ctx, activities.ErasureSweep)
}

// repeat runs the activity until it reports no more to do. Sweeping and finishing find what is left by themselves; removing
// workflows continues after the last one removed.
func (r *erasureRun) repeat(ctx workflow.Context, todo string) error {
	for {
		if r.steps++; r.steps > erasureSteps {
			return workflow.NewContinueAsNewError(ctx, NameErasure, r.in)
		}
		out, err := retryStep[activities.ErasureProgress](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
			return workflow.ExecuteActivity(slowStep(ctx, stepSummary(todo)), todo, activities.ErasureStep{
				Erasure: r.in.Erasure, Environment: r.in.Environment, AfterKind: r.in.AfterKind, AfterID: r.in.AfterID, At: at,
			})
		})
		if err != nil {
			return err
		}
		r.in.AfterKind, r.in.AfterID = out.AfterKind, out.AfterID
		if !out.More {
			return nil
		}
	}
}

// StartErasure starts the workflow of an erasure unless it is running. The caller asks only while the record says that the subject is being
// erased: if a run has closed before that, the record was restored to an earlier point, and another run erases what came back.
func (c *Client) StartErasure(ctx context.Context, r subject.WorkflowInput) error {
	in := ErasureInput{Erasure: r.Erasure, Environment: r.Environment}
	return c.restart(ctx, startRequest{
		id: ErasureID(in.Erasure), input: in, kind: NameErasure, environment: in.Environment, state: subject.Erasing, summary: fmt.Sprintf("Erasure %s", in.Erasure),
	})
}
