package settle

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Case has everything that a move of a challenge or a hold needs besides the record's own row.
type Case struct {
	ActionKey    string // of the decision that the record came from, as are the next three
	Decision     string
	Mode         models.ActionMode
	CredentialID string // that requested the authorization
	Subject      string // the relying party's id; empty if the subject is erased
	// PutBack says that the row of the record is an earlier copy: the record was settled before.
	PutBack bool
	// Request is the stored request of the move; nil for a move by time, and for one that no one requested.
	Request *models.MoveRequest `gorm:"serializer:rows"`
}

// The columns of Case and the tables that they are in, for a record r. Their arguments are the environment and the id of the record, @environment and
// @id, and the digest of the request, @request.
var (
	CaseColumns = `a.action_key, a.decision, a.mode, a.credential_id, coalesce(s.external_id, '') as subject,
	(select to_jsonb(m) from move_requests m where m.environment_id = @environment and m.target = @id and m.digest = @request) as request`
	CaseTables = ` join authorizations a on a.environment_id = r.environment_id and a.id = r.authorization_id
		left` + subjectrow.Join("r")
)

// VerifyRequest fails if the stored request of the move was altered (pg.Altered).
func (c Case) VerifyRequest(ctx context.Context, q *pg.Q) error {
	if c.Request == nil {
		return nil
	}
	return pg.Verify(ctx, q, *c.Request)
}

// VerifyDecision fails if the decision that a record came from was altered (pg.Altered).
func VerifyDecision(ctx context.Context, q *pg.Q, environment, id string) error {
	var a models.Authorization
	return q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&a).Error
}

// Commit runs the statements of a move in one transaction, in one round trip.
func Commit(ctx context.Context, st *pg.Store, b *pgx.Batch) error {
	err := st.Transaction(ctx, b)
	if pg.Changed(err) {
		return ErrChanged
	}
	if err == nil {
		st.Wake(pg.ChannelOutbox, "") // with its event
	}
	return err
}

// InsertMove stores a request. A repeated request changes nothing.
func InsertMove(ctx context.Context, q *pg.Q, m models.MoveRequest) error {
	b := &pgx.Batch{}
	if err := QueueMove(ctx, q, b, m); err != nil {
		return err
	}
	return q.Batch(ctx, b)
}

// QueueMove adds InsertMove to a batch.
func QueueMove(ctx context.Context, q *pg.Q, b *pgx.Batch, m models.MoveRequest) error {
	if err := pg.Sign(ctx, q, &m); err != nil {
		return err
	}
	b.Queue(`insert into move_requests (target, digest, authorization_id, move, actor, request_id, method,
		passkey_id, sign_count, backup_state, note_digest, requested_at, environment_id, row_mac, step)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) on conflict do nothing`,
		m.Target, m.Digest, m.AuthorizationID, m.Move, m.Actor, m.RequestID, m.Method, m.PasskeyID, m.SignCount,
		m.BackupState, m.NoteDigest, m.RequestedAt, m.EnvironmentID, m.RowMAC, m.Step)
	return nil
}

// MoveRequested reports whether the actor has requested the move of m of its challenge or hold before.
func MoveRequested(ctx context.Context, q *pg.Q, m models.MoveRequest) (bool, error) {
	var requested bool
	err := q.QueryRow(ctx, `select exists (select from move_requests
		where environment_id = $4 and target = $1 and move = $2 and actor = $3)`, m.Target, m.Move, m.Actor, m.EnvironmentID).Scan(&requested)
	return requested, err
}

// EffectOfDecision returns the decision (allow, challenge, hold or deny) of an authorization.
func EffectOfDecision(ctx context.Context, q *pg.Q, environment, id string) (string, error) {
	var decision string
	err := q.QueryRow(ctx, "select decision from authorizations where id = $1 and environment_id = $2", id, environment).Scan(&decision)
	return pg.OrNotFound(decision, err)
}

// Overdue is a record that upkeep is to settle, of any environment.
type Overdue struct{ Environment, ID string }
