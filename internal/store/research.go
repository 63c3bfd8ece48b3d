package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// RecordConsent writes one entry of the consent ledger and the subject's present state, and reports whether that changed.
func (q *Q) RecordConsent(ctx context.Context, s Scope, c models.ResearchConsent) (bool, error) {
	n, err := q.exec(ctx, `update subjects set research_consent = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and research_consent <> $4`,
		s.Tenant, s.Environment, c.SubjectUID, c.Consented, c.RecordedAt)
	if err != nil {
		return false, err
	}
	_, err = q.exec(ctx, `insert into research_consents (id, environment_id, subject_uid, consented, recorded_at)
		values ($1, $2, $3, $4, $5)`, c.ID, c.EnvironmentID, c.SubjectUID, c.Consented, c.RecordedAt)
	return n == 1, err
}

// InsertResearchVector keeps a pseudonymised vector if the subject's consent stands; it reports whether it did. The lock
// on the subject makes a withdrawal wait for the vector, and so remove it, or the vector see the withdrawal.
func (q *Q) InsertResearchVector(ctx context.Context, s Scope, subjectUID string, v models.ResearchVector) (bool, error) {
	n, err := q.exec(ctx, `with consenting as (
			select uid from subjects where tenant_id = $1 and environment_id = $2 and uid = $3 and research_consent
			and status = 'active' for share)
		insert into research_vectors (id, environment_id, pseudonym, device_class, vector, created_at)
		select $4, $2, $5, $6, $7, $8 from consenting`,
		s.Tenant, s.Environment, subjectUID, v.ID, v.Pseudonym, v.DeviceClass, v.Vector, v.CreatedAt)
	return n == 1, err
}

// DeleteResearchVectors removes the vectors kept under the pseudonyms.
func (q *Q) DeleteResearchVectors(ctx context.Context, environment string, pseudonyms [][]byte) (int64, error) {
	res := q.with(ctx).Exec("delete from research_vectors where environment_id = ? and pseudonym in ?", environment, pseudonyms)
	return res.RowsAffected, res.Error
}

// DropResearchVectors forgets vectors older than t, at most limit of them.
func (q *Q) DropResearchVectors(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from research_vectors where id in
		(select id from research_vectors where created_at < $1 limit $2)`, t, limit)
}
