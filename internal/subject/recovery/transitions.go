package recovery

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// WorkflowInput is the input of the recovery workflow.
type WorkflowInput struct {
	Recovery    string
	Environment string
}

// WorkflowInput returns the input of the recovery's workflow for the outbox relay; false if the recovery is over.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	r, err := s.store.Recoveries().Get(ctx, environment, id)
	if errors.Is(err, store.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Recovery: r.ID, Environment: r.EnvironmentID}, err == nil && !Over(r.Status), err
}

// Step is the input of Advance.
type Step struct {
	ID string // of the recovery
	// Environment is empty in a run that an earlier version started; it is looked up then.
	Environment string
	At          time.Time // transitions that are due at this time are made
	WorkflowID  string    // for events
}

// Progress is the status of a recovery and the time of its next transition.
type Progress struct {
	Status models.RecoveryStatus
	Next   time.Time // zero if the recovery is over
}

// Advance makes the transitions that are due, in one transaction. It is safe to repeat. A recovery whose subject is being
// erased is Gone.
func (s *Service) Advance(ctx context.Context, step Step) (Progress, error) {
	out := Progress{Status: Gone}
	environment, err := s.store.Home(ctx, step.Environment, store.RunOfRecovery, step.ID)
	if err != nil {
		return out, err
	}
	err = s.store.Write(ctx, func(q *store.Q) error {
		r, err := q.Recoveries().Lock(ctx, environment, step.ID)
		if err != nil {
			return err
		}
		sub, err := q.Subjects().ByUID(ctx, store.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, r.SubjectUID)
		if err != nil {
			return err
		}
		for to, ok := nextStatus(r, step.At); ok; to, ok = nextStatus(r, step.At) {
			if err := move(ctx, q, &r, sub, to, step); err != nil {
				return err
			}
		}
		out = Progress{Status: r.Status, Next: nextMoveAt(r)}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return Progress{Status: Gone}, nil
	}
	return out, err
}

// moveData is the event of a transition that Advance makes; nil if the transition has none.
func moveData(r models.Recovery, to models.RecoveryStatus) events.Data {
	switch to {
	case models.RecoveryReady:
		return events.RecoveryReadyData(recoveryData(r))
	case models.RecoveryExpired:
		return events.RecoveryExpiredData(recoveryData(r))
	default:
		return nil
	}
}

// move makes one transition. The UPDATE names the current status, so it fails if another transaction moved the recovery.
func move(ctx context.Context, q *store.Q, r *models.Recovery, sub models.Subject, to models.RecoveryStatus, step Step) error {
	moved, err := q.Recoveries().Move(ctx, *r, to, step.At)
	if err != nil {
		return err
	}
	if !moved {
		return problem.New(problem.Conflict, "The recovery was changed by a concurrent request.")
	}
	r.Status = to
	data := moveData(*r, to)
	if data == nil {
		return nil
	}
	e := entry(*r, sub, step.At, "workflow:"+step.WorkflowID, data)
	e.WorkflowID = step.WorkflowID
	return events.Append(ctx, q, e)
}

// Limitation returns the reason code of the limitation that a recovery imposes on the subject at the time: LimitationCooling,
// LimitationCap, or empty for none.
func Limitation(ctx context.Context, q *store.Q, sub models.Subject, at time.Time) (string, error) {
	r, err := q.Recoveries().Open(ctx, store.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", err
	case err == nil && at.Before(r.ReadyAt):
		return LimitationCooling, nil
	case sub.Capped(at):
		return LimitationCap, nil
	default:
		return "", nil
	}
}

// EnsureEnrollable returns the problem recovery_not_ready while a recovery of the subject is cooling down.
func EnsureEnrollable(ctx context.Context, q *store.Q, scope store.Scope, subjectUID string, at time.Time) error {
	r, err := q.Recoveries().Open(ctx, scope, subjectUID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return requireCooledDown(r, at)
}

// requireCooledDown returns the problem recovery_not_ready before the end of r's cool-down.
func requireCooledDown(r models.Recovery, at time.Time) error {
	if at.Before(r.ReadyAt) {
		return problem.New(problem.RecoveryNotReady, "A recovery of the subject is cooling down. Enroll the subject once it is ready.")
	}
	return nil
}

// CompleteByEnrollment completes the subject's open recovery in the transaction that activates its new template. It has no
// effect if there is none or it has expired, and returns the problem recovery_not_ready if it is cooling down. After a recovery
// with the anchor none, claims stay capped for the terms' Cap from here.
func CompleteByEnrollment(ctx context.Context, q *store.Q, scope store.Scope, subjectUID string, at time.Time) error {
	r, err := q.Recoveries().LockOpen(ctx, scope, subjectUID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := requireCooledDown(r, at); err != nil || !at.Before(r.ExpiresAt) {
		return err
	}
	moved, err := q.Recoveries().Move(ctx, r, models.RecoveryCompleted, at)
	if err != nil || !moved {
		return err
	}
	return recordCompletion(ctx, q, scope, r, at)
}

// recordCompletion sets the claim cap, records recovery.completed and notifies the workflow through the outbox.
func recordCompletion(ctx context.Context, q *store.Q, scope store.Scope, r models.Recovery, at time.Time) error {
	env, err := q.Environments().Get(ctx, scope)
	if err != nil {
		return err
	}
	sub, err := q.Subjects().ByUID(ctx, scope, r.SubjectUID)
	if err != nil {
		return err
	}
	if terms := TermsOf(env.Kind, r.Anchor); terms.Cap > 0 {
		if err := q.Subjects().SetClaimCap(ctx, scope, r.SubjectUID, at.Add(terms.Cap), at); err != nil {
			return err
		}
	}
	// The event of the enrollment names the caller that requested it.
	data := events.RecoveryCompletedData(recoveryData(r))
	if err := events.Append(ctx, q, entry(r, sub, at, "recovery:"+r.ID, data)); err != nil {
		return err
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: TopicSettled, Environment: r.EnvironmentID, Ref: r.ID, At: at})
}

// TopicSettled is the outbox topic of recoveries, by id, that an enrollment completed: their workflow must be notified.
const TopicSettled = "recovery.settled"
