package upkeep

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// stalled is how long an enrollment or an erasure may take before its workflow is started again. Starting it while it runs has no effect.
const stalled = 15 * time.Minute

// SubjectDeps are the dependencies of SubjectTasks; all are required.
type SubjectDeps struct {
	Store      *store.Store
	Recoveries *recovery.Service
}

// SubjectTasks returns the tasks about recoveries, erasures and enrollments. They repair them after a loss of workflows in Temporal.
func SubjectTasks(d SubjectDeps) []Task {
	return []Task{
		{Name: "overdue-recoveries", Every: 15 * time.Minute, About: "Advance recoveries whose workflow is lost", Do: d.recoveries},
		{Name: "unfinished-erasures", Every: 15 * time.Minute, About: "Restart erasures whose workflow is lost", Do: d.erasures},
		{Name: "unfinished-enrollments", Every: 15 * time.Minute, About: "Restart enrollments whose workflow is lost", Do: d.enrollments},
	}
}

// recoveries advances recoveries that are overdue by more than grace.
func (d SubjectDeps) recoveries(ctx context.Context, at time.Time, by string) (int, bool, error) {
	ids, err := d.Store.Recoveries().Overdue(ctx, at.Add(-grace), batch)
	return forEach(ids, err, func(id string) error {
		_, err := d.Recoveries.Advance(ctx, recovery.Step{ID: id, At: at, WorkflowID: by})
		return err
	})
}

// erasures restarts one batch and never reports more: erasures in progress stay in the list.
func (d SubjectDeps) erasures(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	// The outbox relay starts the workflow by the erasure's id, so one that still runs is not started twice.
	found, err := d.Store.Erasures().Unfinished(ctx, at.Add(-stalled), batch)
	n, _, err := forEach(found, err, func(e models.Erasure) error {
		return outbox.Add(ctx, d.Store.Q, outbox.Item{Topic: outbox.TopicErasureStart, Environment: e.EnvironmentID, Ref: e.ID, At: at})
	})
	return n, false, err
}

// enrollments restarts one batch in the same way.
func (d SubjectDeps) enrollments(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	found, err := d.Store.Enrollments().Unfinished(ctx, at.Add(-stalled), batch)
	n, _, err := forEach(found, err, func(e models.Enrollment) error {
		return outbox.Add(ctx, d.Store.Q, outbox.Item{Topic: outbox.TopicEnrollmentStart, Environment: e.EnvironmentID, Ref: e.ID, At: at})
	})
	return n, false, err
}
