package hold

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The states of a hold and the moves between them:
//
//	pending --- Review (approve, the last one required) ---> approved, with a follow-up decision
//	pending --- Review (break_glass) ----------------------> approved, with a follow-up decision and an after-review
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
	BreakGlass    bool              `json:"BreakGlass,omitzero"` // approved by one person alone
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
		if err := c.refuseSettled(status, r.Move); err != nil {
			return Outcome{}, err
		}
		return s.outcomeOf(ctx, c, m.At)
	}
	behind, err := identity.ActorsBehind(ctx, s.store.Q, c.scope(), r.Actor, c.requester())
	if err != nil {
		return Outcome{}, err
	}
	v := review{Service: s, Case: c, move: m, requester: behind[c.requester()], vote: models.Review{
		AuthorizationID: m.ID, EnvironmentID: m.Environment, Reviewer: r.Actor, Step: r.Step, Principal: behind[r.Actor].Principal,
		Resolution: r.Move, NoteDigest: r.NoteDigest, At: m.At,
	}}
	if err := pg.Sign(ctx, s.store.Q, &v.vote); err != nil {
		return Outcome{}, err
	}
	if v.digest, err = pg.RecordDigest(v.vote); err != nil {
		return Outcome{}, err
	}
	switch r.Move {
	case Reject:
		return v.reject(ctx)
	case BreakGlass:
		return v.breakGlass(ctx)
	default:
		return v.approve(ctx)
	}
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
	ending, err := endingOf(ctx, v.store.Q, v.Hold, v.move.At)
	if err != nil {
		return Outcome{}, err
	}
	queueResolve(b, v.Hold, resolution{to: models.HoldRejected, by: v.vote.Reviewer, at: v.move.At, ending: ending})
	aggregate.QueueRelease(b, v.EnvironmentID, v.move.At, v.move.ID)
	queueToRequester(b, v.Hold, models.NoticeSettled, v.move.At)
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
	if err := events.Queue(b, v.entry(events.HoldRejectedData{ResolvedBy: v.vote.Reviewer, Outcome: outcome, Step: v.stepName(v.vote.Step), RecordDigest: v.digest}), pg.Causes{}); err != nil {
		return Outcome{}, err
	}
	return Outcome{Status: models.HoldRejected}, settle.Commit(ctx, v.store, b)
}

// approve counts the approval with those of other reviewers in good standing. The last one required resolves the hold and makes the follow-up
// decision, which may be a denial.
func (v *review) approve(ctx context.Context) (Outcome, error) {
	if err := v.verify(ctx, v.store.Q); err != nil {
		return Outcome{}, err
	}
	given, err := approversWith(ctx, v.store.Q, v.scope(), v.vote)
	if err != nil {
		return Outcome{}, err
	}
	tally, err := v.tallyWith(ctx, given)
	if err != nil {
		return Outcome{}, err
	}
	if tally.Given < v.ApprovalsRequired {
		return v.record(ctx, tally)
	}
	if err := checkCounted(ctx, v.store.Q, given); err != nil {
		return Outcome{}, err
	}
	selfReviewed := slices.ContainsFunc(given, func(a Approver) bool { return v.requester.SamePrincipal(identity.Behind{Principal: a.Principal}) })
	out, err := v.followUp(ctx, settled{
		data: events.HoldApprovedData{SelfReviewed: onlyTrue(selfReviewed), Approvals: &tally.Given},
		queue: func(b *pgx.Batch) error {
			if len(v.Steps) > 0 {
				queueSatisfied(b, v.Steps[v.vote.Step], v.move.At)
			}
			return nil
		},
	})
	out.Approvals = tally.Given
	return out, err
}

// settled is how an approval settles the hold: what its event says besides, and further statements.
type settled struct {
	data  events.HoldApprovedData
	queue func(b *pgx.Batch) error
}

// followUp approves the hold and makes the follow-up decision.
func (v *review) followUp(ctx context.Context, by settled) (Outcome, error) {
	selfReviewed, broken := by.data.SelfReviewed != nil, by.data.BreakGlass != nil
	followUp, err := v.decide(ctx, v.store.Q, settle.FollowUp{
		Scope: v.scope(), Parent: v.move.ID, HoldApproved: true, BreakGlass: broken, At: v.move.At, Actor: v.vote.Reviewer, RequestID: v.Request.RequestID,
		WorkflowID: v.move.WorkflowID,
		Cause: func(followUp models.Authorization) events.Entry {
			by.data.ResolvedBy, by.data.Step, by.data.RecordDigest = v.vote.Reviewer, v.stepName(v.vote.Step), v.digest
			by.data.ChildAuthorization, by.data.ChildDecision = followUp.ID, followUp.Decision
			return v.entry(by.data)
		},
		Settle: func(b *pgx.Batch, followUp models.Authorization, response []byte) error {
			ending, err := endingOf(ctx, v.store.Q, v.Hold, v.move.At)
			if err != nil {
				return err
			}
			queueResolve(b, v.Hold, resolution{to: models.HoldApproved, by: v.vote.Reviewer, at: v.move.At, child: &followUp.ID, ending: ending})
			queueSameReviews(b, v.Case)
			queueToRequester(b, v.Hold, models.NoticeSettled, v.move.At)
			if err := by.queue(b); err != nil {
				return err
			}
			receipt, err := json.Marshal(approvedReceipt{
				Authorization: v.move.ID, Resolution: Approve, Decision: proof.Remove(response), SelfReviewed: selfReviewed, BreakGlass: broken,
			})
			v.queueVote(b, receipt)
			return err
		},
	})
	return Outcome{
		Status: models.HoldApproved, Authorization: followUp.ID, Decision: policy.Effect(followUp.Decision), Required: v.ApprovalsRequired,
	}, err
}

