package hold

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/followup"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The states of a hold and the moves between them:
//
//	pending --- Review (approve, the last one required) ---> approved, with a follow-up decision
//	pending --- Review (reject) ---------------------------> rejected, with the outcome manually_rejected
//	pending --- Expire (at DueAt) -------------------------> expired
//	pending --- Review (approve, more required), Remind ---> pending
//	pending --- Escalate ----------------------------------> pending, and a second team may approve as well
//
// The states approved, rejected and expired are final. An erasure of the subject removes the row in any state (Gone).

// Move is a request for one move of one hold. Every move is safe to repeat.
type Move struct {
	ID          string // the held authorization
	Environment string
	Request     []byte // digest of the stored review; empty for a reminder or an expiry
	At          time.Time
	WorkflowID  string
}

// Outcome is the state of a hold after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status        models.HoldStatus `json:"Status"`
	Authorization string            `json:"Authorization"` // the follow-up decision of an approval
	Decision      policy.Effect     `json:"Decision"`      // its effect
	Approvals     int               `json:"Approvals"`     // distinct approvals so far
	Required      int               `json:"Required"`
	RemindAt      time.Time         `json:"RemindAt"` // zero once a reminder was sent
	DueAt         time.Time         `json:"DueAt"`
	EscalateAt    time.Time         `json:"EscalateAt"` // zero without a further escalation
}

// Gone is the status of a hold that was erased with its subject.
const Gone models.HoldStatus = "gone"

// Review records a review and settles the hold if the review is decisive, in one transaction. Repeating a move that was made
// returns its outcome.
func (s *Service) Review(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		r, err := challenge.GetMove(ctx, q, m.Environment, m.ID, m.Request)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.New(problem.Conflict, "No review has this digest.")
		}
		if err != nil {
			return err
		}
		c, err := lockCase(ctx, q, m.Environment, m.ID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		// The hold may be due although its timer has not fired, or resolved by an earlier attempt of this very move.
		if status := Effective(c.Hold, m.At); status != models.HoldPending {
			if err := refuseSettled(status, r.Move); err != nil {
				return err
			}
			out, err = outcomeOf(ctx, q, c.Hold, m.At)
			return err
		}
		step := review{q: q, move: m, request: r, held: c, decide: s.decide}
		if r.Move == Reject {
			out, err = step.reject(ctx)
		} else {
			out, err = step.approve(ctx)
		}
		return err
	})
	return out, err
}

// review is one review in a transaction that has the row of the hold locked.
type review struct {
	q       *pg.Q
	move    Move
	request models.MoveRequest
	held    Case
	decide  followup.Decider
}

// reject resolves the hold and records the outcome manually_rejected on the authorization, unless a different one has been reported.
func (r review) reject(ctx context.Context) (Outcome, error) {
	if err := r.resolve(ctx, models.HoldRejected); err != nil {
		return Outcome{}, err
	}
	outcome, reportedAt, err := recordRejection(ctx, r.q, r.held.Hold, r.request.NoteDigest, r.move.At)
	if err != nil {
		return Outcome{}, err
	}
	if err := aggregate.Release(ctx, r.q, r.held.Hold.EnvironmentID, r.move.At, r.held.Parent.ID); err != nil {
		return Outcome{}, err
	}
	receipt, err := json.Marshal(rejectedReceipt{
		Authorization: r.move.ID, Resolution: Reject,
		Outcome: outcomeReceipt{Authorization: r.move.ID, Outcome: outcome, ReportedAt: apitime.Time(reportedAt)},
	})
	if err != nil {
		return Outcome{}, err
	}
	if _, err := r.save(ctx, receipt); err != nil {
		return Outcome{}, err
	}
	e := r.entry(events.HoldRejectedData{ResolvedBy: r.request.Actor, Outcome: outcome})
	return Outcome{Status: models.HoldRejected}, events.Append(ctx, r.q, e)
}

