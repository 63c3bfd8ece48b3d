package hold

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// StillApproved reports whether a hold that was approved has its approvals at a later time as well: those of reviewers who have lost the authority
// for them count no more. A hold that is not stored any more has none.
func StillApproved(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	c, err := readCase(ctx, q, s, id, nil)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	if err != nil || c.Status != models.HoldApproved {
		return false, err
	}
	if err := c.verify(ctx, q); err != nil {
		return false, err
	}
	given, err := approversNow(ctx, q, s, at, id)
	if err != nil {
		return false, err
	}
	if err := checkCounted(ctx, q, given); err != nil {
		return false, err
	}
	t, err := tallyOf(ctx, q, c, at, given)
	return t.Given >= c.ApprovalsRequired, err
}
