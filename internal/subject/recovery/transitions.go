package recovery

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

// WorkflowInput is the input of the recovery workflow.
type WorkflowInput struct {
	Recovery    string
	Environment string
}

// WorkflowInput returns the input of the recovery's workflow for the outbox relay; false if the recovery is over.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	r, err := GetRecovery(ctx, s.store.AsStored(), environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Recovery: r.ID, Environment: r.EnvironmentID}, err == nil && !Over(r.Status), err
}

// Step is the input of Advance.
type Step struct {
	ID          string // of the recovery
	Environment string
	At          time.Time // transitions that are due at this time are made
	WorkflowID  string    // for events; empty if a request makes the transitions
}

// actor is the actor of the events. A request that finds a recovery past its end has an event of its own, which names its caller.
func (s Step) actor() string {
	if s.WorkflowID == "" {
		return "recovery:" + s.ID
	}
	return "workflow:" + s.WorkflowID
}

// Progress is the status of a recovery and the time of its next transition.
type Progress struct {
	Status models.RecoveryStatus
	Next   time.Time // zero if the recovery is over
}

// Advance makes the transitions that are due, in one transaction. It is safe to repeat. A recovery whose subject is being
// erased is Gone. It takes rows as they are: no enrollment completes a recovery that was altered.
func (s *Service) Advance(ctx context.Context, step Step) (Progress, error) {
	out := Progress{Status: Gone}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		r, err := lockRecovery(ctx, q, step.Environment, step.ID)
		if err != nil {
			return err
		}
		sub, err := subjectrow.GetByUID(ctx, q, pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, r.SubjectUID)
		if err != nil {
			return err
		}
		if r, err = advance(ctx, q, r, sub, step); err != nil {
			return err
		}
		out = Progress{Status: r.Status, Next: nextMoveAt(r)}
		return nil
	})
	if errors.Is(err, pg.ErrNotFound) {
		return Progress{Status: Gone}, nil
	}
	return out, err
}

// moveData is the event of a transition that advance makes; nil if the transition has none.
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

// advance makes the transitions of a locked recovery that are due, and returns it with its new status. However many are due, they
// are one UPDATE: Postgres checks the foreign key when a transaction updates a row for the second time, and would wait for the
// lock of the subject, which Begin takes before it waits for the recovery. The UPDATE names the current status, so it fails if
// another transaction moved the recovery.
func advance(ctx context.Context, q *pg.Q, r models.Recovery, sub models.Subject, step Step) (models.Recovery, error) {
	from, made := r, []events.Data(nil)
	for to, ok := nextStatus(r, step.At); ok; to, ok = nextStatus(r, step.At) {
		r.Status = to
		if data := moveData(r, to); data != nil {
			made = append(made, data)
		}
	}
	if r.Status == from.Status {
		return r, nil
	}
	moved, err := moveRecovery(ctx, q, from, r.Status, step.At)
	if err != nil {
		return from, err
	}
	if !moved {
		return from, problem.New(problem.Conflict, "The recovery was changed by a concurrent request.")
	}
	for _, data := range made {
		e := entry(r, sub, step.At, step.actor(), data)
		e.WorkflowID = step.WorkflowID
		if err := events.Append(ctx, q, e); err != nil {
			return from, err
		}
	}
	return r, nil
}

// lockOpen returns the subject's recovery that is open at the time and locks it until the transaction ends; false if there is none.
// The transitions of one that is past its end are made first, so that later statements of the transaction do not find it open.
func lockOpen(ctx context.Context, q *pg.Q, sub models.Subject, at time.Time) (models.Recovery, bool, error) {
	r, err := subject.UnfinishedRecoveryOf(ctx, q, sub, forUpdate)
	if errors.Is(err, pg.ErrNotFound) {
		return r, false, nil
	}
	if err != nil || Open(r, at) {
		return r, err == nil, err
	}
	r, err = advance(ctx, q, r, sub, Step{ID: r.ID, At: at})
	return r, false, err
}