// approve records the approval and counts it with those of other reviewers in good standing. The last one required resolves the
// hold and makes the follow-up decision, which may be a denial.
func (r review) approve(ctx context.Context) (Outcome, error) {
	repeated, err := r.save(ctx, nil)
	if err != nil {
		return Outcome{}, err
	}
	h := r.held.Hold
	tally, err := tallyOf(ctx, r.q, h, r.move.At)
	if err != nil {
		return Outcome{}, err
	}
	given := tally.Given
	if given < h.ApprovalsRequired {
		if !repeated { // a worker that lost the result of its review makes it again, and the event is there
			e := r.entry(events.HoldReviewedData{Approvals: given, ApprovalsRequired: h.ApprovalsRequired})
			if err := events.Append(ctx, r.q, e); err != nil {
				return Outcome{}, err
			}
		}
		return pendingOutcome(ctx, r.q, h, given)
	}
	selfReviewed, err := isSelfReviewed(ctx, r.q, h, r.move.At)
	if err != nil {
		return Outcome{}, err
	}
	// Resolve first: of concurrent approvals only one may go on to the follow-up decision.
	if err := r.resolve(ctx, models.HoldApproved); err != nil {
		return Outcome{}, err
	}
	// The event of the approval is written with the follow-up decision and precedes its events, which it causes.
	followUp, response, err := r.decide(ctx, r.q, followup.Request{
		Parent: r.held.Parent, HoldApproved: true, At: r.move.At, Actor: r.request.Actor, RequestID: r.request.RequestID, WorkflowID: r.move.WorkflowID,
		Cause: func(followUp models.Authorization) events.Entry {
			return r.entry(events.HoldApprovedData{
				ResolvedBy: r.request.Actor, SelfReviewed: onlyTrue(selfReviewed), Approvals: &given, ChildAuthorization: followUp.ID, ChildDecision: followUp.Decision,
			})
		},
	})
	if err != nil {
		return Outcome{}, err
	}
	receipt, err := json.Marshal(approvedReceipt{Authorization: r.move.ID, Resolution: Approve, Decision: proof.Remove(response), SelfReviewed: selfReviewed})
	if err != nil {
		return Outcome{}, err
	}
	if _, err := r.save(ctx, receipt); err != nil {
		return Outcome{}, err
	}
	if err := setHoldFollowUp(ctx, r.q, h.EnvironmentID, r.move.ID, followUp.ID); err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Status: models.HoldApproved, Authorization: followUp.ID, Decision: policy.Effect(followUp.Decision), Approvals: given, Required: h.ApprovalsRequired,
	}, nil
}

// onlyTrue leaves false out of an event.
func onlyTrue(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}

// resolve settles the hold. It is refused if the hold is not pending any more.
func (r review) resolve(ctx context.Context, to models.HoldStatus) error {
	moved, err := resolveHold(ctx, r.q, r.held.Hold, to, r.request.Actor, r.move.At)
	if err == nil && !moved {
		return problem.New(problem.ReviewResolved, "The hold was resolved by another review.")
	}
	return err
}

// save stores the review with the principal that the reviewer belonged to at the time. It reports whether the same was stored already.
func (r review) save(ctx context.Context, receipt []byte) (repeated bool, err error) {
	scope := pg.Scope{Tenant: r.held.Hold.TenantID, Environment: r.held.Hold.EnvironmentID}
	principal, err := identity.HoldPrincipal(ctx, r.q, scope, r.request.Actor)
	if err != nil {
		return false, err
	}
	return putReview(ctx, r.q, models.Review{
		AuthorizationID: r.move.ID, EnvironmentID: scope.Environment, Reviewer: r.request.Actor, Principal: principal, Resolution: r.request.Move, NoteDigest: r.request.NoteDigest,
		At: r.move.At, Receipt: receipt,
	})
}

// entry returns the event of the review.
func (r review) entry(data events.Data) events.Entry {
	e := entryOf(r.held, data, r.move, r.request.Actor)
	e.RequestID = r.request.RequestID
	return e
}

