package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Names under which the activities of an erasure are registered.
const (
	ErasureForget = "erasure.forget"
	ErasureSweep  = "erasure.sweep"
	ErasureFinish = "erasure.finish"
)

// ErasureSteps are the steps of an erasure (internal/subject).
type ErasureSteps interface {
	Workflows(ctx context.Context, erasure string, after store.WorkflowRef) ([]store.WorkflowRef, error)
	Sweep(ctx context.Context, erasure string) (more bool, err error)
	Finish(ctx context.Context, erasure, workflowID string, at time.Time) (more bool, err error)
}

// RunForgetter ends a run and removes its history (workflows.Client). A run that does not exist is forgotten.
type WorkflowForgetter interface {
	Forget(ctx context.Context, workflowID string) error
}

// ErasureStep asks for one step of an erasure.
type ErasureStep struct {
	Erasure   string
	AfterKind string    // of ErasureForget: the last run of the step before
	AfterID   string    //
	At        time.Time // of ErasureFinish: the workflow's time
}

// ErasureProgress says whether the step must be asked for again, and from where.
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

// Forget ends some of the runs that were started for the subject and removes their histories. The id of a run is its
// kind, a slash and the id of its record.
func (a *Erasures) Forget(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	runs, err := a.Steps.Workflows(ctx, in.Erasure, store.WorkflowRef{Kind: in.AfterKind, ID: in.AfterID})
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	for _, r := range runs {
		if err := a.Workflows.Forget(ctx, r.Kind+"/"+r.ID); err != nil {
			return ErasureProgress{}, report(ctx, a.Log, err)
		}
	}
	if len(runs) == 0 {
		return ErasureProgress{}, nil
	}
	last := runs[len(runs)-1]
	return ErasureProgress{More: true, AfterKind: last.Kind, AfterID: last.ID}, nil
}

// Sweep removes some of what is held of the subject.
func (a *Erasures) Sweep(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	more, err := a.Steps.Sweep(ctx, in.Erasure)
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	return ErasureProgress{More: more}, nil
}

// Finish removes the rest and leaves the receipt.
func (a *Erasures) Finish(ctx context.Context, in ErasureStep) (ErasureProgress, error) {
	more, err := a.Steps.Finish(ctx, in.Erasure, activity.GetInfo(ctx).WorkflowExecution.ID, moment(in.At))
	if err != nil {
		return ErasureProgress{}, report(ctx, a.Log, err)
	}
	return ErasureProgress{More: more}, nil
}
