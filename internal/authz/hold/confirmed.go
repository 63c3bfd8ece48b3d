package hold

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// refuseUnconfirmed reports at once that an approval would not count, because the hold asks for two people and the reviewer may be one who
// invited them.
func (s *Service) refuseUnconfirmed(ctx context.Context, c Case, a Approver) error {
	if !strings.HasPrefix(a.Principal, "person:") {
		return nil
	}
	counts, err := countsPerson(ctx, s.store.Q, c.Hold, a.Reviewer)
	if err == nil && !counts {
		return problem.New(problem.Forbidden, "The hold asks for two people: the requester does not count, or several approve. The reviewer was invited by a link that others saw, and no second operator "+
			"had confirmed them when it was opened. Ask an operator to confirm them under People, for later holds. Rejecting it does not require that.")
	}
	return err
}
