package challenge

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GetChallenge returns one challenge of the environment.
func GetChallenge(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Challenge, error) {
	var row models.Challenge
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// Case is a challenge with the rows that a transition of it needs.
type Case struct {
	Challenge models.Challenge
	Parent    models.Authorization
	Subject   string // the relying party's id of the subject
}

// readCase returns a challenge of an environment, for the challenge's own workflow.
func readCase(ctx context.Context, q *pg.Q, environment, id string) (Case, error) {
	var c Case
	if err := q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&c.Challenge).Error; err != nil {
		return pg.OrNotFound(c, err)
	}
	if err := q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, c.Challenge.AuthorizationID).Take(&c.Parent).Error; err != nil {
		return pg.OrNotFound(c, err)
	}
	var err error
	c.Subject, err = q.Subjects().ExternalID(ctx, environment, c.Challenge.SubjectUID)
	return c, err
}

// environmentOfChallenge returns the environment of a challenge, by the challenge's id alone.
func environmentOfChallenge(ctx context.Context, q *pg.Q, id string) (models.Environment, error) {
	var e models.Environment
	return pg.OrNotFound(e, q.Gorm(ctx).Where("id = (select environment_id from challenges where id = ?)", id).Take(&e).Error)
}

// Completion says how a challenge was completed.
type Completion struct {
	Method   string
	Strength string
	Digest   []byte
	At       time.Time
}

// completeChallenge moves an open challenge to completed and reports whether it did. It does not if the challenge is due or does
// not offer the method.
func completeChallenge(ctx context.Context, q *pg.Q, environment, id string, c Completion) (bool, error) {
	n, err := q.Exec(ctx, `update challenges set status = 'completed', settled_at = $2, method_used = $3, strength = $4,
		completion_hash = $5 where id = $1 and environment_id = $6 and status = 'open' and expires_at > $2 and $3 = any(methods)`,
		id, c.At, c.Method, c.Strength, c.Digest, environment)
	return n == 1, err
}

// setChallengeFollowUp records the follow-up decision of a completed challenge.
func setChallengeFollowUp(ctx context.Context, q *pg.Q, environment, id, child string) error {
	_, err := q.Exec(ctx, "update challenges set child_authorization_id = $2 where id = $1 and environment_id = $3", id, child, environment)
	return err
}

// CancelChallenge moves an open challenge that is not due to cancelled and reports whether it did.
func CancelChallenge(ctx context.Context, q *pg.Q, environment, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update challenges set status = 'cancelled', settled_at = $2
		where id = $1 and environment_id = $3 and status = 'open' and expires_at > $2`, id, at, environment)
	return n == 1, err
}

// expireChallenge moves an open challenge that is due to expired and reports whether it did.
func expireChallenge(ctx context.Context, q *pg.Q, environment, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update challenges set status = 'expired', settled_at = $2
		where id = $1 and environment_id = $3 and status = 'open' and expires_at <= $2`, id, at, environment)
	return n == 1, err
}

// failChallenge counts a refused assertion against an open challenge; the one that reaches the limit fails the challenge. It
// returns the number of failures so far and whether this one failed the challenge. Zero failures mean that the challenge
// was not open.
func failChallenge(ctx context.Context, q *pg.Q, s pg.Scope, id string, limit int, at time.Time) (failures int, failed bool, err error) {
	var rows []struct {
		Failures int
		Status   models.ChallengeStatus
	}
	err = q.Gorm(ctx).Raw(`update challenges set failures = failures + 1,
		status = case when failures + 1 >= @limit then 'failed' else status end,
		settled_at = case when failures + 1 >= @limit then cast(@at as timestamptz) end
		where tenant_id = @tenant and environment_id = @environment and id = @id and status = 'open' and expires_at > @at
		returning failures, status`, map[string]any{
		"limit": limit, "at": at, "tenant": s.Tenant, "environment": s.Environment, "id": id,
	}).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	return rows[0].Failures, rows[0].Status == models.ChallengeFailed, nil
}

// insertLink stores a link to the page of a challenge, by the MAC of its ticket.
func insertLink(ctx context.Context, q *pg.Q, l models.ChallengeLink) error {
	_, err := q.Exec(ctx, "insert into challenge_links (mac, environment_id, challenge_id, return_url, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)",
		l.MAC, l.EnvironmentID, l.ChallengeID, l.ReturnURL, l.CreatedAt, l.ExpiresAt)
	return err
}

// challengeByLink returns a link that has not expired at the time, and its challenge; the zero time finds expired links too. The caller passes the MACs of the ticket under each key of the keyring.
func challengeByLink(ctx context.Context, q *pg.Q, macs [][]byte, at time.Time) (models.ChallengeLink, models.Challenge, error) {
	var link models.ChallengeLink
	var row models.Challenge
	if err := q.Gorm(ctx).Where("mac in ? and expires_at > ?", macs, at).Take(&link).Error; err != nil {
		link, err = pg.OrNotFound(link, err)
		return link, row, err
	}
	err := q.Gorm(ctx).Where("environment_id = ? and id = ?", link.EnvironmentID, link.ChallengeID).Take(&row).Error
	row, err = pg.OrNotFound(row, err)
	return link, row, err
}