// tallyWith counts the approvals, the vote included. It refuses a vote for a step that was not open before it, unless it is recorded already.
func (v review) tallyWith(ctx context.Context, given []Approver) (Tally, error) {
	b, err := ballotOf(ctx, v.store.Q, v.Case, v.move.At)
	if err != nil {
		return Tally{}, err
	}
	if b.requiresTeams() {
		if b.membership, err = membersOf(ctx, v.store.Q, v.scope(), v.move.At, actorsOf(given), v.Teams...); err != nil {
			return Tally{}, err
		}
	}
	before := slices.DeleteFunc(slices.Clone(given), func(a Approver) bool { return a.Reviewer == v.vote.Reviewer && a.Step == v.vote.Step })
	if _, open := b.open(before); len(v.Steps) > 0 && open != v.vote.Step && !slices.ContainsFunc(v.Reviews, v.repeats) {
		return Tally{}, notOpen(v.stepName(min(open, len(v.Steps)-1)))
	}
	return b.count(given), nil
}

// record records an approval after which more are required, and opens the next step if it was the last one of its step. A worker that lost the
// result of its review makes it again, and it is there.
func (v *review) record(ctx context.Context, t Tally) (Outcome, error) {
	b := &pgx.Batch{}
	queuePending(b, v.Hold, v.move.At)
	queueSameReviews(b, v.Case)
	if !slices.ContainsFunc(v.Reviews, v.repeats) {
		v.queueVote(b, nil)
		data := []events.Data{events.HoldReviewedData{
			Approvals: t.Given, ApprovalsRequired: v.ApprovalsRequired, Step: v.stepName(v.vote.Step), RecordDigest: v.digest,
		}}
		if t.Open > v.vote.Step {
			further, err := v.openNext(ctx, b, t)
			if err != nil {
				return Outcome{}, err
			}
			data = append(data, further...)
		}
		for _, d := range data {
			if err := events.Queue(b, v.entry(d), pg.Causes{}); err != nil {
				return Outcome{}, err
			}
		}
	}
	return pendingOutcome(v.Case, t.Given), settle.Commit(ctx, v.store, b)
}

// openNext adds the end of the step of the vote, and the opening of the one that waits for approvals now unless it is open. From then on the hold
// expires with that step.
func (v *review) openNext(ctx context.Context, b *pgx.Batch, t Tally) ([]events.Data, error) {
	done, next := v.Steps[v.vote.Step], &v.Steps[t.Open]
	queueSatisfied(b, done, v.move.At)
	data := []events.Data{events.HoldStepApprovedData{Step: done.Name, Approvals: t.Given, ApprovalsRequired: v.ApprovalsRequired}}
	if next.OpenedAt != nil {
		return data, nil
	}
	calendar, err := v.calendar(ctx, v.store.Q)
	if err != nil {
		return nil, err
	}
	due := pg.StepDue(*next, v.move.At, *v.EndsAt, calendar)
	next.OpenedAt, next.DueAt, v.DueAt = &v.move.At, &due, pg.HoldDue(*next, due, *v.EndsAt)
	v.fixEscalations(next.Step, calendar)
	if err := errors.Join(FixApprovers(ctx, v.store.Q, v.Hold, v.Teams, next.Step), pg.Sign(ctx, v.store.Q, next), pg.Sign(ctx, v.store.Q, &v.Hold)); err != nil {
		return nil, err
	}
	queueOpen(b, v.Hold, *next)
	for _, t := range v.Teams {
		if t.Step != next.Step || t.NamedBy() == "" && t.EscalateAt == nil {
			continue
		}
		if err := pg.Sign(ctx, v.store.Q, &t); err != nil {
			return nil, err
		}
		queueFixed(b, t)
	}
	events.QueueOutbox(b, NoticeOf(v.Hold, models.NoticeOpened, v.move.At))
	queueToRequester(b, v.Hold, models.NoticeNextStep, v.move.At)
	return append(data, events.HoldStepOpenedData{
		Step: next.Name, DueAt: apitime.Time(v.DueAt), StepDueAt: apitime.Time(due), RiskClass: v.RiskClass, Approvers: models.FixedOf(v.Teams, next.Step),
		Escalations: models.EscalationsOf(v.Teams, next.Step),
	}), nil
}

