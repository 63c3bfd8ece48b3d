package pg

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Sessions stores sessions and the evidence of their frames.
type Sessions struct{ *Q }

// Sessions returns the queries of the aggregate.
func (q *Q) Sessions() Sessions { return Sessions{q} }

// List lists sessions, newest first. subjectUID and status narrow it if they are not empty.
func (q Sessions) List(ctx context.Context, s Scope, subjectUID string, status models.SessionStatus, p Page) ([]models.Session, string, error) {
	q.Q = q.Old(ctx)
	tx := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if subjectUID != "" {
		tx = tx.Where("subject_uid = ?", subjectUID)
	}
	if status != "" {
		tx = tx.Where("status = ?", string(status))
	}
	tx, err := Paginate(tx, p, "started_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Session
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := CutPage(rows, p, func(r models.Session) (time.Time, string) { return r.StartedAt, r.ID })
	return rows, next, nil
}
