// Package subjectrow is the row of a subject and the rows of its sessions, which the rooms account, authz, subject and delivery read: by its functions, or in
// statements of their own that are made of its parts. It has no rule.
package subjectrow

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// InScope is the condition that every lookup of a subject has: no lookup returns one that is being erased.
const InScope = "tenant_id = ? and environment_id = ? and status <> 'erasing'"

// Create inserts a subject. It returns false if the scope has one with its external id.
func Create(ctx context.Context, q *pg.Q, s models.Subject) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "external_id"}}, DoNothing: true,
	}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get returns the subject with the relying party's id.
func Get(ctx context.Context, q *pg.Q, s pg.Scope, externalID string) (models.Subject, error) {
	return find(q.Gorm(ctx), s, "external_id", externalID)
}

// Lock is Get with the row locked until the transaction ends.
func Lock(ctx context.Context, q *pg.Q, s pg.Scope, externalID string) (models.Subject, error) {
	return find(q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}), s, "external_id", externalID)
}

// GetByUID returns the subject with our id.
func GetByUID(ctx context.Context, q *pg.Q, s pg.Scope, uid string) (models.Subject, error) {
	return find(q.Gorm(ctx), s, "uid", uid)
}

// LockByUID is GetByUID with the row locked until the transaction ends.
func LockByUID(ctx context.Context, q *pg.Q, s pg.Scope, uid string) (models.Subject, error) {
	return find(q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}), s, "uid", uid)
}

// KeepByUID is LockByUID with a weaker lock: other transactions can insert rows that refer to the subject, but cannot revoke, recover or erase it.
func KeepByUID(ctx context.Context, q *pg.Q, s pg.Scope, uid string) (models.Subject, error) {
	return find(q.Gorm(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), s, "uid", uid)
}

// find returns the subject with an id in a column.
func find(tx *gorm.DB, s pg.Scope, column, id string) (models.Subject, error) {
	var row models.Subject
	return pg.OrNotFound(row, tx.Where(InScope+" and "+column+" = ?", s.Tenant, s.Environment, id).Take(&row).Error)
}

// Of selects the row of a subject for Change, with the values that its SQL names.
type Of struct {
	pg.Scope
	UID string
	At  time.Time // of the change
	To  any       // the new value
}

// Change updates a subject whose row meets a condition. It returns false if there is none.
func Change(ctx context.Context, q *pg.Q, of Of, condition, set string) (bool, error) {
	rows, err := pg.Change[models.Subject](ctx, q, "tenant_id = @tenant and environment_id = @environment and uid = @uid and "+condition, set+", updated_at = @at",
		map[string]any{"tenant": of.Tenant, "environment": of.Environment, "uid": of.UID, "at": of.At, "to": of.To})
	return len(rows) == 1, err
}

// Reinstate ends the revocation of a subject. It returns false if the subject is not revoked.
func Reinstate(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) (bool, error) {
	return Change(ctx, q, Of{Scope: s, UID: uid, At: at}, "status = 'revoked'", "status = 'active', revoked_at = null, reinstated_at = @at")
}

// ExternalID returns the relying party's id of a subject, or "" if the subject is erased.
func ExternalID(ctx context.Context, q *pg.Q, environment, uid string) (string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw("select external_id from subjects where environment_id = ? and uid = ?", environment, uid).Find(&ids).Error
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// ExternalIDs returns the relying party's ids of subjects, by uid.
func ExternalIDs(ctx context.Context, q *pg.Q, s pg.Scope, uids []string) (map[string]string, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	var rows []models.Subject
	if err := pg.Unchecked(q.Gorm(ctx)).Select("uid", "external_id").Where(pg.InScope+" and uid in ?", s.Tenant, s.Environment, uids).Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.UID] = r.ExternalID
	}
	return out, nil
}

// ListByPrefix returns the ids of at most limit subjects whose id at the relying party begins with prefix, in the order of these.
func ListByPrefix(ctx context.Context, q *pg.Q, s pg.Scope, prefix string, limit int) ([]models.Subject, error) {
	// U+10FFFF is behind every text with the prefix: text_pattern_ops compares bytes.
	rows, err := q.Query(ctx, WithPrefix+" limit $5", s.Tenant, s.Environment, prefix, prefix+"\U0010FFFF", limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (u models.Subject, err error) { return u, row.Scan(&u.UID, &u.ExternalID) })
}

// RequestEnrollment records when the subject's next enrollment was requested explicitly: by a server key, or by a client
// token that lists the purpose enroll. An earlier time is not replaced.
func RequestEnrollment(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) error {
	_, err := q.Exec(ctx, `update subjects set enrollment_asked_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and enrollment_asked_at is null`, s.Tenant, s.Environment, uid, at)
	return err
}

// ClearEnrollmentRequest removes the time of RequestEnrollment, because the enrollment completed or a recovery began.
func ClearEnrollmentRequest(ctx context.Context, q *pg.Q, s pg.Scope, uid string) error {
	_, err := q.Exec(ctx, `update subjects set enrollment_asked_at = null
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid)
	return err
}

// ListSessions lists sessions, newest first. subjectUID and status narrow it if they are not empty.
func ListSessions(ctx context.Context, q *pg.Q, s pg.Scope, f SessionFilter, p pg.Page) ([]models.Session, string, error) {
	tx := q.Old(ctx).AsStored().Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment)
	if f.SubjectUID != "" {
		tx = tx.Where("subject_uid = ?", f.SubjectUID)
	}
	if f.Status != "" {
		tx = tx.Where("status = ?", string(f.Status))
	}
	tx, err := pg.Paginate(tx, p, "started_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Session
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r models.Session) (time.Time, string) { return r.StartedAt, r.ID })
	return rows, next, nil
}

// SessionFilter narrows a list of sessions. Empty fields filter nothing.
type SessionFilter struct {
	SubjectUID string
	Status     models.SessionStatus
}

// Named returns the first of some words that is the relying party's id of a subject; empty if none is.
func Named(ctx context.Context, q *pg.Q, s pg.Scope, words []string) (string, error) {
	var id string
	err := q.QueryRow(ctx, `select coalesce((select s.external_id from subjects s where s.tenant_id = $1 and s.environment_id = $2 and s.external_id = any ($3)
		and s.status <> 'erasing' limit 1), '')`, s.Tenant, s.Environment, words).Scan(&id)
	return id, err
}