// Remind records the event hold.reminder of a hold that still waits, once per hold.
func (s *Service) Remind(ctx context.Context, m Move) (Outcome, error) {
	data := func(h models.Hold) events.Data {
		return events.HoldReminderData{OpenedAt: apitime.Time(h.OpenedAt), DueAt: apitime.Time(h.DueAt)}
	}
	return s.byTime(ctx, m, data, func(q *pg.Q, environment string) (bool, error) {
		return remindHold(ctx, q, environment, m.ID, m.At)
	}, models.NoticeDueSoon)
}

// Expire expires a pending hold that is due, and returns the state of the hold in any case.
func (s *Service) Expire(ctx context.Context, m Move) (Outcome, error) {
	data := func(h models.Hold) events.Data {
		return events.HoldExpiredData{OpenedAt: apitime.Time(h.OpenedAt), DueAt: apitime.Time(h.DueAt)}
	}
	return s.byTime(ctx, m, data, func(q *pg.Q, environment string) (bool, error) {
		expired, err := expireHold(ctx, q, environment, m.ID, m.At)
		if err == nil && expired {
			err = aggregate.Release(ctx, q, environment, m.At, m.ID)
		}
		return expired, err
	}, "")
}

// byTime makes a move that time causes, with its event. Staff are notified of it on the occasion; an empty one notifies no one.
func (s *Service) byTime(ctx context.Context, m Move, data func(models.Hold) events.Data, move func(q *pg.Q, environment string) (bool, error), occasion models.NoticeKind) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		moved, err := move(q, m.Environment)
		if err != nil {
			return err
		}
		c, err := lockCase(ctx, q, m.Environment, m.ID)
		if errors.Is(err, pg.ErrNotFound) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		if out, err = outcomeOf(ctx, q, c.Hold, m.At); err != nil || !moved {
			return err
		}
		if err := events.Append(ctx, q, entryOf(c, data(c.Hold), m, "workflow:"+m.WorkflowID)); err != nil || occasion == "" {
			return err
		}
		return announceNotice(ctx, q, c.Hold, occasion, m.At)
	})
	return out, err
}

// outcomeOf returns the state of a hold as an Outcome.
func outcomeOf(ctx context.Context, q *pg.Q, h models.Hold, at time.Time) (Outcome, error) {
	tally, err := tallyOf(ctx, q, h, at)
	if err != nil {
		return Outcome{}, err
	}
	out, err := pendingOutcome(ctx, q, h, tally.Given)
	if err != nil || h.ChildAuthorizationID == nil {
		return out, err
	}
	out.Authorization = *h.ChildAuthorizationID
	effect, err := challenge.EffectOfDecision(ctx, q, h.EnvironmentID, out.Authorization)
	out.Decision = policy.Effect(effect)
	return out, err
}

// pendingOutcome returns the state of a hold without a follow-up decision.
func pendingOutcome(ctx context.Context, q *pg.Q, h models.Hold, given int) (Outcome, error) {
	next, err := escalateAt(ctx, q, h)
	return Outcome{
		Status: h.Status, Approvals: given, Required: h.ApprovalsRequired, RemindAt: remindAt(h), DueAt: h.DueAt.UTC(), EscalateAt: next,
	}, err
}

// remindAt returns when the reminder is due; zero once it was sent.
func remindAt(h models.Hold) time.Time {
	if h.RemindedAt != nil {
		return time.Time{}
	}
	return h.RemindAt.UTC()
}

// entryOf returns an event about the hold.
func entryOf(c Case, data events.Data, m Move, actor string) events.Entry {
	return events.Entry{
		Scope: pg.Scope{Tenant: c.Hold.TenantID, Environment: c.Hold.EnvironmentID}, Data: data, At: m.At,
		SubjectUID: c.Hold.SubjectUID, Subject: c.Subject, Action: c.Parent.ActionKey, AuthorizationID: m.ID,
		Decision: c.Parent.Decision, Actor: actor, WorkflowID: m.WorkflowID,
	}
}
