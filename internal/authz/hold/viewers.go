package hold

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// ViewLife is how long a view of a hold counts. The page of a hold repeats it every 30 seconds while it is visible.
const ViewLife = 75 * time.Second

// View records that the caller has a hold open and returns the other reviewers who have. It changes nothing else, and no event
// records it.
func (s *Service) View(ctx context.Context, p identity.Principal, id string) ([]string, error) {
	now := s.clock.Now()
	var others []string
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		others, err = recordViewer(ctx, q, p.Store(), View{Authorization: id, Viewer: p.Actor(), At: now}, now.Add(-ViewLife))
		return err
	})
	return others, err
}
