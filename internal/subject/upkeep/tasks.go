package upkeep

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
)

// batch is the maximum number of rows that a task processes per call.
const batch = 500

// grace is how late a workflow may be before upkeep settles its record: its timer may be about to fire.
const grace = time.Minute

// KeyLife is the age at which an active signing key is rotated.
const KeyLife = 90 * 24 * time.Hour

// KeyRotator rotates signing keys. signing.Service implements it.
type KeyRotator interface {
	// Rotate makes the next key of the environment the active one.
	Rotate(ctx context.Context, scope pg.Scope, actor string) ([]models.SigningKey, error)
	// Retire removes keys that no valid proof was signed with, and returns how many.
	Retire(ctx context.Context, scope pg.Scope, actor string) (int, error)
}

// CoreDeps are the dependencies of CoreTasks; all are required.
type CoreDeps struct {
	Store        *pg.Store
	Challenges   *challenge.Service
	Holds        *hold.Service
	AfterReviews *afterreview.Service
	Standing     *standing.Service
	Changes      *change.Service
	Evaluations  *evaluation.Service
	Keys         KeyRotator
}

// CoreTasks returns the tasks about authorizations, sessions and signing keys.
func CoreTasks(d CoreDeps) []Task {
	return []Task{
		{Name: "overdue-challenges", Every: 5 * time.Minute, About: "Expire open challenges whose workflow is lost", Do: d.challenges},
		{Name: "overdue-holds", Every: 15 * time.Minute, About: "Expire pending holds whose workflow is lost", Do: d.holds},
		{Name: "overdue-after-reviews", Every: 5 * time.Minute, About: "Record reviews of break-glasses that are overdue", Do: d.afterReviews},
		{Name: "ended-standing-approvals", Every: 5 * time.Minute, About: "Record standing approvals that have expired, or whose passkey, policy version or approval by reviewers ended", Do: d.standing},
		{Name: "overdue-changes", Every: 15 * time.Minute, About: "Expire pending change requests whose workflow is lost", Do: d.changes},
		{Name: "overdue-evaluations", Every: time.Hour, About: "Close evaluations whose workflow is lost", Do: d.evaluations},
		{Name: "idle-sessions", Every: 5 * time.Minute, About: "Expire sessions without activity for half an hour", Do: d.sessions},
		{Name: "signing-keys", Every: time.Hour, About: "Rotate signing keys and retire those that no valid proof was signed with", Do: d.keys},
	}
}

// forEach calls do for each item of a query's result and passes the query's error through. It returns how many items it processed
// and whether there may be more.
func forEach[T any](found []T, err error, do func(T) error) (int, bool, error) {
	for i, f := range found {
		if err := do(f); err != nil {
			return i, true, err
		}
	}
	return len(found), len(found) == batch, err
}

// challenges expires open challenges that are overdue by more than grace.
func (d CoreDeps) challenges(ctx context.Context, at time.Time, by string) (int, bool, error) {
	due, err := challenge.OverdueChallenges(ctx, d.Store.Q, at.Add(-grace), batch)
	return forEach(due, err, func(o settle.Overdue) error {
		_, err := d.Challenges.Expire(ctx, challenge.Move{Environment: o.Environment, ID: o.ID, At: at, WorkflowID: by})
		return err
	})
}

// holds expires pending holds that are overdue by more than grace.
func (d CoreDeps) holds(ctx context.Context, at time.Time, by string) (int, bool, error) {
	due, err := hold.OverdueHolds(ctx, d.Store.Q, at.Add(-grace), batch)
	return forEach(due, err, func(o settle.Overdue) error {
		_, err := d.Holds.Expire(ctx, hold.Move{Environment: o.Environment, ID: o.ID, At: at, WorkflowID: by})
		return err
	})
}

