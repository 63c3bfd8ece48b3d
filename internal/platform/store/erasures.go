package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Erasures stores erasures and deletes what they erase.
type Erasures struct{ *Q }

// Erasures returns the queries of the aggregate.
func (q *Q) Erasures() Erasures { return Erasures{q} }

// HideSubject begins an erasure: nothing finds the subject from here on, and its external id is free at once.
func (q Erasures) HideSubject(ctx context.Context, s Scope, uid string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set status = 'erasing', external_id = uid, research_consent = false, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status <> 'erasing'`, s.Tenant, s.Environment, uid, at)
	return n == 1, err
}

// Create inserts an erasure.
func (q Erasures) Create(ctx context.Context, e models.Erasure) error {
	return q.gorm(ctx).Create(&e).Error
}

// Get finds an erasure by id alone: a run knows the erasure it was started for, and nobody else asks.
func (q Erasures) Get(ctx context.Context, id string) (models.Erasure, error) {
	var e models.Erasure
	return one(e, q.gorm(ctx).Where("id = ?", id).Take(&e).Error)
}

// Lock is Erasure with the row locked to the end of the transaction.
func (q Erasures) Lock(ctx context.Context, id string) (models.Erasure, error) {
	var e models.Erasure
	return one(e, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", id).Take(&e).Error)
}

// Count keeps how much an erasure has removed so far.
func (q Erasures) Count(ctx context.Context, id string, removed models.JSON) error {
	_, err := q.exec(ctx, "update erasures set removed = $2 where id = $1", id, removed)
	return err
}

// Finish leaves the receipt, which names nobody.
func (q Erasures) Finish(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update erasures set status = 'completed', completed_at = $2, subject_uid = null, subject = null
		where id = $1 and status = 'erasing'`, id, at)
	return n == 1, err
}

// subjectTables hold rows of one subject, what hangs off others first. Reviews, links and requests go with the challenge,
// hold or authorization they belong to. A test holds the list and the schema equal.
var subjectTables = []string{
	"frame_digests", "typed_passages", "frames", "templates", "enrollments", "sessions", "client_tokens", "registration_grants", "passkeys", "recoveries",
	"research_consents", "proofs", "challenges", "holds", "shown_details", "authorizations",
}

// EraseRows removes at most limit rows of each table that holds rows of the subject. It answers how many went, by table,
// and whether there may be more.
func (q Erasures) EraseRows(ctx context.Context, uid string, limit int) (removed map[string]int64, more bool, err error) {
	removed = map[string]int64{}
	for _, table := range subjectTables {
		n, err := q.exec(ctx, `delete from `+table+` where ctid = any (array(
			select ctid from `+table+` where subject_uid = $1 limit $2))`, uid, limit)
		if err != nil {
			return nil, false, err
		}
		if n > 0 {
			removed[table] = n
		}
		more = more || n == int64(limit)
	}
	return removed, more, nil
}

// StoredResponses lists the answers kept for the Idempotency-Key header in an environment, behind after, by credential and key.
func (q Erasures) StoredResponses(ctx context.Context, environment string, after models.IdempotencyKey, limit int) ([]models.IdempotencyKey, error) {
	var rows []models.IdempotencyKey
	err := q.gorm(ctx).Raw(`select i.* from idempotency_keys i join credentials c on c.id = i.credential_id
		where c.environment_id = @environment and i.body is not null and (i.credential_id, i.key) > (@credential, @key)
		order by i.credential_id, i.key limit @limit`, map[string]any{
		"environment": environment, "credential": after.CredentialID, "key": after.Key, "limit": limit,
	}).Scan(&rows).Error
	return rows, err
}

// DeleteStoredResponse removes one kept answer.
func (q Erasures) DeleteStoredResponse(ctx context.Context, k models.IdempotencyKey) error {
	_, err := q.exec(ctx, "delete from idempotency_keys where credential_id = $1 and key = $2", k.CredentialID, k.Key)
	return err
}

// EraseEvents removes the personal part of at most limit of the subject's events. The rows stay, and with them
// the audit chain.
func (q Erasures) EraseEvents(ctx context.Context, uid string, at time.Time, limit int) (int64, error) {
	return q.exec(ctx, `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $2
		where id in (select id from events where subject_uid = $1 limit $3)`, uid, at, limit)
}

// DeleteSubject removes the row of a subject that is being erased.
func (q Erasures) DeleteSubject(ctx context.Context, uid string) error {
	_, err := q.exec(ctx, "delete from subjects where uid = $1 and status = 'erasing'", uid)
	return err
}

// RunRef names the record that a run was started for.
type WorkflowRef struct {
	Kind string // adaptation, challenge, hold, enrollment, recovery
	ID   string
}

// WorkflowsOfSubject lists what runs may have been started for the subject, by kind and id, behind after.
func (q Erasures) WorkflowsOfSubject(ctx context.Context, uid string, after WorkflowRef, limit int) ([]WorkflowRef, error) {
	var rows []WorkflowRef
	err := q.gorm(ctx).Raw(`select kind, id from (
			select 'challenge' as kind, id from challenges where subject_uid = @uid
			union all select 'enrollment', id from enrollments where subject_uid = @uid
			union all select 'hold', authorization_id from holds where subject_uid = @uid
			union all select 'adaptation', id from sessions where subject_uid = @uid and status <> 'active' and coverage = 'sufficient'
			union all select 'recovery', id from recoveries where subject_uid = @uid) runs
		where (kind, id) > (@kind, @id) order by kind, id limit @limit`,
		map[string]any{"uid": uid, "kind": after.Kind, "id": after.ID, "limit": limit}).Scan(&rows).Error
	return rows, err
}

// Unfinished are erasures requested before t that are not completed, oldest first.
func (q Erasures) Unfinished(ctx context.Context, t time.Time, limit int) ([]models.Erasure, error) {
	var rows []models.Erasure
	err := q.gorm(ctx).Where("status = 'erasing' and requested_at < ?", t).Order("requested_at, id").Limit(limit).Find(&rows).Error
	return rows, err
}
