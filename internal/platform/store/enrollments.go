package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Create inserts an enrollment.
func (q Enrollments) Create(ctx context.Context, e models.Enrollment) error {
	return q.gorm(ctx).Create(&e).Error
}

// ByID is for the run of an enrollment, which knows its id alone.
func (q Enrollments) ByID(ctx context.Context, id string) (models.Enrollment, error) {
	var row models.Enrollment
	return one(row, q.gorm(ctx).Where("id = ?", id).Take(&row).Error)
}

// Get is the newest enrollment of a subject that the session ended.
func (q Enrollments) Get(ctx context.Context, s Scope, subjectUID, session string) (models.Enrollment, error) {
	var row models.Enrollment
	return one(row, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ? and session_id = ?",
		s.Tenant, s.Environment, subjectUID, session).Order("created_at desc, id desc").Limit(1).Take(&row).Error)
}

// List lists the enrollments of a subject, newest first.
func (q Enrollments) List(ctx context.Context, s Scope, subjectUID string, p Page) ([]models.Enrollment, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, subjectUID),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Enrollment
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(e models.Enrollment) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// Settle ends a pending enrollment as e says at a time; false where it is not pending.
func (q Enrollments) Settle(ctx context.Context, e models.Enrollment, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update enrollments set status = $2, windows_accepted = $3, limitations = $4, refused_sessions = $5, completed_at = $6
		where id = $1 and status = 'pending'`, e.ID, string(e.Status), e.WindowsAccepted, e.Limitations, e.RefusedSessions, at)
	return n > 0, err
}

// OpenAnchor is the anchor of the subject's recovery that a new enrollment completes; none where there is no recovery.
func (q Enrollments) OpenAnchor(ctx context.Context, subjectUID string) (string, error) {
	var anchors []string
	err := q.gorm(ctx).Raw("select anchor from recoveries where subject_uid = ? and status not in ('completed', 'expired') order by created_at desc limit 1",
		subjectUID).Scan(&anchors).Error
	if err != nil || len(anchors) == 0 {
		return "none", err
	}
	return anchors[0], nil
}
