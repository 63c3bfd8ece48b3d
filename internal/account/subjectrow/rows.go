// Package subjectrow is the row of a subject and the rows of its sessions, which the rooms account, authz and subject read. It has no rule.
package subjectrow

import (
	"context"
	"time"

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
	var row models.Subject
	return pg.OrNotFound(row, q.Gorm(ctx).Where(InScope+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// Lock is Get with the row locked until the transaction ends.
func Lock(ctx context.Context, q *pg.Q, s pg.Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return pg.OrNotFound(row, q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where(InScope+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
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
