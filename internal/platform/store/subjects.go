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

// externalID returns the relying party's id of a subject, or "" if the subject is erased.
func (q *Q) externalID(ctx context.Context, environment, uid string) (string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("select external_id from subjects where environment_id = ? and uid = ?", environment, uid).Find(&ids).Error
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// ExternalIDs returns the relying party's ids of subjects, by uid.
func (q Subjects) ExternalIDs(ctx context.Context, s Scope, uids []string) (map[string]string, error) {
	var rows []models.Subject
	if err := q.gorm(ctx).Select("uid", "external_id").Where(inScope+" and uid in ?", s.Tenant, s.Environment, uids).Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.UID] = r.ExternalID
	}
	return out, nil
}

// inScopeNotErasing is the condition that every lookup of a subject has: no lookup returns one that is being erased.
const inScopeNotErasing = "tenant_id = ? and environment_id = ? and status <> 'erasing'"

// Create inserts a subject. It returns false if the scope has one with its external id.
func (q Subjects) Create(ctx context.Context, s models.Subject) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "external_id"}}, DoNothing: true,
	}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get returns the subject with the relying party's id.
func (q Subjects) Get(ctx context.Context, s Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return orNotFound(row, q.gorm(ctx).Where(inScopeNotErasing+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// ByUID returns the subject with our id.
func (q Subjects) ByUID(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return orNotFound(row, q.gorm(ctx).Where(inScopeNotErasing+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// Lock is like Get and locks the row until the transaction ends, so that changes of a subject are made one at a time.
func (q Subjects) Lock(ctx context.Context, s Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return orNotFound(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(inScopeNotErasing+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// LockByUID is like ByUID and locks the row until the transaction ends.
func (q Subjects) LockByUID(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return orNotFound(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(inScopeNotErasing+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// LockNoKey is like LockByUID with a weaker lock: other transactions can insert rows that refer to the subject, but
// cannot revoke, recover or erase it.
func (q Subjects) LockNoKey(ctx context.Context, s Scope, uid string) (models.Subject, error) {
	var row models.Subject
	return orNotFound(row, q.gorm(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).
		Where(inScopeNotErasing+" and uid = ?", s.Tenant, s.Environment, uid).Take(&row).Error)
}

// SubjectFilter narrows a list of subjects. Empty fields filter nothing.
type SubjectFilter struct {
	Status     string
	Enrollment string
}

// List lists the scope's subjects, newest first.
func (q Subjects) List(ctx context.Context, s Scope, f SubjectFilter, p Page) ([]models.Subject, string, error) {
	q.Q = q.old(ctx)
	tx := q.gorm(ctx).Where(inScopeNotErasing, s.Tenant, s.Environment)
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
	rows, next := cutPage(rows, p, func(r models.Subject) (time.Time, string) { return r.CreatedAt, r.UID })
	return rows, next, nil
}

// SetAdaptationFrozen freezes or unfreezes the adaptation of a subject's templates. It returns false if nothing changed.
func (q Subjects) SetAdaptationFrozen(ctx context.Context, s Scope, uid string, frozen bool, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set adaptation_frozen = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status <> 'erasing' and adaptation_frozen <> $4`,
		s.Tenant, s.Environment, uid, frozen, at)
	return n == 1, err
}

// Revoke moves an active subject to revoked. It returns false if the subject was not active.
func (q Subjects) Revoke(ctx context.Context, s Scope, uid string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set status = 'revoked', revoked_at = $4, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status = 'active'`, s.Tenant, s.Environment, uid, at)
	return n == 1, err
}

// SetEnrollment stores the enrollment state of a subject.
func (q Subjects) SetEnrollment(ctx context.Context, s Scope, uid string, state models.EnrollmentState, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set enrollment = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment <> $4`, s.Tenant, s.Environment, uid, string(state), at)
	return err
}

// RequestEnrollment records when the subject's next enrollment was requested explicitly: by a server key, or by a client
// token that lists the purpose enroll. An earlier time is not replaced.
func (q Subjects) RequestEnrollment(ctx context.Context, s Scope, uid string, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set enrollment_asked_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment_asked_at is null`, s.Tenant, s.Environment, uid, at)
	return err
}

// ClearEnrollmentRequest removes the time of RequestEnrollment, because the enrollment completed or a recovery began.
func (q Subjects) ClearEnrollmentRequest(ctx context.Context, s Scope, uid string) error {
	_, err := q.exec(ctx, `update subjects set enrollment_asked_at = null
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid)
	return err
}

// EnrollmentTerms are the conditions under which a frame may enroll a subject.
type EnrollmentTerms struct {
	GrantRequired bool       // the environment requires a grant for each enrollment
	AskedAt       *time.Time // when the next enrollment was requested explicitly; nil if it was not
	ReadyAt       *time.Time // when the cool-down of the subject's last recovery ends
}

// EnrollmentTerms returns the terms of a subject.
func (q Subjects) EnrollmentTerms(ctx context.Context, s Scope, uid string) (EnrollmentTerms, error) {
	var t EnrollmentTerms
	err := q.queryRow(ctx, `select e.enrollment_grant_required, s.enrollment_asked_at,
		(select max(ready_at) from recoveries r where r.tenant_id = $1 and r.environment_id = $2 and r.subject_uid = $3)
		from subjects s join environments e on e.tenant_id = s.tenant_id and e.id = s.environment_id
		where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3`, s.Tenant, s.Environment, uid).
		Scan(&t.GrantRequired, &t.AskedAt, &t.ReadyAt)
	return orNotFound(t, err)
}

// SetClaimCap caps the claims of the subject until a time. A cap is never shortened.
func (q Subjects) SetClaimCap(ctx context.Context, s Scope, uid string, until, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set claim_cap_until = greatest(coalesce(claim_cap_until, $4), $4), updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid, until, at)
	return err
}

// ExternalID returns the relying party's id of a subject, or "" if the subject is erased.
func (q Subjects) ExternalID(ctx context.Context, environment, uid string) (string, error) {
	return q.externalID(ctx, environment, uid)
}
