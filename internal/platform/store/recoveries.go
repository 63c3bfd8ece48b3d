package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Recoveries stores recoveries of subjects.
type Recoveries struct{ *Q }

// Recoveries returns the queries of the aggregate.
func (q *Q) Recoveries() Recoveries { return Recoveries{q} }

const unfinishedRecovery = "status in ('pending', 'cooling_down', 'ready')"

// Create inserts a recovery. It returns false if the subject has an unfinished one.
func (q Recoveries) Create(ctx context.Context, r models.Recovery) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	return res.RowsAffected == 1, res.Error
}

// Newest returns the subject's latest recovery.
func (q Recoveries) Newest(ctx context.Context, s Scope, uid string) (models.Recovery, error) {
	var r models.Recovery
	return orNotFound(r, q.gorm(ctx).Where(inScope+" and subject_uid = ?", s.Tenant, s.Environment, uid).
		Order("created_at desc, id desc").Take(&r).Error)
}

// LockUnfinished returns the subject's recovery whose stored status is not final, and locks it until the transaction ends. It may be
// past its end: recovery.Open decides whether it is open.
func (q Recoveries) LockUnfinished(ctx context.Context, s Scope, uid string) (models.Recovery, error) {
	var r models.Recovery
	return orNotFound(r, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(inScope+" and subject_uid = ? and "+unfinishedRecovery, s.Tenant, s.Environment, uid).Take(&r).Error)
}

// Unfinished is like LockUnfinished without the lock.
func (q Recoveries) Unfinished(ctx context.Context, s Scope, uid string) (models.Recovery, error) {
	var r models.Recovery
	return orNotFound(r, q.gorm(ctx).
		Where(inScope+" and subject_uid = ? and "+unfinishedRecovery, s.Tenant, s.Environment, uid).Take(&r).Error)
}

// Abandoned returns the subject's latest recovery with the anchor that expired, unless a later recovery was completed.
func (q Recoveries) Abandoned(ctx context.Context, s Scope, uid, anchor string) (models.Recovery, error) {
	var r models.Recovery
	err := q.gorm(ctx).Where(inScope+" and subject_uid = ? and (status = 'completed' or status = 'expired' and anchor = ?)",
		s.Tenant, s.Environment, uid, anchor).Order("created_at desc, id desc").Take(&r).Error
	if err == nil && r.Status != models.RecoveryExpired {
		return models.Recovery{}, ErrNotFound
	}
	return orNotFound(r, err)
}

// Lock is like Get and locks the row until the transaction ends.
func (q Recoveries) Lock(ctx context.Context, environment, id string) (models.Recovery, error) {
	var r models.Recovery
	return orNotFound(r, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("environment_id = ? and id = ?", environment, id).Take(&r).Error)
}

// Get returns a recovery of an environment, for its workflow.
func (q Recoveries) Get(ctx context.Context, environment, id string) (models.Recovery, error) {
	var r models.Recovery
	return orNotFound(r, q.gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&r).Error)
}

// Move moves a recovery from its status to another and reports whether it did.
func (q Recoveries) Move(ctx context.Context, r models.Recovery, to models.RecoveryStatus, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update recoveries set status = $3, completed_at = case when $3 = 'completed' then $4::timestamptz end
		where id = $1 and environment_id = $5 and status = $2`, r.ID, string(r.Status), string(to), at, r.EnvironmentID)
	return n == 1, err
}

// Overdue returns at most limit recoveries that should have moved on before t.
func (q Recoveries) Overdue(ctx context.Context, t time.Time, limit int) ([]Overdue, error) {
	var rows []Overdue
	err := q.gorm(ctx).Raw(`select environment_id as environment, id from recoveries where status in ('pending', 'cooling_down') and ready_at < @t
		or status = 'ready' and expires_at < @t order by created_at, id limit @limit`,
		map[string]any{"t": t, "limit": limit}).Find(&rows).Error
	return rows, err
}
