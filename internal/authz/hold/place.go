package hold

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Place returns how many holds of the queue precede a hold and the length of the queue. before is -1 if the hold is not in it.
func (s *Service) Place(ctx context.Context, scope pg.Scope, f Filter, id string) (before, total int64, err error) {
	f.Now = s.clock.Now()
	if f.Status == "" {
		f.Status = models.HoldPending
	}
	return placeInQueue(ctx, s.store.Q, scope, f, id)
}
