package store

import (
	"context"
	"strconv"
	"time"
)

// DayCount is the number of decisions of one day.
type DayCount struct {
	Day   time.Time // its start, in UTC
	Count int64
}

// ShadowDays counts the decisions of a window in shadow mode by day, in order. Days without any are left out. The statement has a
// time limit of its own, as TallyDecisions.
func (s *Store) ShadowDays(ctx context.Context, scope Scope, w Window, limit time.Duration) ([]DayCount, error) {
	var rows []DayCount
	err := s.readOld(ctx, func(q *Q) error {
		var set string
		err := q.queryRow(ctx, "select set_config('statement_timeout', $1, true)", strconv.FormatInt(limit.Milliseconds(), 10)).Scan(&set)
		if err != nil {
			return err
		}
		return q.gorm(ctx).Raw(`select date_trunc('day', decided_at, 'UTC') as day, count(*) as count from authorizations
			where tenant_id = ? and environment_id = ? and action_id = any(?) and decided_at >= ? and decided_at < ? and mode = 'shadow'
			group by 1 order by 1`, scope.Tenant, scope.Environment, w.Actions, w.Since, w.Until).Find(&rows).Error
	})
	return rows, err
}
