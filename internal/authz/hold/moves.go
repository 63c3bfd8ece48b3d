package hold

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/settle"
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

// Move is a request for one move of one hold.
type Move = settle.Move

// Outcome is the state of a hold after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status        models.HoldStatus `json:"Status"`
	Authorization string            `json:"Authorization"` // the follow-up decision of an approval
	Decision      policy.Effect     `json:"Decision"`      // its effect
	Approvals     int               `json:"Approvals"`     // distinct approvals so far
	Required      int               `json:"Required"`
	RemindAt      time.Time         `json:"RemindAt,omitzero"` // zero once a reminder was sent
	DueAt         time.Time         `json:"DueAt,omitzero"`
	EscalateAt    time.Time         `json:"EscalateAt,omitzero"` // zero without a further escalation
}

// Gone is the status of a hold that was erased with its subject.
const Gone models.HoldStatus = "gone"

// Review records a review and settles the hold if the review is decisive. Repeating a move that was made returns its outcome.
func (s *Service) Review(ctx context.Context, m Move) (out Outcome, err error) {
	err = settle.Retry(func() error {
		out, err = s.review(ctx, m)
		return err
	})
	return out, err
}

func (s *Service) review(ctx context.Context, m Move) (Outcome, error) {
	c, err := readCase(ctx, s.store.Q, m.Scope(), m.ID, m.Request)
	if errors.Is(err, pg.ErrNotFound) {
		return Outcome{}, problem.NewNotFound()
	}
	if err != nil {
		return Outcome{}, err
	}
	r := c.Request
	if r == nil {
		return Outcome{}, problem.New(problem.Conflict, "No review has this digest.")
	}
	// The hold may be due although its timer has not fired, or resolved by an earlier attempt of this very move.
	if status := Effective(c.Hold, m.At); status != models.HoldPending {
		if err := refuseSettled(status, r.Move); err != nil {
			return Outcome{}, err
		}
		return s.outcomeOf(ctx, c, m.At)
	}
	behind, err := identity.ActorsBehind(ctx, s.store.Q, c.scope(), r.Actor, c.requester())
	if err != nil {
		return Outcome{}, err
	}
	v := review{Service: s, Case: c, move: m, requester: behind[c.requester()], vote: models.Review{
		AuthorizationID: m.ID, EnvironmentID: m.Environment, Reviewer: r.Actor, Principal: behind[r.Actor].Principal,
		Resolution: r.Move, NoteDigest: r.NoteDigest, At: m.At,
	}}
	if err := pg.Sign(ctx, s.store.Q, &v.vote); err != nil {
		return Outcome{}, err
	}
	if v.digest, err = pg.Made(v.vote); err != nil {
		return Outcome{}, err
	}
	if r.Move == Reject {
		return v.reject(ctx)
	}
	return v.approve(ctx)
}

// review is one review of a pending hold.
type review struct {
	*Service
	Case
	move      Move
	vote      models.Review // what is recorded of it
	digest    string        // of vote
	requester identity.Behind
}

// reject resolves the hold and records the outcome manually_rejected on the authorization, unless the relying party reported one while the
// hold waited.
func (v review) reject(ctx context.Context) (Outcome, error) {
	b := &pgx.Batch{}
	queueResolve(b, v.Hold, resolution{to: models.HoldRejected, by: v.vote.Reviewer, at: v.move.At})
	aggregate.QueueRelease(b, v.EnvironmentID, v.move.At, v.move.ID)
	outcome, at := "manually_rejected", v.move.At
	if v.Outcome != nil && *v.Outcome != "unknown" {
		outcome, at = *v.Outcome, *v.OutcomeReportedAt
	} else {
		queueRejection(b, v.Hold, v.vote.NoteDigest, at)
	}
	receipt, err := json.Marshal(rejectedReceipt{
		Authorization: v.move.ID, Resolution: Reject,
		Outcome: outcomeReceipt{Authorization: v.move.ID, Outcome: outcome, ReportedAt: apitime.Time(at)},
	})
	if err != nil {
		return Outcome{}, err
	}
	v.queueVote(b, receipt)
	if err := events.Queue(b, v.entry(events.HoldRejectedData{ResolvedBy: v.vote.Reviewer, Outcome: outcome, RecordDigest: v.digest}), pg.Causes{}); err != nil {
		return Outcome{}, err
	}
	return Outcome{Status: models.HoldRejected}, settle.Commit(ctx, v.store, b)
}

