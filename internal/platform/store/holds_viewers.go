package store

import (
	"context"
	"time"
)

// viewerLife is how long a row of a viewer is stored.
const viewerLife = time.Hour

// View is a viewer who has a hold open.
type View struct {
	Authorization, Viewer string
	At                    time.Time
}

// View records a view of a hold of the scope, and returns the others who had it open after since. Rows of any hold of the environment that are
// older than viewerLife are removed.
func (q Holds) View(ctx context.Context, s Scope, v View, since time.Time) ([]string, error) {
	authorization, viewer, at := v.Authorization, v.Viewer, v.At
	if _, err := q.exec(ctx, `insert into hold_viewers (authorization_id, environment_id, viewer, seen_at)
		select h.authorization_id, h.environment_id, $4, $5 from holds h where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = $3
		on conflict on constraint hold_viewers_pkey do update set seen_at = $5`, s.Tenant, s.Environment, authorization, viewer, at); err != nil {
		return nil, err
	}
	if _, err := q.exec(ctx, "delete from hold_viewers where environment_id = $1 and seen_at < $2", s.Environment, at.Add(-viewerLife)); err != nil {
		return nil, err
	}
	var others []string
	err := q.gorm(ctx).Raw(`select w.viewer from hold_viewers w join holds h on h.authorization_id = w.authorization_id and h.environment_id = w.environment_id
		where h.tenant_id = ? and h.environment_id = ? and w.authorization_id = ? and w.viewer <> ? and w.seen_at > ? order by w.viewer`,
		s.Tenant, s.Environment, authorization, viewer, since).Find(&others).Error
	return others, err
}
