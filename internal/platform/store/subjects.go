package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Subjects stores subjects.
type Subjects struct{ *Q }

// Subjects returns the queries of the aggregate.
func (q *Q) Subjects() Subjects { return Subjects{q} }

// externalID is the relying party's own id of a subject; empty for one that is erased.
func (q *Q) externalID(ctx context.Context, uid string) (string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("select external_id from subjects where uid = ?", uid).Scan(&ids).Error
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// ExternalIDs are the relying party's own ids of subjects, by uid.
func (q Subjects) ExternalIDs(ctx context.Context, uids []string) (map[string]string, error) {
	var rows []models.Subject
	if err := q.gorm(ctx).Select("uid", "external_id").Where("uid in ?", uids).Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.UID] = r.ExternalID
	}
	return out, nil
}

// ofSubjects is the condition every lookup of a subject carries: the scope, and that nothing finds one being erased.
const ofSubjects = "tenant_id = ? and environment_id = ? and status <> 'erasing'"

// Create inserts a subject; false where the scope has one with its external id.
func (q Subjects) Create(ctx context.Context, s models.Subject) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "external_id"}}, DoNothing: true,
	}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get finds a subject by the relying party's id.
func (q Subjects) Get(ctx context.Context, s Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return one(row, q.gorm(ctx).Where(ofSubjects+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// ByUID finds a subject by our own id.
func (q Subjects) ByUID(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return one(row, q.gorm(ctx).Where(ofSubjects+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// Lock is Subject with the row locked to the end of the transaction: whoever moves a subject goes one at a time.
func (q Subjects) Lock(ctx context.Context, s Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return one(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(ofSubjects+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// LockByUID is LockSubject by our own id.
func (q Subjects) LockByUID(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return one(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(ofSubjects+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// LockNoKey is the subject by our own id, kept from being revoked, recovered or erased until the transaction ends. Rows that
// refer to it can still be written.
func (q Subjects) LockNoKey(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return one(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).
		Where(ofSubjects+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// SubjectFilter narrows a list of subjects; empty fields filter nothing.
type SubjectFilter struct {
	Status     string
	Enrollment string
}

// List lists the scope's subjects, newest first.
func (q Subjects) List(ctx context.Context, s Scope, f SubjectFilter, p Page) ([]models.Subject, string, error) {
	tx := q.gorm(ctx).Where(ofSubjects, s.Tenant, s.Environment)
	if f.Status != "" {
		tx = tx.Where("status = ?", f.Status)
	}
	if f.Enrollment != "" {
		tx = tx.Where("enrollment = ?", f.Enrollment)
	}
	tx, err := paginate(tx, p, "created_at", "uid")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Subject
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(r models.Subject) (time.Time, string) { return r.CreatedAt, r.UID })
	return rows, next, nil
}

// SetAdaptationFrozen freezes or thaws; false where it is so already.
func (q Subjects) SetAdaptationFrozen(ctx context.Context, s Scope, uid string, frozen bool, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set adaptation_frozen = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status <> 'erasing' and adaptation_frozen <> $4`,
		s.Tenant, s.Environment, uid, frozen, at)
	return n == 1, err
}

// Revoke moves an active subject to revoked; false where it was not active.
func (q Subjects) Revoke(ctx context.Context, s Scope, uid string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set status = 'revoked', revoked_at = $4, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status = 'active'`, s.Tenant, s.Environment, uid, at)
	return n == 1, err
}

// SetEnrollment notes how far the subject's enrollment has come.
func (q Subjects) SetEnrollment(ctx context.Context, s Scope, uid string, state models.EnrollmentState, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set enrollment = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment <> $4`, s.Tenant, s.Environment, uid, string(state), at)
	return err
}

// AskEnrollment notes that the subject's next enrollment was asked for by name; the first time counts.
func (q Subjects) AskEnrollment(ctx context.Context, s Scope, uid string, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set enrollment_asked_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment_asked_at is null`, s.Tenant, s.Environment, uid, at)
	return err
}

// EndEnrollmentGrant ends what AskEnrollment noted: the enrollment is over, or a recovery began.
func (q Subjects) EndEnrollmentGrant(ctx context.Context, s Scope, uid string) error {
	_, err := q.exec(ctx, `update subjects set enrollment_asked_at = null
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid)
	return err
}

// EnrollmentTerms are what a frame that is sent to enroll by is held against.
type EnrollmentTerms struct {
	GrantRequired bool       // the environment wants enrolling to be granted by name
	AskedAt       *time.Time // when the next enrollment was asked for by name
	ReadyAt       *time.Time // when the cool-down of the subject's last recovery ends
}

// EnrollmentTerms reads the terms of a subject.
func (q Subjects) EnrollmentTerms(ctx context.Context, s Scope, uid string) (EnrollmentTerms, error) {
	var t EnrollmentTerms
	err := q.queryRow(ctx, `select e.enrollment_grant_required, s.enrollment_asked_at,
		(select max(ready_at) from recoveries r where r.tenant_id = $1 and r.environment_id = $2 and r.subject_uid = $3)
		from subjects s join environments e on e.tenant_id = s.tenant_id and e.id = s.environment_id
		where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3`, s.Tenant, s.Environment, uid).
		Scan(&t.GrantRequired, &t.AskedAt, &t.ReadyAt)
	return one(t, err)
}

// SetClaimCap caps the subject's claims until t; an earlier cap is never shortened.
func (q Subjects) SetClaimCap(ctx context.Context, s Scope, uid string, until, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set claim_cap_until = greatest(coalesce(claim_cap_until, $4), $4), updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid, until, at)
	return err
}

// ExternalID is the relying party's own id of a subject; empty for one that is erased.
func (q Subjects) ExternalID(ctx context.Context, uid string) (string, error) {
	return q.externalID(ctx, uid)
}
