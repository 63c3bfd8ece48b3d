package challenge

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The states of a challenge and the moves between them:
//
//	open --- Complete (a verified request) ----------> completed, with a follow-up decision
//	open --- Cancel ---------------------------------> cancelled
//	open --- Expire (at ExpiresAt) ------------------> expired
//	open --- PrepareCompletion (the fifth refusal) --> failed
//
// The last four states are final. A recovery cancels open challenges without the workflow, which is then signaled. An erasure
// of the subject removes the row in any state (Gone).

// Move is a request for one move of one challenge.
type Move = settle.Move

// Outcome is the state of a challenge after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status        models.ChallengeStatus `json:"Status"`
	Authorization string                 `json:"Authorization"`      // the follow-up decision of a completion
	Decision      policy.Effect          `json:"Decision"`           // its effect
	ExpiresAt     time.Time              `json:"ExpiresAt,omitzero"` // zero unless a move found the challenge as it was
}

// Gone is the status of a challenge that was erased with its subject.
const Gone models.ChallengeStatus = "gone"

// Complete completes the challenge with a verified request and makes the follow-up decision.
func (s *Service) Complete(ctx context.Context, m Move) (Outcome, error) {
	return s.byRequest(ctx, m, models.ChallengeCompleted, s.complete)
}

// Cancel cancels the challenge.
func (s *Service) Cancel(ctx context.Context, m Move) (Outcome, error) {
	return s.byRequest(ctx, m, models.ChallengeCancelled, s.cancel)
}

// byRequest makes the move of an open challenge that its stored request asks for. Of a settled challenge it returns the outcome if the same
// request made the move already, and a refusal otherwise.
func (s *Service) byRequest(ctx context.Context, m Move, to models.ChallengeStatus, move func(context.Context, Move, Case) (Outcome, error)) (out Outcome, err error) {
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, m.Scope(), m.ID, m.Request)
		if notFound(err) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if c.Request == nil || moveTo[c.Request.Move] != to {
			return problem.New(problem.Conflict, "No verified request has this digest.")
		}
		if c.Status == to && (to == models.ChallengeCancelled || bytes.Equal(c.CompletionHash, m.Request)) {
			out, err = s.outcomeOf(ctx, c.Challenge)
			return err
		}
		if err := refuseSettled(Effective(c.Challenge, m.At)); err != nil {
			return err
		}
		out, err = move(ctx, m, c)
		return err
	})
	return out, err
}

// moveTo has the status that each move leads to.
var moveTo = map[string]models.ChallengeStatus{moveComplete: models.ChallengeCompleted, moveCancel: models.ChallengeCancelled}

// complete settles an open challenge with the follow-up decision, and raises the counter of the passkey.
func (s *Service) complete(ctx context.Context, m Move, c Case) (Outcome, error) {
	r := *c.Request
	if err := pg.Verify(ctx, s.store.Q, c.Challenge); err != nil {
		return Outcome{}, err
	}
	if err := offered(c.Challenge, *r.Method); err != nil {
		return Outcome{}, err
	}
	if r.PasskeyID != nil {
		ok, err := isSpendable(ctx, s.store.Q, r)
		if err == nil && !ok {
			err = problem.New(problem.AssertionRefused, "The passkey was revoked, or its counter used, since the assertion was verified.")
		}
		if err != nil {
			return Outcome{}, err
		}
	}
	followUp, err := s.decide(ctx, s.store.Q, settle.FollowUp{
		Scope: c.scope(), Parent: c.AuthorizationID, ChallengeMethod: *r.Method, Passkey: r.PasskeyID, At: m.At, Actor: r.Actor, RequestID: r.RequestID, WorkflowID: m.WorkflowID,
		Cause: func(followUp models.Authorization) events.Entry {
			return c.entryOf(m, r, events.ChallengeCompletedData{
				Challenge: m.ID, Method: *r.Method, Strength: strength(*r.Method),
				ChildAuthorization: followUp.ID, ChildDecision: followUp.Decision,
			})
		},
		Settle: func(b *pgx.Batch, followUp models.Authorization, _ []byte) error {
			ending, err := endingOf(ctx, s.store.Q, c.Challenge, m.At)
			queueComplete(b, c.Challenge, completion{*r.Method, strength(*r.Method), m.Request, m.At, followUp.ID, ending})
			if r.PasskeyID != nil {
				QueueSpend(b, r, m.At)
			}
			return err
		},
	})
	return Outcome{Status: models.ChallengeCompleted, Authorization: followUp.ID, Decision: policy.Effect(followUp.Decision)}, err
}

