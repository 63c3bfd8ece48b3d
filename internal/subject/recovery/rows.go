package recovery

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// forUpdate locks the rows that are read until the transaction ends.
var forUpdate = clause.Locking{Strength: "UPDATE"}

// NewestRecovery returns the subject's latest recovery.
func NewestRecovery(ctx context.Context, q *pg.Q, s pg.Scope, uid string) (models.Recovery, error) {
	var r models.Recovery
	return pg.OrNotFound(r, q.Gorm(ctx).Where(pg.InScope+" and subject_uid = ?", s.Tenant, s.Environment, uid).
		Order("created_at desc, id desc").Take(&r).Error)
}

// abandonedRecoveries returns the subject's latest recovery with the anchor that expired, unless a later recovery was completed.
func abandonedRecoveries(ctx context.Context, q *pg.Q, s pg.Scope, uid, anchor string) (models.Recovery, error) {
	var r models.Recovery
	err := q.Gorm(ctx).Where(pg.InScope+" and subject_uid = ? and (status = 'completed' or status = 'expired' and anchor = ?)",
		s.Tenant, s.Environment, uid, anchor).Order("created_at desc, id desc").Take(&r).Error
	if err == nil && r.Status != models.RecoveryExpired {
		return models.Recovery{}, pg.ErrNotFound
	}
	return pg.OrNotFound(r, err)
}

// lockRecovery is like Get and locks the row until the transaction ends.
func lockRecovery(ctx context.Context, q *pg.Q, environment, id string) (models.Recovery, error) {
	var r models.Recovery
	return pg.OrNotFound(r, q.Gorm(ctx).Clauses(forUpdate).Where("environment_id = ? and id = ?", environment, id).Take(&r).Error)
}

// GetRecovery returns a recovery of an environment, for its workflow.
func GetRecovery(ctx context.Context, q *pg.Q, environment, id string) (models.Recovery, error) {
	var r models.Recovery
	return pg.OrNotFound(r, q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&r).Error)
}

// moveRecovery moves a recovery from its status to another and reports whether it did. It is one UPDATE, with the MAC (advance).
func moveRecovery(ctx context.Context, q *pg.Q, r models.Recovery, to models.RecoveryStatus, at time.Time) (bool, error) {
	moved := r
	if moved.Status = to; to == models.RecoveryCompleted {
		moved.CompletedAt = &at
	}
	if err := pg.SignMoved(ctx, q, r, &moved); err != nil {
		return false, err
	}
	n, err := q.Exec(ctx, `update recoveries set status = $3, completed_at = $4, row_mac = $6 where id = $1 and environment_id = $5 and status = $2`,
		r.ID, string(r.Status), string(to), moved.CompletedAt, r.EnvironmentID, moved.RowMAC)
	if err != nil || n == 0 || !Over(to) || !at.Before(r.ExpiresAt) {
		return n == 1, err
	}
	return true, pg.End(ctx, q, pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID},
		models.Left{Record: "recoveries", State: r.ID, EndedAt: at, UselessAt: &r.ExpiresAt})
}

// OverdueRecoveries returns at most limit recoveries that should have moved on before t.
func OverdueRecoveries(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw(`select environment_id as environment, id from recoveries where status in ('pending', 'cooling_down') and ready_at < @t
		or status = 'ready' and expires_at < @t order by created_at, id limit @limit`,
		map[string]any{"t": t, "limit": limit}).Find(&rows).Error
	return rows, err
}

// RetireTemplatesOfSubject retires every template version of the subject, including the superseded ones stored for a rollback.
func RetireTemplatesOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) (int64, error) {
	return q.Exec(ctx, `update templates set status = 'retired', updated_at = $4
		where subject_uid = $1 and tenant_id = $2 and environment_id = $3 and status <> 'retired'`, uid, s.Tenant, s.Environment, at)
}
