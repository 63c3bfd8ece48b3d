package hold

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Workflow serialises the reviews of a hold (workflows.Client). Its errors are problems, or durable.ErrClosed.
type Workflow interface {
	ReviewHold(ctx context.Context, in WorkflowInput, resolution, request string) (Outcome, error)
	RestartHold(ctx context.Context, in WorkflowInput) error
}

// Reviewer reviews holds for the API, and makes the reviews that were given in the console (Service.Give).
type Reviewer struct {
	holds    *Service
	workflow Workflow
}

// NewReviewer returns a Reviewer.
func NewReviewer(holds *Service, workflow Workflow) *Reviewer {
	return &Reviewer{holds: holds, workflow: workflow}
}

// Reviewed is the result of a review: exactly one of its fields is set.
type Reviewed struct {
	Receipt json.RawMessage // ManualReviewReceipt of a hold that is resolved this way
	Pending *Pending        // the hold waits for more approvals, or for the workflow to finish this one
}

// Review approves or rejects a hold on behalf of the principal. Repeating a review returns the receipt of the first. A hold
// that was resolved the other way, or expired, is refused with review_resolved or review_expired.
func (r *Reviewer) Review(ctx context.Context, p identity.Principal, id string, vote Vote) (Reviewed, error) {
	prepared, err := r.holds.PrepareReview(ctx, p, id, vote)
	if err != nil || prepared.done() {
		return Reviewed{Receipt: prepared.Receipt, Pending: prepared.Pending}, err
	}
	out, reviewErr := r.workflow.ReviewHold(ctx, prepared.Workflow, prepared.Resolution, prepared.Request)
	switch {
	case errors.Is(reviewErr, durable.ErrAccepted):
		pending, err := r.holds.Waiting(ctx, p.Store(), id, prepared.Resolution)
		return Reviewed{Pending: pending}, err
	case reviewErr == nil && out.Status == models.HoldPending:
		pending := PendingAt(id, prepared.Resolution, out.Approvals, out.Required)
		if !prepared.detailed {
			return Reviewed{Pending: pending}, nil
		}
		now, err := r.holds.Waiting(ctx, p.Store(), id, prepared.Resolution)
		if err == nil {
			pending.Teams, pending.Steps = now.Teams, now.Steps
		}
		return Reviewed{Pending: pending}, err
	}
	receipt, err := settle.Resolution[json.RawMessage]{
		Decides: []problem.Code{problem.ReviewExpired, problem.ReviewResolved},
		Record: func(ctx context.Context, _ bool) (json.RawMessage, error) {
			return r.holds.Receipt(ctx, p.Store(), id, prepared)
		},
		Restart: func(ctx context.Context) error { return r.workflow.RestartHold(ctx, prepared.Workflow) },
	}.After(ctx, reviewErr)
	return Reviewed{Receipt: receipt}, err
}
