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

// HideSubject begins an erasure: from now on no lookup returns the subject, and its external id can be used again. It
// returns false if the subject is being erased already.
func (q Erasures) HideSubject(ctx context.Context, s Scope, uid string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set status = 'erasing', external_id = uid, research_consent = false, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and status <> 'erasing'`, s.Tenant, s.Environment, uid, at)
	return n == 1, err
}

// Create inserts an erasure.
func (q Erasures) Create(ctx context.Context, e models.Erasure) error {
	return q.gorm(ctx).Create(&e).Error
}

// Get returns an erasure of an environment, for its workflow.
func (q Erasures) Get(ctx context.Context, environment, id string) (models.Erasure, error) {
	var e models.Erasure
	return orNotFound(e, q.gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&e).Error)
}

// Lock is like Get and locks the row until the transaction ends.
func (q Erasures) Lock(ctx context.Context, environment, id string) (models.Erasure, error) {
	var e models.Erasure
	return orNotFound(e, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("environment_id = ? and id = ?", environment, id).Take(&e).Error)
}

// Count stores how many rows an erasure has removed so far, by table.
func (q Erasures) Count(ctx context.Context, e models.Erasure, removed models.JSON) error {
	_, err := q.exec(ctx, "update erasures set removed = $2 where id = $1 and environment_id = $3", e.ID, removed, e.EnvironmentID)
	return err
}

// Finish completes an erasure and removes the subject from its row, which stays as a receipt. It returns false if it was
// completed before.
func (q Erasures) Finish(ctx context.Context, e models.Erasure, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update erasures set status = 'completed', completed_at = $2, subject_uid = null, subject = null
		where id = $1 and environment_id = $3 and status = 'erasing'`, e.ID, at, e.EnvironmentID)
	return n == 1, err
}

// subjectTables are the tables whose rows an erasure deletes by their subject, referring tables first. Others are deleted with the row that
// they belong to.
var subjectTables = func() (out []string) {
	for _, t := range models.SubjectTables {
		if t.Erased == models.DeletedBySubject {
			out = append(out, t.Name)
		}
	}
	return out
}()

// subjectKeys are the columns of the primary keys of subjectTables, but for the environment and the subject.
var subjectKeys = map[string]string{ // #nosec G101 -- names of columns
	"frame_digests": "digest", "typed_passages": "device_class, block", "frames": "session_id, frame_id", "background_shares": "modality",
	"templates": "id", "enrollments": "id", "sessions": "id", "client_tokens": "mac", "registration_grants": "mac", "passkeys": "id",
	"recoveries": "id", "research_consents": "id", "challenges": "id", "review_notes": "authorization_id, reviewer, note_digest",
	"holds": "authorization_id", "shown_details": "authorization_id", "kept_values": "authorization_id", "proofs": "jti", "authorizations": "id",
}

// EraseRows deletes at most limit rows of the subject from each table. It returns how many it deleted, by table, and
// whether there may be more.
func (q Erasures) EraseRows(ctx context.Context, environment, uid string, limit int) (removed map[string]int64, more bool, err error) {
	removed = map[string]int64{}
	for _, table := range subjectTables {
		n, err := q.eraseFrom(ctx, table, environment, uid, limit)
		if err != nil {
			return nil, false, err
		}
		if n > 0 {
			removed[table] += n
		}
		more = more || n == int64(limit)
	}
	return removed, more, nil
}

// eraseFrom deletes at most limit rows of a subject from a table, by its primary key.
func (q Erasures) eraseFrom(ctx context.Context, table, environment, uid string, limit int) (int64, error) {
	key := subjectKeys[table]
	return q.exec(ctx, `delete from `+table+` where environment_id = $2 and subject_uid = $1 and (`+key+`) in
		(select `+key+` from `+table+` where environment_id = $2 and subject_uid = $1 limit $3)`, uid, environment, limit)
}

// StoredResponses returns at most limit responses stored for the Idempotency-Key header in an environment, by credential
// and key, behind after.
func (q Erasures) StoredResponses(ctx context.Context, environment string, after models.IdempotencyKey, limit int) ([]models.IdempotencyKey, error) {
	var rows []models.IdempotencyKey
	err := q.gorm(ctx).Raw(`select i.* from idempotency_keys i join credentials c on c.id = i.credential_id
		where i.environment_id = @environment and c.environment_id = @environment and i.body is not null and (i.credential_id, i.key) > (@credential, @key)
		order by i.credential_id, i.key limit @limit`, map[string]any{
		"environment": environment, "credential": after.CredentialID, "key": after.Key, "limit": limit,
	}).Find(&rows).Error
	return rows, err
}

// DeleteStoredResponse deletes one stored response.
func (q Erasures) DeleteStoredResponse(ctx context.Context, k models.IdempotencyKey) error {
	_, err := q.exec(ctx, "delete from idempotency_keys where credential_id = $1 and key = $2 and environment_id = $3", k.CredentialID, k.Key, k.EnvironmentID)
	return err
}

// EraseEvents removes the personal part of at most limit of the subject's events. The rows stay, so that the audit chain
// can still be verified.
func (q Erasures) EraseEvents(ctx context.Context, environment, uid string, at time.Time, limit int) (int64, error) {
	return q.exec(ctx, `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $2
		where environment_id = $4 and id in (select id from events where environment_id = $4 and subject_uid = $1 limit $3)`, uid, at, limit, environment)
}

// DeleteSubject deletes the row of a subject that is being erased.
func (q Erasures) DeleteSubject(ctx context.Context, environment, uid string) error {
	_, err := q.exec(ctx, "delete from subjects where uid = $1 and environment_id = $2 and status = 'erasing'", uid, environment)
	return err
}

// WorkflowRef names the row that a workflow was started for.
type WorkflowRef struct {
	Kind string // adaptation, challenge, hold, enrollment, recovery
	ID   string
}

// WorkflowsOfSubject returns at most limit workflows that may have been started for the subject, by kind and id, behind
// after.
func (q Erasures) WorkflowsOfSubject(ctx context.Context, environment, uid string, after WorkflowRef, limit int) ([]WorkflowRef, error) {
	var rows []WorkflowRef
	err := q.gorm(ctx).Raw(`select kind, id from (
			select 'challenge' as kind, id from challenges where environment_id = @environment and subject_uid = @uid
			union all select 'enrollment', id from enrollments where environment_id = @environment and subject_uid = @uid
			union all select 'hold', authorization_id from holds where environment_id = @environment and subject_uid = @uid
			union all select 'adaptation', id from sessions where environment_id = @environment and subject_uid = @uid and status <> 'active' and coverage = 'sufficient'
			union all select 'recovery', id from recoveries where environment_id = @environment and subject_uid = @uid) runs
		where (kind, id) > (@kind, @id) order by kind, id limit @limit`,
		map[string]any{"environment": environment, "uid": uid, "kind": after.Kind, "id": after.ID, "limit": limit}).Find(&rows).Error
	return rows, err
}

// Unfinished returns at most limit erasures requested before t that are not completed, oldest first.
func (q Erasures) Unfinished(ctx context.Context, t time.Time, limit int) ([]models.Erasure, error) {
	var rows []models.Erasure
	err := q.gorm(ctx).Where("status = 'erasing' and requested_at < ?", t).Order("requested_at, id").Limit(limit).Find(&rows).Error
	return rows, err
}
