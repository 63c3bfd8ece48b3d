package hold

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Place returns how many holds of the queue precede a hold and the length of the queue. before is -1 if the hold is not in it.
func (s *Service) Place(ctx context.Context, scope store.Scope, f store.HoldFilter, id string) (before, total int64, err error) {
	f.Now = s.clock.Now()
	if f.Status == "" {
		f.Status = models.HoldPending
	}
	return s.store.Holds().Place(ctx, scope, f, id)
}