// calendar returns the calendar by which the hold's times count now; nil for all hours.
func (c Case) calendar(ctx context.Context, q *pg.Q) (*localtime.Calendar, error) {
	if !c.WorkingHours {
		return nil, nil
	}
	env, err := tenancy.GetEnvironment(ctx, q, c.scope())
	return tenancy.Calendar(env.Settings), err
}

// fixEscalations fixes when the teams of a step of working hours escalate, as the step opens: a later calendar does not move it. Escalations that count
// all hours follow from the opening.
func (c Case) fixEscalations(step int, by *localtime.Calendar) {
	for i, t := range c.Teams {
		if c.WorkingHours && t.Step == step && t.EscalateAfter != nil {
			at := by.After(*c.Steps[step].OpenedAt, time.Duration(*t.EscalateAfter)*time.Second)
			c.Teams[i].EscalateAt = &at
		}
	}
}

// repeats reports whether the vote is an earlier review again.
func (v review) repeats(before models.Review) bool {
	return before.Reviewer == v.vote.Reviewer && before.Step == v.vote.Step && before.Resolution == v.vote.Resolution && before.Principal == v.vote.Principal &&
		optional(before.NoteDigest) == optional(v.vote.NoteDigest)
}

// queueVote adds the record of the review, unless it was withdrawn or the principal of its reviewer is another by now.
func (v review) queueVote(b *pgx.Batch, receipt []byte) {
	identity.QueueSamePrincipal(b, v.scope(), v.vote.Reviewer, v.vote.Principal)
	queueRequested(b, *v.Request)
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
			at := c.escalatesAt(t)
			if Effective(c.Hold, m.At) != models.HoldPending || t.EscalatedAt != nil || at == nil || m.At.Before(*at) {
				continue
			}
			if len(data) == 0 {
				queuePending(b, c.Hold, m.At)
				events.QueueOutbox(b, NoticeOf(c.Hold, models.NoticeEscalated, m.At))
			}
			queueEscalate(b, t, m.At)
			c.Teams[i].EscalatedAt = &m.At
			data = append(data, events.HoldEscalatedData{
				Team: t.Team, EscalatedTo: *t.EscalateTeam, Step: c.stepName(t.Step), DueAt: apitime.Time(c.DueAt), RiskClass: c.RiskClass,
			})
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
		queueExpire(b, c.Hold, m.At, c.ending)
		aggregate.QueueRelease(b, c.EnvironmentID, m.At, m.ID)
		queueToRequester(b, c.Hold, models.NoticeSettled, m.At)
		c.Status = models.HoldExpired
		return []events.Data{events.HoldExpiredData{OpenedAt: apitime.Time(c.OpenedAt), DueAt: apitime.Time(c.DueAt)}}
	})
}

// byTime makes a move that time causes. move adds its statements and changes the case accordingly; without events there is nothing to do.
func (s *Service) byTime(ctx context.Context, m Move, move func(c *Case, b *pgx.Batch) []events.Data) (out Outcome, err error) {
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, m.Scope(), m.ID, m.Request)
		if errors.Is(err, pg.ErrNotFound) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		if c.ending, err = endingOf(ctx, s.store.Q, c.Hold, m.At); err != nil {
			return err
		}
		b, causes := &pgx.Batch{}, pg.Causes{}
		for _, data := range move(&c, b) {
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
	out := pendingOutcome(c, tally.Given)
	if err != nil || c.ChildAuthorizationID == nil {
		return out, err
	}
	out.Authorization = *c.ChildAuthorizationID
	effect, err := settle.EffectOfDecision(ctx, s.store.Q, c.EnvironmentID, out.Authorization)
	out.Decision = policy.Effect(effect)
	return out, err
}

// pendingOutcome returns the state of a hold without a follow-up decision.
func pendingOutcome(c Case, given int) Outcome {
	out := Outcome{Status: c.Status, Approvals: given, Required: c.ApprovalsRequired, DueAt: c.DueAt.UTC(), EscalateAt: escalateAt(c)}
	if c.RemindedAt == nil {
		out.RemindAt = c.RemindAt.UTC()
	}
	return out
}

// escalateAt returns when the next escalation of a pending hold is due; zero if there is none before the hold is due, because one at
// the deadline would wake the workflow for nothing.
func escalateAt(c Case) (next time.Time) {
	for _, t := range c.Teams {
		if at := c.escalatesAt(t); c.Status == models.HoldPending && t.EscalatedAt == nil && at != nil && at.Before(c.DueAt) &&
			(next.IsZero() || at.Before(next)) {
			next = at.UTC()
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
