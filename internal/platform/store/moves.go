package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Moves stores the requested moves (transitions) of challenges and holds until a workflow executes them.
type Moves struct{ *Q }

// Moves returns the queries of the aggregate.
func (q *Q) Moves() Moves { return Moves{q} }

// Insert stores a request. A repeated request changes nothing.
func (q Moves) Insert(ctx context.Context, m models.MoveRequest) error {
	_, err := q.exec(ctx, `insert into move_requests (target, digest, authorization_id, move, actor, request_id, method,
		passkey_id, sign_count, backup_state, note_digest, requested_at, environment_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict do nothing`,
		m.Target, m.Digest, m.AuthorizationID, m.Move, m.Actor, m.RequestID, m.Method, m.PasskeyID, m.SignCount,
		m.BackupState, m.NoteDigest, m.RequestedAt, m.EnvironmentID)
	return err
}

// Get returns a stored request for a challenge or a hold, by the digest of its content.
func (q Moves) Get(ctx context.Context, environment, target string, digest []byte) (models.MoveRequest, error) {
	var row models.MoveRequest
	err := q.gorm(ctx).Where("environment_id = ? and target = ? and digest = ?", environment, target, digest).Take(&row).Error
	return orNotFound(row, err)
}

// Requested reports whether the actor has requested the move of m of its challenge or hold before.
func (q Moves) Requested(ctx context.Context, m models.MoveRequest) (bool, error) {
	var requested bool
	err := q.queryRow(ctx, `select exists (select from move_requests 
		where environment_id = $4 and target = $1 and move = $2 and actor = $3)`, m.Target, m.Move, m.Actor, m.EnvironmentID).Scan(&requested)
	return requested, err
}
