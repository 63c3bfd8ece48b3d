package hold

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// refuseUnconfirmed reports at once that an approval would not count, because the hold asks for two people and the reviewer may be one who
// invited them. Every reviewer may reject.
func (s *Service) refuseUnconfirmed(ctx context.Context, p identity.Principal, h models.Hold, resolution string) error {
	if resolution != Approve {
		return nil
	}
	counts, err := countsPerson(ctx, s.store.Q, h, p.Actor())
	if err == nil && !counts {
		return problem.New(problem.Forbidden, "The hold asks for two people. The reviewer was invited by a link that others saw, and no second operator had confirmed them when "+
			"it was opened. Ask an operator to confirm them under People, for later holds. Rejecting it does not require that.")
	}
	return err
}
