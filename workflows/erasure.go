package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject"
)

// NameErasure is the name under which the workflow is registered. Histories refer to it: it is never renamed.
const NameErasure = "erasure"

// ErasureID is the id of the run of an erasure.
func ErasureID(id string) string { return NameErasure + "/" + id }

// erasureGrace is how long an erasure waits between its two passes: longer than any request may run, so that what was
// under way when the subject was hidden is removed by the second.
const erasureGrace = 30 * time.Second

// erasureSteps bounds the steps of one run; an erasure with more goes on in a new one.
const erasureSteps = 1000

// ErasureInput starts the run of an erasure. Fields are added, never changed.
type ErasureInput struct {
	Erasure     string
	Environment string
	Swept       bool   // the first pass is done
	AfterKind   string // the runs up to this one are forgotten
	AfterID     string
}

// ErasureResult is how an erasure ended.
type ErasureResult struct {
	Status string
}

// Erasure removes everything held of a subject: its runs and their histories, its rows, and last the personal part of its
// events and the subject itself. The subject was hidden before the run was started.
func Erasure(ctx workflow.Context, in ErasureInput) (ErasureResult, error) {
	r := &erasureRun{in: in}
	if !in.Swept {
		if err := r.pass(ctx); err != nil {
			return ErasureResult{}, err
		}
		r.tell(ctx, "The first pass is done: runs, histories and rows are removed. What comes late is removed after %s.", erasureGrace)
		if err := workflow.Sleep(ctx, erasureGrace); err != nil {
			return ErasureResult{}, err
		}
		r.in.Swept = true
	}
	if err := r.pass(ctx); err != nil {
		return ErasureResult{}, err
	}
	if err := r.repeat(ctx, activities.ErasureFinish); err != nil {
		return ErasureResult{}, err
	}
	r.tell(ctx, "Completed: nothing is left but the receipt, which names nobody.")
	return ErasureResult{Status: subject.Completed}, becomes(ctx, subject.Completed, "")
}

type erasureRun struct {
	story
	in    ErasureInput
	steps int
}

// pass forgets the runs, which the rows name, and then removes the rows.
func (r *erasureRun) pass(ctx workflow.Context) error {
	if err := r.repeat(ctx, activities.ErasureForget); err != nil {
		return err
	}
	return r.repeat(ctx, activities.ErasureSweep)
}

// repeat asks for the step until there is no more of it. Sweeping and finishing begin where they were by themselves; the
// runs are forgotten from the one after the last.
func (r *erasureRun) repeat(ctx workflow.Context, todo string) error {
	for {
		if r.steps++; r.steps > erasureSteps {
			return workflow.NewContinueAsNewError(ctx, NameErasure, r.in)
		}
		out, err := untilAnswered[activities.ErasureProgress](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
			return workflow.ExecuteActivity(slowStep(ctx, step(todo)), todo, activities.ErasureStep{
				Erasure: r.in.Erasure, AfterKind: r.in.AfterKind, AfterID: r.in.AfterID, At: at,
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

// StartErasure starts the run of an erasure unless it exists.
func (c *Client) StartErasure(ctx context.Context, r subject.WorkflowInput) error {
	in := ErasureInput{Erasure: r.Erasure, Environment: r.Environment}
	return c.start(ctx, ErasureID(in.Erasure), NameErasure, about{
		kind: NameErasure, environment: in.Environment, state: subject.Erasing, summary: fmt.Sprintf("Erasure %s", in.Erasure),
	}, in)
}