// afterReviews records open reviews of break-glasses that are overdue. No workflow does.
func (d CoreDeps) afterReviews(ctx context.Context, at time.Time, by string) (int, bool, error) {
	due, err := afterreview.OverdueAfterReviews(ctx, d.Store.Q, at, batch)
	return forEach(due, err, func(o settle.Overdue) error { return d.AfterReviews.MarkOverdue(ctx, o.Environment, o.ID, at, by) })
}

// standing records the end of standing approvals by what they rest on. They allow nothing from then on, whether or not it is recorded.
func (d CoreDeps) standing(ctx context.Context, at time.Time, by string) (int, bool, error) {
	n, err := d.Standing.Sweep(ctx, at, by, batch)
	if err != nil || n == batch {
		return n, n == batch, err
	}
	return n, false, d.Standing.SweepReviewed(ctx, at, by, batch)
}

// changes expires pending change requests that are overdue by more than grace.
func (d CoreDeps) changes(ctx context.Context, at time.Time, by string) (int, bool, error) {
	due, err := change.OverdueChanges(ctx, d.Store.Q, at.Add(-grace), batch)
	return forEach(due, err, func(o settle.Overdue) error {
		_, err := d.Changes.Expire(ctx, change.Move{Environment: o.Environment, ID: o.ID, At: at, WorkflowID: by})
		return err
	})
}

// evaluations closes one evaluation per call: counting its results can take a minute.
func (d CoreDeps) evaluations(ctx context.Context, at time.Time, by string) (int, bool, error) {
	due, err := evaluation.OverdueEvaluations(ctx, d.Store.Q, at.Add(-grace), 1)
	if err != nil || len(due) == 0 {
		return 0, false, err
	}
	_, err = d.Evaluations.Close(ctx, evaluation.Move{Environment: due[0].Environment, ID: due[0].ID, At: at, WorkflowID: by})
	return 1, true, err
}

// sessions expires sessions that are over.
func (d CoreDeps) sessions(ctx context.Context, at time.Time, by string) (int, bool, error) {
	n := 0
	err := d.Store.Write(ctx, func(q *pg.Q) error {
		expired, err := session.ExpireIdle(ctx, q, at, batch)
		if err != nil {
			return err
		}
		n = len(expired)
		for _, s := range expired {
			if err := recordExpiry(ctx, q, s, at, by); err != nil {
				return err
			}
		}
		return nil
	})
	return n, n == batch, err
}

// recordExpiry schedules the adaptation to an expired session and records session.expired.
func recordExpiry(ctx context.Context, q *pg.Q, s models.Session, at time.Time, by string) error {
	subject, err := subjectrow.ExternalID(ctx, q, s.EnvironmentID, s.SubjectUID)
	if err != nil {
		return err
	}
	if err := template.AfterSession(ctx, q, s, at); err != nil {
		return err
	}
	return events.Append(ctx, q, events.Entry{
		Scope: pg.Scope{Tenant: s.TenantID, Environment: s.EnvironmentID}, At: at,
		SubjectUID: s.SubjectUID, Subject: subject, Actor: "workflow:" + by, WorkflowID: by, Data: events.SessionExpiredData{Session: s.ID},
	})
}

// keys retires before it rotates: an environment has at most one retiring key, so a rotation may have to wait for it.
func (d CoreDeps) keys(ctx context.Context, at time.Time, by string) (int, bool, error) {
	actor := "workflow:" + by
	scopes, err := signing.KeysRetiringSince(ctx, d.Store.Q, at, batch)
	retired, _, err := forEach(scopes, err, func(s pg.Scope) error {
		_, err := d.Keys.Retire(ctx, s, actor)
		return err
	})
	if err != nil {
		return retired, false, err
	}
	scopes, err = signing.KeysActiveSince(ctx, d.Store.Q, at.Add(-KeyLife), batch)
	return forEach(scopes, err, func(s pg.Scope) error {
		_, err := d.Keys.Rotate(ctx, s, actor)
		if problem.Is(err, problem.RotationInProgress) { // the next key was just replaced and must be published first
			return nil
		}
		return err
	})
}
