package workflows

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// StartChallenge starts the workflow of a challenge unless it exists.
func (c *Client) StartChallenge(ctx context.Context, r challenge.WorkflowInput) error {
	return c.start(ctx, challenges.start(r))
}

// RestartChallenge starts another workflow run of an open challenge whose run has closed.
func (c *Client) RestartChallenge(ctx context.Context, r challenge.WorkflowInput) error {
	return c.restart(ctx, challenges.start(r))
}

// CompleteChallenge completes the challenge with the prepared request.
func (c *Client) CompleteChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return c.moveChallenge(ctx, r, UpdateComplete, request)
}

// CancelChallenge cancels the challenge with the prepared request.
func (c *Client) CancelChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return c.moveChallenge(ctx, r, UpdateCancel, request)
}

// moveChallenge sends an update to the workflow of a challenge. The update id covers the whole request.
func (c *Client) moveChallenge(ctx context.Context, r challenge.WorkflowInput, name, request string) (challenge.Outcome, error) {
	var out challenge.Outcome
	err := c.updateWithStart(ctx, challenges.start(r),
		update{id: name + ":" + request, name: name, arg: MoveRequest{Request: request}}, &out)
	return out, err
}

// SettleChallenge signals the workflow of a challenge, if it runs, that the record was settled outside the workflow.
func (c *Client) SettleChallenge(ctx context.Context, id string) error {
	return c.signal(ctx, ChallengeID(id), SignalSettled)
}

// StartHold starts the workflow of a hold unless it exists.
func (c *Client) StartHold(ctx context.Context, r hold.WorkflowInput) error {
	return c.start(ctx, holds.start(r))
}

// RestartHold starts another workflow run of a pending hold whose run has closed.
func (c *Client) RestartHold(ctx context.Context, r hold.WorkflowInput) error {
	return c.restart(ctx, holds.start(r))
}

// ReviewHold approves or rejects the hold with the prepared review.
func (c *Client) ReviewHold(ctx context.Context, r hold.WorkflowInput, resolution, request string) (hold.Outcome, error) {
	var out hold.Outcome
	err := c.updateWithStart(ctx, holds.start(r),
		update{id: UpdateReview + ":" + request, name: UpdateReview, arg: MoveRequest{Request: request, Resolution: resolution}}, &out)
	return out, err
}

// SettleHold signals the workflow of a hold, if it runs, that the record was settled outside the workflow.
func (c *Client) SettleHold(ctx context.Context, authorization string) error {
	return c.signal(ctx, HoldID(authorization), SignalSettled)
}

// StartChange starts the workflow of a change request unless it exists.
func (c *Client) StartChange(ctx context.Context, r change.WorkflowInput) error {
	return c.start(ctx, changes.start(r))
}

// RestartChange starts another workflow run of a pending change request whose run has closed.
func (c *Client) RestartChange(ctx context.Context, r change.WorkflowInput) error {
	return c.restart(ctx, changes.start(r))
}

// DecideChange settles the change request. The record makes a repeated decision safe, so the update id covers one request only:
// a refusal is not returned to a later request.
func (c *Client) DecideChange(ctx context.Context, r change.WorkflowInput, d change.Decision) (change.Outcome, error) {
	var out change.Outcome
	// A digest, because Temporal stores the id in the clear, and the caller chooses its request id.
	request := canonical.DigestBytes([]byte(d.Resolution + ":" + d.Actor + ":" + d.RequestID))
	err := c.updateWithStart(ctx, changes.start(r), update{
		id: UpdateDecide + ":" + request, name: UpdateDecide, arg: MoveRequest{Resolution: d.Resolution, Reason: d.Reason, Actor: d.Actor, RequestID: d.RequestID},
	}, &out)
	return out, err
}

// StartEvaluation starts the workflow of an evaluation unless it exists.
func (c *Client) StartEvaluation(ctx context.Context, r evaluation.WorkflowInput) error {
	return c.start(ctx, evaluations.start(r))
}

// RestartEvaluation starts another workflow run of an open evaluation whose run has closed.
func (c *Client) RestartEvaluation(ctx context.Context, r evaluation.WorkflowInput) error {
	return c.restart(ctx, evaluations.start(r))
}

// CloseEvaluation closes the evaluation. The update id is that of the evaluation: closing twice is one close.
func (c *Client) CloseEvaluation(ctx context.Context, r evaluation.WorkflowInput, by evaluation.CloseRequest) (evaluation.Outcome, error) {
	var out evaluation.Outcome
	err := c.updateWithStart(ctx, evaluations.start(r),
		update{id: UpdateClose + ":" + r.Evaluation, name: UpdateClose, arg: MoveRequest{Actor: by.Actor, RequestID: by.RequestID}}, &out)
	return out, err
}