// approve counts the approval with those of other reviewers in good standing. The last one required resolves the hold and makes the follow-up
// decision, which may be a denial.
func (v review) approve(ctx context.Context) (Outcome, error) {
	if err := v.verify(ctx, v.store.Q); err != nil {
		return Outcome{}, err
	}
	given, err := approversWith(ctx, v.store.Q, v.scope(), v.vote)
	if err != nil {
		return Outcome{}, err
	}
	tally, err := tallyOf(ctx, v.store.Q, v.Case, v.move.At, given)
	if err != nil {
		return Outcome{}, err
	}
	if tally.Given < v.ApprovalsRequired {
		return pendingOutcome(v.Hold, v.Teams, tally.Given), v.record(ctx, tally.Given)
	}
	if err := checkCounted(ctx, v.store.Q, given); err != nil {
		return Outcome{}, err
	}
	selfReviewed := slices.ContainsFunc(given, func(a Approver) bool { return v.requester.Meets(identity.Behind{Principal: a.Principal}) })
	followUp, err := v.decide(ctx, v.store.Q, settle.FollowUp{
		Scope: v.scope(), Parent: v.move.ID, HoldApproved: true, At: v.move.At, Actor: v.vote.Reviewer, RequestID: v.Request.RequestID, WorkflowID: v.move.WorkflowID,
		Cause: func(followUp models.Authorization) events.Entry {
			return v.entry(events.HoldApprovedData{
				ResolvedBy: v.vote.Reviewer, SelfReviewed: onlyTrue(selfReviewed), Approvals: &tally.Given, ChildAuthorization: followUp.ID, ChildDecision: followUp.Decision,
				RecordDigest: v.digest,
			})
		},
		Settle: func(b *pgx.Batch, followUp models.Authorization, response []byte) error {
			queueResolve(b, v.Hold, resolution{to: models.HoldApproved, by: v.vote.Reviewer, at: v.move.At, child: &followUp.ID})
			queueSameReviews(b, v.Case)
			receipt, err := json.Marshal(approvedReceipt{Authorization: v.move.ID, Resolution: Approve, Decision: proof.Remove(response), SelfReviewed: selfReviewed})
			v.queueVote(b, receipt)
			return err
		},
	})
	return Outcome{
		Status: models.HoldApproved, Authorization: followUp.ID, Decision: policy.Effect(followUp.Decision), Approvals: tally.Given, Required: v.ApprovalsRequired,
	}, err
}

// record records an approval after which more are required. A worker that lost the result of its review makes it again, and it is there.
func (v review) record(ctx context.Context, given int) error {
	b := &pgx.Batch{}
	queuePending(b, v.Hold, v.move.At)
	queueSameReviews(b, v.Case)
	if !slices.ContainsFunc(v.Reviews, v.repeats) {
		v.queueVote(b, nil)
		data := events.HoldReviewedData{Approvals: given, ApprovalsRequired: v.ApprovalsRequired, RecordDigest: v.digest}
		if err := events.Queue(b, v.entry(data), pg.Causes{}); err != nil {
			return err
		}
	}
	return settle.Commit(ctx, v.store, b)
}

// repeats reports whether the vote is an earlier review again.
func (v review) repeats(before models.Review) bool {
	return before.Reviewer == v.vote.Reviewer && before.Resolution == v.vote.Resolution && before.Principal == v.vote.Principal &&
		optional(before.NoteDigest) == optional(v.vote.NoteDigest)
}

// queueVote adds the record of the review, unless the reviewer's principal is another by now.
func (v review) queueVote(b *pgx.Batch, receipt []byte) {
	identity.QueueSamePrincipal(b, v.scope(), v.vote.Reviewer, v.vote.Principal)
	v.vote.Receipt = receipt
	queueReview(b, v.vote)
}

// entry returns the event of the review.
func (v review) entry(data events.Data) events.Entry {
	e := v.Case.entry(data, v.move, v.vote.Reviewer)
	e.RequestID = v.Request.RequestID
	return e
}

// onlyTrue leaves false out of an event.
func onlyTrue(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}

// Remind records the event hold.reminder of a hold that still waits, once per hold.
func (s *Service) Remind(ctx context.Context, m Move) (Outcome, error) {
	return s.byTime(ctx, m, func(c *Case, b *pgx.Batch) []events.Data {
		if c.Status != models.HoldPending || c.RemindedAt != nil {
			return nil
		}
		queueRemind(b, c.Hold, m.At)
		events.QueueOutbox(b, NoticeOf(c.Hold, models.NoticeDueSoon, m.At))
		c.RemindedAt = &m.At
		return []events.Data{events.HoldReminderData{OpenedAt: apitime.Time(c.OpenedAt), DueAt: apitime.Time(c.DueAt)}}
	})
}

