package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// What the console shares with the API's handlers, so that there is one way to make a review and one to follow events.

// Reviewer makes reviews.
type Reviewer struct {
	Holds     *hold.Service
	Workflows holdWorkflows
}

// Reviewed is what came of a review: the receipt of a hold that is settled this way, or where one stands that still waits.
type Reviewed struct {
	Receipt json.RawMessage // ManualReviewReceipt
	Pending *hold.Pending
}

// Review makes one review by the caller. A hold that was settled another way meanwhile is refused with the code that says so.
func (r Reviewer) Review(ctx context.Context, p identity.Principal, id, resolution string, note *string) (Reviewed, error) {
	prepared, err := r.Holds.PrepareReview(ctx, p, id, resolution, note)
	if err != nil || prepared.Receipt != nil || prepared.Pending != nil {
		return Reviewed{Receipt: prepared.Receipt, Pending: prepared.Pending}, err
	}
	result, told := r.Workflows.ReviewHold(ctx, prepared.Workflow, prepared.Resolution, prepared.Request)
	switch {
	case errors.Is(told, workflows.ErrAccepted):
		pending, err := r.Holds.Waiting(ctx, p.Store(), id, prepared.Resolution)
		return Reviewed{Pending: pending}, err
	case told != nil && !reviewOver(told):
		return Reviewed{}, told
	case told == nil && result.Status == string(models.HoldPending):
		return Reviewed{Pending: hold.PendingAt(id, prepared.Resolution, result.Approvals, result.Required)}, nil
	}
	receipt, err := r.Holds.Receipt(ctx, p.Store(), id, prepared.Resolution)
	if err != nil && problem.As(told) != nil {
		return Reviewed{}, told
	}
	return Reviewed{Receipt: receipt}, err
}

// reviewOver reports whether a run's error leaves it to the record to say what happened: it may be this very review that
// settled the hold, by a step whose answer the run has lost.
func reviewOver(err error) bool {
	return errors.Is(err, workflows.ErrClosed) || problem.Is(err, problem.ReviewExpired) || problem.Is(err, problem.ReviewResolved)
}