// CancelChallengesOfSubject cancels the subject's open challenges that are not due and returns them.
func CancelChallengesOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) ([]Voided, error) {
	var rows []Voided
	err := q.Gorm(ctx).Raw(`with voided as (
			update challenges set status = 'cancelled', settled_at = @at
			where subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and status = 'open' and expires_at > @at
			returning id, authorization_id)
		select v.id, v.authorization_id, a.action_key, a.decision
		from voided v join authorizations a on a.id = v.authorization_id and a.environment_id = @environment order by v.id`,
		map[string]any{"at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	return rows, err
}

// Overdue is a record that upkeep is to settle, of any environment.
type Overdue struct{ Environment, ID string }

// OverdueChallenges returns at most limit challenges of any environment that should have expired before t.
func OverdueChallenges(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]Overdue, error) {
	var rows []Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, id from challenges where status = 'open' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// DropLinks deletes at most limit links that expired before t.
func DropLinks(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from challenge_links where (mac, environment_id) in (select mac, environment_id from challenge_links where expires_at < $1 limit $2)`, t, limit)
}

// EffectOfDecision returns the decision (allow, challenge, hold or deny) of an authorization.
func EffectOfDecision(ctx context.Context, q *pg.Q, environment, id string) (string, error) {
	var decision string
	err := q.QueryRow(ctx, "select decision from authorizations where id = $1 and environment_id = $2", id, environment).Scan(&decision)
	return pg.OrNotFound(decision, err)
}

// Requester is the part that a completion or review reads of an authorization that may have no hold: its action, and the credential that
// requested it.
type Requester struct {
	ActionKey    string
	CredentialID string
	Mode         models.ActionMode
}

// RequesterOfDecision returns the requester of an authorization of the environment.
func RequesterOfDecision(ctx context.Context, q *pg.Q, s pg.Scope, id string) (Requester, error) {
	var k Requester
	err := q.QueryRow(ctx, `select action_key, credential_id, mode from authorizations
		where tenant_id = $1 and environment_id = $2 and id = $3`, s.Tenant, s.Environment, id).Scan(&k.ActionKey, &k.CredentialID, &k.Mode)
	return pg.OrNotFound(k, err)
}

// ShownDetailsOf returns the sealed details that a decision of the scope shows, or nil if there are none.
func ShownDetailsOf(ctx context.Context, q *pg.Q, s pg.Scope, id string) ([]byte, error) {
	var row models.ShownDetails
	row, err := pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, id).
		Take(&row).Error)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	return row.Details, err
}

// InsertMove stores a request. A repeated request changes nothing.
func InsertMove(ctx context.Context, q *pg.Q, m models.MoveRequest) error {
	_, err := q.Exec(ctx, `insert into move_requests (target, digest, authorization_id, move, actor, request_id, method,
		passkey_id, sign_count, backup_state, note_digest, requested_at, environment_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict do nothing`,
		m.Target, m.Digest, m.AuthorizationID, m.Move, m.Actor, m.RequestID, m.Method, m.PasskeyID, m.SignCount,
		m.BackupState, m.NoteDigest, m.RequestedAt, m.EnvironmentID)
	return err
}

// GetMove returns a stored request for a challenge or a hold, by the digest of its content.
func GetMove(ctx context.Context, q *pg.Q, environment, target string, digest []byte) (models.MoveRequest, error) {
	var row models.MoveRequest
	err := q.Gorm(ctx).Where("environment_id = ? and target = ? and digest = ?", environment, target, digest).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// MoveRequested reports whether the actor has requested the move of m of its challenge or hold before.
func MoveRequested(ctx context.Context, q *pg.Q, m models.MoveRequest) (bool, error) {
	var requested bool
	err := q.QueryRow(ctx, `select exists (select from move_requests 
		where environment_id = $4 and target = $1 and move = $2 and actor = $3)`, m.Target, m.Move, m.Actor, m.EnvironmentID).Scan(&requested)
	return requested, err
}

// ActivePasskeys returns the subjects' passkeys that are not revoked, oldest first.
func ActivePasskeys(ctx context.Context, q *pg.Q, s pg.Scope, uids ...string) ([]models.Passkey, error) {
	var rows []models.Passkey
	err := q.Gorm(ctx).Where(pg.InScope+" and subject_uid in ? and revoked_at is null", s.Tenant, s.Environment, uids).
		Order("created_at, id").Find(&rows).Error
	return rows, err
}

// PasskeysForChallenge returns the subject's passkeys that may complete a challenge, oldest first: those that are not revoked and whose model
// the policy version of the decision permits.
func PasskeysForChallenge(ctx context.Context, q *pg.Q, s pg.Scope, c models.Challenge) ([]models.Passkey, error) {
	var permitted []string
	err := q.QueryRow(ctx, `select coalesce(array(select jsonb_array_elements_text(v.requirements->'passkey_aaguids')), '{}')
		from authorizations a join policy_versions v on v.action_id = a.action_id and v.version = a.policy_version
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = $3`, s.Tenant, s.Environment, c.AuthorizationID).Scan(&permitted)
	if permitted, err = pg.OrNotFound(permitted, err); err != nil {
		return nil, err
	}
	active, err := ActivePasskeys(ctx, q, s, c.SubjectUID)
	return models.OfModels(active, permitted), err
}

// SpendAssertion raises the sign count of the passkey of a request to that of its assertion and reports whether it did. It does not if
// the passkey is revoked or another assertion reached the count before. Authenticators without a counter always send
// zero.
func SpendAssertion(ctx context.Context, q *pg.Q, m models.MoveRequest, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update passkeys set sign_count = $2, backup_state = $3, last_used_at = $4
		where id = $1 and environment_id = $5 and revoked_at is null and (sign_count < $2 or (sign_count = 0 and $2 = 0))`,
		m.PasskeyID, m.SignCount, m.BackupState, at, m.EnvironmentID)
	return n == 1, err
}

// Voided is a challenge or proof that a change of its subject cancelled or revoked.
type Voided struct {
	ID              string
	AuthorizationID string
	ActionKey       string
	Decision        string
}
