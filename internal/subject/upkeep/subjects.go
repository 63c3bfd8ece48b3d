package upkeep

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// stalled is how long an erasure may take before its run is asked for again. Asking while it is under way does nothing.
const stalled = 15 * time.Minute

// SubjectDeps are what upkeep of recoveries and erasures needs.
type SubjectDeps struct {
	Store      *store.Store
	Recoveries *recovery.Service
}

// Subjects are the tasks about subjects: an accident in Temporal must not leave a recovery waiting or an erasure undone.
func SubjectTasks(d SubjectDeps) []Task {
	return []Task{
		{Name: "overdue-recoveries", Every: 15 * time.Minute, About: "Move recoveries whose run is gone", Do: d.recoveries},
		{Name: "unfinished-erasures", Every: 15 * time.Minute, About: "Start erasures again whose run is gone", Do: d.erasures},
	}
}

func (d SubjectDeps) recoveries(ctx context.Context, at time.Time, by string) (int, bool, error) {
	ids, err := d.Store.Recoveries().Overdue(ctx, at.Add(-grace), batch)
	return each(ids, err, func(id string) error {
		_, err := d.Recoveries.Advance(ctx, recovery.Step{ID: id, At: at, WorkflowID: by})
		return err
	})
}

// erasures asks for no more than a batch: those that are under way stay in the list.
func (d SubjectDeps) erasures(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	found, err := d.Store.Erasures().Unfinished(ctx, at.Add(-stalled), batch)
	n, _, err := each(found, err, func(e models.Erasure) error {
		return outbox.Add(ctx, d.Store.Q, outbox.Item{Topic: outbox.TopicErasureStart, Environment: e.EnvironmentID, Ref: e.ID, At: at})
	})
	return n, false, err
}
