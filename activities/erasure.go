package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject"
)

// Registered names of the activities of an erasure. Histories refer to them: never rename them.
const (
	ErasureForget = "erasure.forget"
	ErasureSweep  = "erasure.sweep"
	ErasureFinish = "erasure.finish"
)

// ErasureSteps does the steps of an erasure (subject.Service). Each returns whether more is left to do.
type ErasureSteps interface {
	Workflows(ctx context.Context, run subject.Run, after subject.WorkflowRef) ([]subject.WorkflowRef, error)
	Sweep(ctx context.Context, run subject.Run) (more bool, err error)
	Finish(ctx context.Context, run subject.Run, workflowID string, at time.Time) (more bool, err error)
}

// WorkflowForgetter terminates workflows and deletes the histories of their runs (workflows.Client). It is no error if there are none.
type WorkflowForgetter interface {
	Forget(ctx context.Context, workflowIDs []string) error
}

// ErasureStep is the payload of one step of an erasure.
type ErasureStep struct {
	Erasure     string
	Environment string
	AfterKind   string    // of ErasureForget: kind of the last workflow of the previous step
	AfterID     string    // and the id of its record
	At          time.Time `json:",omitzero"` // of ErasureFinish: the workflow's time
}

func (s ErasureStep) run() subject.Run {
	return subject.Run{Erasure: s.Erasure, Environment: s.Environment}
}

// ErasureProgress reports whether the step must be repeated, and from where.
type ErasureProgress struct {
	More      bool
	AfterKind string
	AfterID   string
}

// Erasures are the activities of an erasure.
type Erasures struct {
	Steps     ErasureSteps
	Workflows WorkflowForgetter
	Log       *slog.Logger
}

// Forget terminates some of the workflows of the subject and deletes their histories. A workflow id is the kind, a slash and
// the id of the record.
func (a *Erasures) Forget(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	page, err := a.Steps.Workflows(ctx, in.run(), subject.WorkflowRef{Kind: in.AfterKind, ID: in.AfterID})
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	if len(page) == 0 {
		return ErasureProgress{}, nil
	}
	ids := make([]string, len(page))
	for i, w := range page {
		ids[i] = w.Kind + "/" + w.ID
	}
	if err := a.Workflows.Forget(ctx, ids); err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	last := page[len(page)-1]
	return ErasureProgress{More: true, AfterKind: last.Kind, AfterID: last.ID}, nil
}

// Sweep deletes a batch of the subject's rows.
func (a *Erasures) Sweep(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	more, err := a.Steps.Sweep(ctx, in.run())
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	return ErasureProgress{More: more}, nil
}

// Finish deletes the rest and writes the receipt.
func (a *Erasures) Finish(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	more, err := a.Steps.Finish(ctx, in.run(), activity.GetInfo(ctx).WorkflowExecution.ID, moment(in.At))
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	return ErasureProgress{More: more}, nil
}
