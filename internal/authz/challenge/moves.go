package challenge

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/followup"
	"github.com/countersign-dev/countersign/internal/authz/policy"
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

// Move is a request for one move of one challenge. Every move is safe to repeat.
type Move struct {
	ID          string
	Environment string
	Request     []byte // digest of the stored request; empty for an expiry
	At          time.Time
	WorkflowID  string
}

// Outcome is the state of a challenge after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status        models.ChallengeStatus `json:"Status"`
	Authorization string                 `json:"Authorization"` // the follow-up decision of a completion
	Decision      policy.Effect          `json:"Decision"`      // its effect
	ExpiresAt     time.Time              `json:"ExpiresAt"`     // zero unless a move found the challenge as it was
}

// Gone is the status of a challenge that was erased with its subject.
const Gone models.ChallengeStatus = "gone"

// Complete completes the challenge with a verified request and makes the follow-up decision, in one transaction.
func (s *Service) Complete(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		r, err := GetMove(ctx, q, m.Environment, m.ID, m.Request)
		if notFound(err) || (err == nil && (r.Method == nil || r.Move != moveComplete)) {
			return problem.New(problem.Conflict, "No verified request has this digest.")
		}
		if err != nil {
			return err
		}
		// The UPDATE names the status open and the time, so that exactly one of several moves succeeds.
		moved, err := completeChallenge(ctx, q, m.Environment, m.ID, Completion{
			Method: *r.Method, Strength: strength(*r.Method), Digest: m.Request, At: m.At,
		})
		if err != nil {
			return err
		}
		if !moved {
			out, err = repeatOrRefuse(ctx, q, m, models.ChallengeCompleted)
			return err
		}
		out, err = s.completed(ctx, q, m, r)
		return err
	})
	return out, err
}

// completed applies the consequences of a completion: the passkey's counter, the event and the follow-up decision.
func (s *Service) completed(ctx context.Context, q *pg.Q, m Move, r models.MoveRequest) (Outcome, error) {
	if err := useAssertion(ctx, q, r, m.At); err != nil {
		return Outcome{}, err
	}
	c, err := readCase(ctx, q, m.Environment, m.ID)
	if err != nil {
		return Outcome{}, err
	}
	followUp, _, err := s.decide(ctx, q, followup.Request{
		Parent: c.Parent, ChallengeMethod: *r.Method, At: m.At, Actor: r.Actor, RequestID: r.RequestID, WorkflowID: m.WorkflowID,
		Cause: func(followUp models.Authorization) events.Entry {
			e := entryOf(c, m.At, r.Actor)
			e.RequestID, e.WorkflowID = r.RequestID, m.WorkflowID
			e.Data = events.ChallengeCompletedData{
				Challenge: m.ID, Method: *r.Method, Strength: strength(*r.Method),
				ChildAuthorization: followUp.ID, ChildDecision: followUp.Decision,
			}
			return e
		},
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Status: models.ChallengeCompleted, Authorization: followUp.ID, Decision: policy.Effect(followUp.Decision)}
	return out, setChallengeFollowUp(ctx, q, m.Environment, m.ID, followUp.ID)
}

// useAssertion marks the verified assertion as used. It is refused if, since the verification, the passkey was revoked or its
// counter was reached by a different assertion.
func useAssertion(ctx context.Context, q *pg.Q, r models.MoveRequest, at time.Time) error {
	if r.PasskeyID == nil {
		return nil
	}
	ok, err := SpendAssertion(ctx, q, r, at)
	if err == nil && !ok {
		return problem.New(problem.AssertionRefused, "The passkey was revoked, or its counter used, since the assertion was verified.")
	}
	return err
}

// Cancel cancels the challenge.
func (s *Service) Cancel(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		r, err := GetMove(ctx, q, m.Environment, m.ID, m.Request)
		if notFound(err) {
			return problem.New(problem.Conflict, "No request has this digest.")
		}
		if err != nil {
			return err
		}
		moved, err := CancelChallenge(ctx, q, m.Environment, m.ID, m.At)
		if err != nil {
			return err
		}
		if !moved {
			out, err = repeatOrRefuse(ctx, q, m, models.ChallengeCancelled)
			return err
		}
		c, err := readCase(ctx, q, m.Environment, m.ID)
		if err != nil {
			return err
		}
		e := entryOf(c, m.At, r.Actor)
		e.RequestID, e.WorkflowID = r.RequestID, m.WorkflowID
		e.Data = events.ChallengeCancelledData{Challenge: m.ID}
		out = Outcome{Status: models.ChallengeCancelled}
		if err := aggregate.Release(ctx, q, m.Environment, m.At, c.Parent.ID); err != nil {
			return err
		}
		return events.Append(ctx, q, e)
	})
	return out, err
}

// Expire expires an open challenge that is due, and returns the state of the challenge in any case.
func (s *Service) Expire(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		moved, err := expireChallenge(ctx, q, m.Environment, m.ID, m.At)
		if err != nil {
			return err
		}
		c, err := readCase(ctx, q, m.Environment, m.ID)
		if notFound(err) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		if out, err = outcomeOf(ctx, q, c.Challenge); err != nil || !moved {
			return err
		}
		e := entryOf(c, m.At, "workflow:"+m.WorkflowID)
		e.WorkflowID = m.WorkflowID
		e.Data = events.ChallengeExpiredData{Challenge: m.ID, ExpiresAt: apitime.Time(c.Challenge.ExpiresAt)}
		if err := aggregate.Release(ctx, q, m.Environment, m.At, c.Parent.ID); err != nil {
			return err
		}
		return events.Append(ctx, q, e)
	})
	return out, err
}

// repeatOrRefuse handles a move that found the challenge in a different state. It returns the outcome if the same request made the
// move already, and a refusal otherwise.
func repeatOrRefuse(ctx context.Context, q *pg.Q, m Move, target models.ChallengeStatus) (Outcome, error) {
	c, err := readCase(ctx, q, m.Environment, m.ID)
	if notFound(err) {
		return Outcome{}, problem.NewNotFound()
	}
	if err != nil {
		return Outcome{}, err
	}
	same := target == models.ChallengeCancelled || bytes.Equal(c.Challenge.CompletionHash, m.Request)
	if c.Challenge.Status == target && same {
		return outcomeOf(ctx, q, c.Challenge)
	}
	if err := refuseSettled(Effective(c.Challenge, m.At)); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, problem.New(problem.MethodNotOffered, "The challenge does not offer this method.")
}

// outcomeOf returns the state of a challenge as an Outcome.
func outcomeOf(ctx context.Context, q *pg.Q, c models.Challenge) (Outcome, error) {
	out := Outcome{Status: c.Status, ExpiresAt: c.ExpiresAt.UTC()}
	if c.ChildAuthorizationID == nil {
		return out, nil
	}
	out.Authorization = *c.ChildAuthorizationID
	effect, err := EffectOfDecision(ctx, q, c.EnvironmentID, out.Authorization)
	out.Decision = policy.Effect(effect)
	return out, err
}

// entryOf returns an event about the challenge.
func entryOf(c Case, at time.Time, actor string) events.Entry {
	return events.Entry{
		Scope: pg.Scope{Tenant: c.Challenge.TenantID, Environment: c.Challenge.EnvironmentID}, At: at,
		SubjectUID: c.Challenge.SubjectUID, Subject: c.Subject, Action: c.Parent.ActionKey,
		AuthorizationID: c.Parent.ID, Decision: c.Parent.Decision, Actor: actor,
	}
}

// notFound reports whether a row does not exist.
func notFound(err error) bool { return errors.Is(err, pg.ErrNotFound) }
