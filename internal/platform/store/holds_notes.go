package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// PutNote stores the note of a reviewer's review of a hold. A repeated note changes nothing.
func (q Holds) PutNote(ctx context.Context, n models.ReviewNote) error {
	_, err := q.exec(ctx, `insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
		n.AuthorizationID, n.Reviewer, n.TenantID, n.EnvironmentID, n.SubjectUID, n.NoteDigest, n.Note, n.WrittenAt)
	return err
}

// Notes returns the notes of the recorded reviews of a hold. A note whose review was not made is left out.
func (q Holds) Notes(ctx context.Context, s Scope, authorization string) ([]models.ReviewNote, error) {
	var rows []models.ReviewNote
	err := q.gorm(ctx).Raw(`select n.* from review_notes n join reviews r on r.authorization_id = n.authorization_id
		and r.environment_id = n.environment_id and r.reviewer = n.reviewer and r.note_digest = n.note_digest
		where n.tenant_id = ? and n.environment_id = ? and n.authorization_id = ?`, s.Tenant, s.Environment, authorization).Find(&rows).Error
	return rows, err
}