// Limitation returns the reason code of the limitation that a recovery imposes on the subject at the time: LimitationCooling,
// LimitationCap, or empty for none.
func Limitation(ctx context.Context, q *pg.Q, sub models.Subject, at time.Time) (string, error) {
	r, err := subject.UnfinishedRecoveryOf(ctx, q, sub)
	switch {
	case err != nil && !errors.Is(err, pg.ErrNotFound):
		return "", err
	case err == nil && at.Before(r.ReadyAt):
		return LimitationCooling, nil
	case sub.Capped(at):
		return LimitationCap, nil
	default:
		return "", nil
	}
}

// EnsureEnrollable returns the anchor of the open recovery that an enrollment of the subject would complete, or AnchorNone, and the
// problem recovery_not_ready while it is cooling down. It records the expiry of a recovery that is past its end.
func EnsureEnrollable(ctx context.Context, q *pg.Q, sub models.Subject, at time.Time) (anchor string, err error) {
	r, open, err := lockOpen(ctx, q, sub, at)
	if err != nil || !open {
		return AnchorNone, err
	}
	return r.Anchor, requireCooledDown(r, at)
}

// requireCooledDown returns the problem recovery_not_ready before the end of r's cool-down.
func requireCooledDown(r models.Recovery, at time.Time) error {
	if at.Before(r.ReadyAt) {
		return problem.New(problem.RecoveryNotReady, "A recovery of the subject is cooling down. Enroll the subject once it is ready.")
	}
	return nil
}

// CompleteByEnrollment completes the subject's open recovery in the transaction that activates its new template, and returns the
// problem recovery_not_ready if it is cooling down. After a recovery with the anchor none, claims stay capped for the terms' Cap
// from here, even if it has expired: the enrollment does not complete it then, but nothing else vouches for the person either.
func CompleteByEnrollment(ctx context.Context, q *pg.Q, sub models.Subject, at time.Time) error {
	scope := pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}
	r, open, err := lockOpen(ctx, q, sub, at)
	if err != nil {
		return err
	}
	if !open {
		return capAfterExpiry(ctx, q, scope, sub.UID, at)
	}
	if err := requireCooledDown(r, at); err != nil {
		return err
	}
	moved, err := moveRecovery(ctx, q, r, models.RecoveryCompleted, at)
	if err != nil || !moved {
		return err
	}
	return recordCompletion(ctx, q, scope, r, at)
}

// capAfterExpiry sets the claim cap at the first enrollment after a recovery with the anchor none expired. The cap that Begin set
// ends before the recovery does. A cap that reaches as far as one of an enrollment after the end was set by such an enrollment.
func capAfterExpiry(ctx context.Context, q *pg.Q, scope pg.Scope, subjectUID string, at time.Time) error {
	r, err := abandonedRecoveries(ctx, q, scope, subjectUID, AnchorNone)
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil {
		return err
	}
	sub, err := subjectrow.GetByUID(ctx, q, scope, subjectUID)
	if err != nil {
		return err
	}
	terms := TermsOf(env.Kind, r.Anchor)
	if sub.ClaimCapUntil != nil && !sub.ClaimCapUntil.Before(r.ExpiresAt.Add(terms.Cap)) {
		return nil
	}
	if at.Before(r.ExpiresAt) { // by a clock that is behind
		at = r.ExpiresAt
	}
	return subject.SetClaimCap(ctx, q, at.Add(terms.Cap), entry(r, sub, at, "recovery:"+r.ID, nil))
}

// recordCompletion records recovery.completed, sets the claim cap and notifies the workflow through the outbox.
func recordCompletion(ctx context.Context, q *pg.Q, scope pg.Scope, r models.Recovery, at time.Time) error {
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil {
		return err
	}
	sub, err := subjectrow.GetByUID(ctx, q, scope, r.SubjectUID)
	if err != nil {
		return err
	}
	// The event of the enrollment names the caller that requested it.
	e := entry(r, sub, at, "recovery:"+r.ID, events.RecoveryCompletedData(recoveryData(r)))
	if err := events.Append(ctx, q, e); err != nil {
		return err
	}
	if terms := TermsOf(env.Kind, r.Anchor); terms.Cap > 0 {
		if err := subject.SetClaimCap(ctx, q, at.Add(terms.Cap), e); err != nil {
			return err
		}
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: TopicSettled, Environment: r.EnvironmentID, Ref: r.ID, At: at})
}

// TopicSettled is the outbox topic of recoveries, by id, that an enrollment completed: their workflow must be notified.
const TopicSettled = "recovery.settled"
