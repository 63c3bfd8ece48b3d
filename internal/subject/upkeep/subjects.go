package upkeep

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// stalled is how long an enrollment or an erasure may take before its workflow is started again. Starting it while it runs has no effect.
const stalled = 15 * time.Minute

// SubjectDeps are the dependencies of SubjectTasks; all are required.
type SubjectDeps struct {
	Store      *pg.Store
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
	due, err := recovery.OverdueRecoveries(ctx, d.Store.Q, at.Add(-grace), batch)
	return forEach(due, err, func(o settle.Overdue) error {
		_, err := d.Recoveries.Advance(ctx, recovery.Step{Environment: o.Environment, ID: o.ID, At: at, WorkflowID: by})
		return err
	})
}

func (d SubjectDeps) erasures(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	found, err := subject.UnfinishedErasures(ctx, d.Store.Q, at.Add(-stalled), batch)
	return restart(ctx, d.Store.Q, found, err, func(e models.Erasure) outbox.Item {
		return outbox.Item{Topic: outbox.TopicErasureStart, Environment: e.EnvironmentID, Ref: e.ID, At: at}
	})
}

func (d SubjectDeps) enrollments(ctx context.Context, at time.Time, _ string) (int, bool, error) {
	found, err := enrollment.HasUnfinishedEnrollment(ctx, d.Store.Q, at.Add(-stalled), batch)
	return restart(ctx, d.Store.Q, found, err, func(e models.Enrollment) outbox.Item {
		return outbox.Item{Topic: outbox.TopicEnrollmentStart, Environment: e.EnvironmentID, Ref: e.ID, At: at}
	})
}

// restart starts the workflows of one batch again and never reports more: records in progress stay in the list. The outbox relay starts a
// workflow by the id of its record, so one that still runs is not started twice.
func restart[T any](ctx context.Context, q *pg.Q, found []T, err error, start func(T) outbox.Item) (int, bool, error) {
	n, _, err := forEach(found, err, func(f T) error { return outbox.Add(ctx, q, start(f)) })
	return n, false, err
}
