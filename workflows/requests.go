package workflows

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
)

// StartChallenge starts the run of a challenge unless it exists.
func (c *Client) StartChallenge(ctx context.Context, r challenge.WorkflowInput) error {
	in := ChallengeInputOf(r)
	return c.start(ctx, ChallengeID(in.Challenge), NameChallenge, in.about(), in)
}

// CompleteChallenge asks the run to complete the challenge by the prepared request.
func (c *Client) CompleteChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return c.moveChallenge(ctx, r, UpdateComplete, request)
}

// CancelChallenge asks the run to cancel the challenge by the prepared request.
func (c *Client) CancelChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return c.moveChallenge(ctx, r, UpdateCancel, request)
}

func (c *Client) moveChallenge(ctx context.Context, r challenge.WorkflowInput, name, request string) (challenge.Outcome, error) {
	in := ChallengeInputOf(r)
	var out challenge.Outcome
	err := c.updateWithStart(ctx, ChallengeID(in.Challenge), NameChallenge, in.about(), in,
		update{id: name + ":" + request, name: name, arg: ChallengeMove{Request: request}}, &out)
	return out, err
}

// SettleChallenge tells the run of a challenge, where there is one, that the challenge was settled past it.
func (c *Client) SettleChallenge(ctx context.Context, id string) error {
	return c.signal(ctx, ChallengeID(id), SignalSettled)
}

// StartHold starts the run of a hold unless it exists.
func (c *Client) StartHold(ctx context.Context, r hold.WorkflowInput) error {
	in := HoldInputOf(r)
	return c.start(ctx, HoldID(in.Authorization), NameHold, in.about(), in)
}

// ReviewHold asks the run to take the prepared review in.
func (c *Client) ReviewHold(ctx context.Context, r hold.WorkflowInput, resolution, request string) (hold.Outcome, error) {
	in := HoldInputOf(r)
	var out hold.Outcome
	err := c.updateWithStart(ctx, HoldID(in.Authorization), NameHold, in.about(), in,
		update{id: UpdateReview + ":" + request, name: UpdateReview, arg: HoldReview{Request: request, Resolution: resolution}}, &out)
	return out, err
}

// SettleHold tells the run of a hold, where there is one, that the hold was settled past it.
func (c *Client) SettleHold(ctx context.Context, authorization string) error {
	return c.signal(ctx, HoldID(authorization), SignalSettled)
}

// StartEvaluation starts the run of an evaluation unless it exists.
func (c *Client) StartEvaluation(ctx context.Context, r evaluation.WorkflowInput) error {
	in := EvaluationInputOf(r)
	return c.start(ctx, EvaluationID(in.Evaluation), NameEvaluation, in.about(), in)
}

// CloseEvaluation asks the run to close the evaluation. Closing twice is one close: what is asked has no more to it than
// the evaluation.
func (c *Client) CloseEvaluation(ctx context.Context, r evaluation.WorkflowInput, by evaluation.CloseRequest) (evaluation.Outcome, error) {
	in := EvaluationInputOf(r)
	var out evaluation.Outcome
	err := c.updateWithStart(ctx, EvaluationID(in.Evaluation), NameEvaluation, in.about(), in,
		update{id: UpdateClose + ":" + in.Evaluation, name: UpdateClose, arg: by}, &out)
	return out, err
}
