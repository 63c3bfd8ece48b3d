package challenge

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/settle"
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
	return resolution(r, prepared, func(ctx context.Context, closed bool) (*Receipt, error) {
		// The receipt is there if this request completed the challenge, now or by an earlier attempt.
		return r.challenges.receiptAfter(ctx, p.Store(), id, prepared.Request, closed)
	}).After(ctx, moveErr)
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
	return resolution(r, prepared, func(ctx context.Context, closed bool) (models.ChallengeStatus, error) {
		return cancelled(r.challenges.settledOtherwise(ctx, p.Store(), id, closed))
	}).After(ctx, moveErr)
}

// resolution returns how the outcome of a prepared move is found.
func resolution[T any](r *Resolver, prepared Prepared, record func(ctx context.Context, closed bool) (T, error)) settle.Resolution[T] {
	return settle.Resolution[T]{
		Decides: []problem.Code{problem.ChallengeClosed, problem.ChallengeExpired}, Record: record,
		Restart: func(ctx context.Context) error { return r.workflow.RestartChallenge(ctx, prepared.Workflow) },
	}
}

// cancelled returns the status of a challenge that is cancelled, and the refusal for any other.
func cancelled(status models.ChallengeStatus, err error) (models.ChallengeStatus, error) {
	if status == models.ChallengeCancelled {
		return status, nil
	}
	return "", err
}