// Escalate records the event hold.escalated for each team of a hold that still waits and whose time has passed, once per team. It
// approves nothing: the second team may approve from that time on, whether or not this was recorded.
func (s *Service) Escalate(ctx context.Context, m Move) (Outcome, error) {
	return s.byTime(ctx, m, func(c *Case, b *pgx.Batch) (data []events.Data) {
		for i, t := range c.Teams {
			if Effective(c.Hold, m.At) == models.HoldPending && t.EscalatedAt == nil && t.EscalateAt != nil && !m.At.Before(*t.EscalateAt) {
				c.Teams[i].EscalatedAt = &m.At
				data = append(data, events.HoldEscalatedData{Team: t.Team, EscalatedTo: *t.EscalateTeam, DueAt: apitime.Time(c.DueAt), RiskClass: c.RiskClass})
			}
		}
		if len(data) > 0 {
			queuePending(b, c.Hold, m.At)
			queueEscalate(b, c.Hold, m.At, len(data))
			events.QueueOutbox(b, NoticeOf(c.Hold, models.NoticeEscalated, m.At))
		}
		return data
	})
}

// Expire expires a pending hold that is due, and returns the state of the hold in any case.
func (s *Service) Expire(ctx context.Context, m Move) (Outcome, error) {
	return s.byTime(ctx, m, func(c *Case, b *pgx.Batch) []events.Data {
		if c.Status != models.HoldPending || m.At.Before(c.DueAt) {
			return nil
		}
		queueExpire(b, c.Hold, m.At)
		aggregate.QueueRelease(b, c.EnvironmentID, m.At, m.ID)
		c.Status = models.HoldExpired
		return []events.Data{events.HoldExpiredData{OpenedAt: apitime.Time(c.OpenedAt), DueAt: apitime.Time(c.DueAt)}}
	})
}

// byTime makes a move that time causes. make adds its statements and changes the case accordingly; without events there is nothing to do.
func (s *Service) byTime(ctx context.Context, m Move, make func(c *Case, b *pgx.Batch) []events.Data) (out Outcome, err error) {
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, m.Scope(), m.ID, m.Request)
		if errors.Is(err, pg.ErrNotFound) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		b, causes := &pgx.Batch{}, pg.Causes{}
		for _, data := range make(&c, b) {
			if err := events.Queue(b, c.entry(data, m, "workflow:"+m.WorkflowID), causes); err != nil {
				return err
			}
		}
		if b.Len() > 0 {
			if err := settle.Commit(ctx, s.store, b); err != nil {
				return err
			}
		}
		out, err = s.outcomeOf(ctx, c, m.At)
		return err
	})
	return out, err
}

// outcomeOf returns the state of a hold as an Outcome.
func (s *Service) outcomeOf(ctx context.Context, c Case, at time.Time) (Outcome, error) {
	tally, err := s.tally(ctx, c, at)
	out := pendingOutcome(c.Hold, c.Teams, tally.Given)
	if err != nil || c.ChildAuthorizationID == nil {
		return out, err
	}
	out.Authorization = *c.ChildAuthorizationID
	effect, err := settle.EffectOfDecision(ctx, s.store.Q, c.EnvironmentID, out.Authorization)
	out.Decision = policy.Effect(effect)
	return out, err
}

// pendingOutcome returns the state of a hold without a follow-up decision.
func pendingOutcome(h models.Hold, teams []models.HoldTeam, given int) Outcome {
	out := Outcome{Status: h.Status, Approvals: given, Required: h.ApprovalsRequired, DueAt: h.DueAt.UTC(), EscalateAt: escalateAt(h, teams)}
	if h.RemindedAt == nil {
		out.RemindAt = h.RemindAt.UTC()
	}
	return out
}

// escalateAt returns when the next escalation of a pending hold is due; zero if there is none before the hold is due, because one at
// the deadline would wake the workflow for nothing.
func escalateAt(h models.Hold, teams []models.HoldTeam) (next time.Time) {
	for _, t := range teams {
		if h.Status == models.HoldPending && t.EscalatedAt == nil && t.EscalateAt != nil && t.EscalateAt.Before(h.DueAt) &&
			(next.IsZero() || t.EscalateAt.Before(next)) {
			next = t.EscalateAt.UTC()
		}
	}
	return next
}

// scope returns the scope of the hold.
func (c Case) scope() pg.Scope { return pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID} }

// requester returns the actor who requested the held decision.
func (c Case) requester() string { return "credential:" + c.CredentialID }

// entry returns an event about the hold.
func (c Case) entry(data events.Data, m Move, actor string) events.Entry {
	return events.Entry{
		Scope: c.scope(), Data: data, At: m.At, SubjectUID: c.SubjectUID, Subject: c.Subject, Action: c.ActionKey, AuthorizationID: c.AuthorizationID,
		Decision: c.Decision, Actor: actor, WorkflowID: m.WorkflowID,
	}
}
