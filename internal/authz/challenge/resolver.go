package challenge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Workflow serialises the moves of a challenge (workflows.Client). Its errors are problems, or durable.ErrClosed.
type Workflow interface {
	CompleteChallenge(ctx context.Context, in WorkflowInput, request string) (Outcome, error)
	CancelChallenge(ctx context.Context, in WorkflowInput, request string) (Outcome, error)
	RestartChallenge(ctx context.Context, in WorkflowInput) error
}

// Resolver completes and cancels challenges for the API and the challenge page.
type Resolver struct {
	challenges *Service
	workflow   Workflow
}

// NewResolver returns a Resolver.
func NewResolver(challenges *Service, workflow Workflow) *Resolver {
	return &Resolver{challenges: challenges, workflow: workflow}
}

// Complete verifies the assertion and completes the challenge on behalf of the principal. Repeating the request that
// completed the challenge returns the same receipt.
func (r *Resolver) Complete(ctx context.Context, p identity.Principal, id, method string, assertion json.RawMessage) (*Receipt, error) {
	prepared, err := r.challenges.PrepareCompletion(ctx, p, id, method, assertion)
	if err != nil || prepared.Receipt != nil {
		return prepared.Receipt, err
	}
	_, moveErr := r.workflow.CompleteChallenge(ctx, prepared.Workflow, prepared.Request)
	if moveErr != nil && !recordDecides(moveErr) {
		return nil, moveErr
	}
	// The receipt is read from the database: it is there if this request completed the challenge, now or by an earlier attempt.
	receipt, err := r.challenges.Receipt(ctx, p.Store(), id, prepared.Request)
	if err != nil || receipt != nil {
		return receipt, err
	}
	_, err = r.settled(ctx, p, prepared.Workflow, moveErr)
	return nil, err
}

// Cancel cancels the challenge on behalf of the principal and returns its status. Cancelling a challenge that is cancelled
// already succeeds, so that a retry is safe.
func (r *Resolver) Cancel(ctx context.Context, p identity.Principal, id string) (models.ChallengeStatus, error) {
	prepared, err := r.challenges.PrepareCancel(ctx, p, id)
	if problem.Is(err, problem.ChallengeClosed) {
		status, err := r.challenges.settledOtherwise(ctx, p.Store(), id, false)
		return cancelled(status, err)
	}
	if err != nil {
		return "", err
	}
	_, moveErr := r.workflow.CancelChallenge(ctx, prepared.Workflow, prepared.Request)
	if moveErr != nil && !recordDecides(moveErr) {
		return "", moveErr
	}
	return cancelled(r.settled(ctx, p, prepared.Workflow, moveErr))
}

// settled is settledOtherwise after a move with this result. A challenge that is open although its run has closed receives a new run, and
// the caller repeats the request.
func (r *Resolver) settled(ctx context.Context, p identity.Principal, in WorkflowInput, moveErr error) (models.ChallengeStatus, error) {
	closed := durable.HasClosed(moveErr)
	status, err := r.challenges.settledOtherwise(ctx, p.Store(), in.Challenge, closed)
	if closed && status == models.ChallengeOpen {
		if err := r.workflow.RestartChallenge(ctx, in); err != nil {
			return status, err
		}
	}
	return status, err
}

// cancelled returns the status of a challenge that is cancelled, and the refusal for any other.
func cancelled(status models.ChallengeStatus, err error) (models.ChallengeStatus, error) {
	if status == models.ChallengeCancelled {
		return status, nil
	}
	return "", err
}

// recordDecides reports whether the database, and not the workflow's error, says what became of the request: this very
// request may have settled the challenge in a step whose result the workflow lost.
func recordDecides(err error) bool {
	return errors.Is(err, durable.ErrClosed) || problem.Is(err, problem.ChallengeClosed) || problem.Is(err, problem.ChallengeExpired)
}