// cancel settles an open challenge.
func (s *Service) cancel(ctx context.Context, m Move, c Case) (Outcome, error) {
	ending, err := endingOf(ctx, s.store.Q, c.Challenge, m.At)
	if err != nil {
		return Outcome{}, err
	}
	b := &pgx.Batch{}
	queueCancel(b, c.Challenge, m.At, ending)
	if err := events.Queue(b, c.entryOf(m, *c.Request, events.ChallengeCancelledData{Challenge: m.ID}), pg.Causes{}); err != nil {
		return Outcome{}, err
	}
	aggregate.QueueRelease(b, c.EnvironmentID, m.At, c.AuthorizationID)
	return Outcome{Status: models.ChallengeCancelled}, settle.Commit(ctx, s.store, b)
}

// Expire expires an open challenge that is due, and returns the state of the challenge in any case.
func (s *Service) Expire(ctx context.Context, m Move) (out Outcome, err error) {
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, m.Scope(), m.ID, m.Request)
		if notFound(err) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		if c.Status != models.ChallengeOpen || m.At.Before(c.ExpiresAt) {
			out, err = s.outcomeOf(ctx, c.Challenge)
			return err
		}
		ending, err := endingOf(ctx, s.store.Q, c.Challenge, m.At)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		queueExpire(b, c.Challenge, m.At, ending)
		aggregate.QueueRelease(b, c.EnvironmentID, m.At, c.AuthorizationID)
		e := c.entryOf(m, models.MoveRequest{Actor: "workflow:" + m.WorkflowID}, events.ChallengeExpiredData{Challenge: m.ID, ExpiresAt: apitime.Time(c.ExpiresAt)})
		if err := events.Queue(b, e, pg.Causes{}); err != nil {
			return err
		}
		out = Outcome{Status: models.ChallengeExpired, ExpiresAt: c.ExpiresAt.UTC()}
		return settle.Commit(ctx, s.store, b)
	})
	return out, err
}

func (s *Service) outcomeOf(ctx context.Context, c models.Challenge) (Outcome, error) {
	out := Outcome{Status: c.Status, ExpiresAt: c.ExpiresAt.UTC()}
	if c.ChildAuthorizationID == nil {
		return out, nil
	}
	out.Authorization = *c.ChildAuthorizationID
	effect, err := settle.EffectOfDecision(ctx, s.store.Q, c.EnvironmentID, out.Authorization)
	out.Decision = policy.Effect(effect)
	return out, err
}

func (c Case) scope() pg.Scope { return pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID} }

// entry returns an event about the challenge.
func (c Case) entry(at time.Time, actor string, data events.Data) events.Entry {
	return events.Entry{
		Scope: c.scope(), At: at, SubjectUID: c.SubjectUID, Subject: c.Subject, Action: c.ActionKey,
		AuthorizationID: c.AuthorizationID, Decision: c.Decision, Actor: actor, Data: data,
	}
}

func (c Case) entryOf(m Move, r models.MoveRequest, data events.Data) events.Entry {
	e := c.entry(m.At, r.Actor, data)
	e.RequestID, e.WorkflowID = r.RequestID, m.WorkflowID
	return e
}

// notFound reports whether a row does not exist.
func notFound(err error) bool { return errors.Is(err, pg.ErrNotFound) }
