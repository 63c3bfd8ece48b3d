package hold

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// ViewLife is how long a view of a hold counts. The page of a hold repeats it every 30 seconds while it is visible.
const ViewLife = 75 * time.Second

// View records that the caller opens a hold, or has it open still, and returns the time that Leave requires. It changes nothing else, and no event
// records it.
func (s *Service) View(ctx context.Context, p identity.Principal, id string, still bool) (at time.Time, err error) {
	at = s.clock.Now().Truncate(time.Microsecond) // as it is stored
	var arrived bool
	err = s.store.Write(ctx, func(q *pg.Q) error {
		arrived, err = recordViewer(ctx, q, p.Store(), View{Authorization: id, Viewer: p.Actor(), At: at}, still, at.Add(-ViewLife))
		return err
	})
	if err == nil && arrived {
		s.store.Wake(pg.ChannelDesk, p.EnvironmentID)
	}
	return at, err
}

// Leave records that the caller has closed a hold, unless they have opened it again after the view at a time.
func (s *Service) Leave(ctx context.Context, p identity.Principal, id string, at time.Time) error {
	left, err := removeViewer(ctx, s.store.Q, p.Store(), View{Authorization: id, Viewer: p.Actor(), At: at})
	if err == nil && left {
		s.store.Wake(pg.ChannelDesk, p.EnvironmentID)
	}
	return err
}

// Viewers returns the other reviewers who have holds open, by hold.
func (s *Service) Viewers(ctx context.Context, p identity.Principal, ids ...string) (map[string][]string, error) {
	rows, err := viewersOf(ctx, s.store.Q, p.Store(), ids, s.clock.Now().Add(-ViewLife))
	out := map[string][]string{}
	for _, v := range rows {
		if v.Viewer != p.Actor() {
			out[v.Authorization] = append(out[v.Authorization], v.Viewer)
		}
	}
	return out, err
}
