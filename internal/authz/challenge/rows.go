package challenge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GetChallenge returns one challenge of the environment.
func GetChallenge(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Challenge, error) {
	var c Case
	c, err := pg.OrNotFound(c, q.Gorm(ctx).Raw(storedChallenge+" from challenges r where r.tenant_id = @tenant and r.environment_id = @environment and r.id = @id",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id}).Take(&c).Error)
	if err != nil {
		return models.Challenge{}, err
	}
	c.takePutBack(q)
	return c.Challenge, pg.Verify(ctx, q, c.Challenge)
}

// Case is a challenge with everything that its moves read.
type Case struct {
	models.Challenge
	settle.Case
}

var storedChallenge = "select r.*, " + challenges.Ended("r", "@environment") + " as put_back"

var caseOfChallenge = storedChallenge + ", " + settle.CaseColumns + " from challenges r" + settle.CaseTables +
	" where r.environment_id = @environment and r.id = @id and @tenant in ('', r.tenant_id)"

// settledBefore is the status of a challenge whose row is an earlier copy, from before it was settled.
const settledBefore models.ChallengeStatus = "settled"

// readCase returns a challenge, and the request of a move of it if there is a digest. The scope of its own workflow has no tenant.
func readCase(ctx context.Context, q *pg.Q, s pg.Scope, id string, request []byte) (Case, error) {
	var c Case
	c, err := pg.OrNotFound(c, q.Gorm(ctx).Raw(caseOfChallenge,
		map[string]any{"environment": s.Environment, "id": id, "request": request, "tenant": s.Tenant}).Take(&c).Error)
	c.takePutBack(q)
	if err == nil {
		err = c.VerifyRequest(ctx, q)
	}
	return c, err
}

// takePutBack takes a challenge whose row is an earlier copy as settled.
func (c *Case) takePutBack(q *pg.Q) {
	if c.PutBack {
		q.NotePutBack(c.scope(), "challenges", c.ID)
		c.Status = settledBefore
	}
}

// endingOf returns the ending of a challenge, which is open no more.
func endingOf(ctx context.Context, q *pg.Q, c models.Challenge, at time.Time) (models.Ending, error) {
	return pg.Ended(ctx, q, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID},
		models.Left{Record: "challenges", State: c.ID, EndedAt: at, UselessAt: &c.ExpiresAt})
}

// verify fails if the challenge or the decision that opened it was altered (pg.Altered): before its completion is accepted.
func (c Case) verify(ctx context.Context, q *pg.Q) error {
	return errors.Join(pg.Verify(ctx, q, c.Challenge), settle.VerifyDecision(ctx, q, c.EnvironmentID, c.AuthorizationID))
}

// environmentOfChallenge returns the environment of a challenge, by the challenge's id alone.
func environmentOfChallenge(ctx context.Context, q *pg.Q, id string) (models.Environment, error) {
	var e models.Environment
	return pg.OrNotFound(e, q.Gorm(ctx).Where("id = (select environment_id from challenges where id = ?)", id).Take(&e).Error)
}

// completion is how a challenge is completed.
type completion struct {
	method   string
	strength string
	digest   []byte
	at       time.Time
	child    string // the follow-up decision
	ending   models.Ending
}

// queueComplete adds the move of an open challenge to completed. It fails if the challenge is not open, is due or does not offer the
// method.
func queueComplete(b *pgx.Batch, c models.Challenge, d completion) {
	b.Queue(`with moved as (update challenges set status = 'completed', settled_at = $3, method_used = $4, strength = $5, completion_hash = $6,
		child_authorization_id = $7 where environment_id = $1 and id = $2 and status = 'open' and expires_at > $3 and $4 = any(methods) returning 1),
		ended as (`+pg.EndingOf(8)+`)
		select guard(count(*) > 0) from moved`, append([]any{c.EnvironmentID, c.ID, d.at, d.method, d.strength, d.digest, d.child}, pg.EndingArgs(d.ending)...)...)
}

// queueCancel adds the move of an open challenge that is not due to cancelled. It fails if the challenge is not.
func queueCancel(b *pgx.Batch, c models.Challenge, at time.Time, e models.Ending) {
	b.Queue(`with moved as (update challenges set status = 'cancelled', settled_at = $3
		where environment_id = $1 and id = $2 and status = 'open' and expires_at > $3 returning 1), ended as (`+pg.EndingOf(4)+`)
		select guard(count(*) > 0) from moved`, append([]any{c.EnvironmentID, c.ID, at}, pg.EndingArgs(e)...)...)
}

// queueExpire adds the move of an open challenge that is due to expired. It fails if the challenge is not.
func queueExpire(b *pgx.Batch, c models.Challenge, at time.Time, e models.Ending) {
	b.Queue(`with moved as (update challenges set status = 'expired', settled_at = $3
		where environment_id = $1 and id = $2 and status = 'open' and expires_at <= $3 returning 1), ended as (`+pg.EndingOf(4)+`)
		select guard(count(*) > 0) from moved`, append([]any{c.EnvironmentID, c.ID, at}, pg.EndingArgs(e)...)...)
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
	_, err := q.Exec(ctx, `insert into challenge_links (mac, environment_id, challenge_id, credential_id, return_url, created_at, expires_at, for_client, random)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		l.MAC, l.EnvironmentID, l.ChallengeID, l.CredentialID, l.ReturnURL, l.CreatedAt, l.ExpiresAt, l.ForClient, l.Random)
	return err
}

// openLink stores the browser that opened a link, and replaces the random bytes that it signed. It returns false if the link was opened
// meanwhile, or has ended.
func openLink(ctx context.Context, q *pg.Q, l models.ChallengeLink, opened, random []byte, at time.Time) (bool, error) {
	rows, err := q.Exec(ctx, `update challenge_links set opened = $4, random = $5
		where environment_id = $1 and mac = $2 and random = $3 and failures < $6 and expires_at > $7`,
		l.EnvironmentID, l.MAC, l.Random, opened, random, MaxFailures, at)
	return rows == 1, err
}

// refuseLink counts a refused attempt to open a link and returns how many there are; 0 if the link has ended.
func refuseLink(ctx context.Context, q *pg.Q, l models.ChallengeLink, at time.Time) (failures int, err error) {
	err = q.QueryRow(ctx, `update challenge_links set failures = failures + 1
		where environment_id = $1 and mac = $2 and failures < $3 and expires_at > $4 returning failures`,
		l.EnvironmentID, l.MAC, MaxFailures, at).Scan(&failures)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return failures, err
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

// CancelChallengesOfSubject cancels the subject's open challenges of before a time that are not due and returns them.
func CancelChallengesOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before, at time.Time) ([]Voided, error) {
	var rows []Voided
	err := q.Gorm(ctx).Raw(`with voided as (
			update challenges set status = 'cancelled', settled_at = @at
			where subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and status = 'open' and expires_at > @at
			and created_at <= @before returning id, authorization_id, expires_at)
		select v.id, v.authorization_id, v.expires_at, a.action_key, a.decision
		from voided v join authorizations a on a.id = v.authorization_id and a.environment_id = @environment order by v.id`,
		map[string]any{"before": before, "at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	return rows, EndVoided(ctx, q, s, "challenges", at, rows)
}

// OverdueChallenges returns at most limit challenges of any environment that should have expired before t.
func OverdueChallenges(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, id from challenges where status = 'open' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// DropLinks deletes at most limit links that expired before t.
func DropLinks(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from challenge_links where (mac, environment_id) in (select mac, environment_id from challenge_links where expires_at < $1 limit $2)`, t, limit)
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
	var v models.PolicyVersion
	err := q.Gorm(ctx).Raw(`select v.* from authorizations a join policy_versions v on v.action_id = a.action_id and v.version = a.policy_version
		where a.tenant_id = ? and a.environment_id = ? and a.id = ?`, s.Tenant, s.Environment, c.AuthorizationID).Take(&v).Error
	if v, err = pg.OrNotFound(v, err); err != nil {
		return nil, err
	}
	var permitted struct {
		Models []string `json:"passkey_aaguids"`
	}
	if err := json.Unmarshal(v.Requirements, &permitted); err != nil {
		return nil, err
	}
	active, err := ActivePasskeys(ctx, q, s, c.SubjectUID)
	return models.OfModels(active, permitted.Models), err
}

// spendable returns the condition that the passkey with the id $2 accepts an assertion with the sign count $3: it is not revoked and no other assertion
// reached the count before. Authenticators without a counter always send zero.
func spendable() string {
	return "environment_id = $1 and id = $2 and revoked_at is null and (sign_count < $3 or (sign_count = 0 and $3 = 0)) and " + pg.NotEnded("passkeys", "passkeys")
}

// isSpendable reports whether the passkey of a request accepts its assertion.
func isSpendable(ctx context.Context, q *pg.Q, m models.MoveRequest) (bool, error) {
	var ok bool
	err := q.QueryRow(ctx, "select exists (select from passkeys where "+spendable()+")", m.EnvironmentID, m.PasskeyID, m.SignCount).Scan(&ok)
	return ok, err
}

// QueueSpend adds that the sign count of the passkey of a request is raised to that of its assertion. It fails if the passkey does not accept
// the assertion.
func QueueSpend(b *pgx.Batch, m models.MoveRequest, at time.Time) {
	b.Queue("with spent as (update passkeys set sign_count = $3, backup_state = $4, last_used_at = $5 where "+spendable()+` returning 1)
		select guard(count(*) > 0) from spent`, m.EnvironmentID, m.PasskeyID, m.SignCount, m.BackupState, at)
}

// Voided is a challenge or proof that a change of its subject cancelled or revoked.
type Voided struct {
	ID              string
	AuthorizationID string
	ExpiresAt       time.Time
	ActionKey       string
	Decision        string
}

// EndVoided inserts the endings of records of a table that were voided.
func EndVoided(ctx context.Context, q *pg.Q, s pg.Scope, table string, at time.Time, rows []Voided) error {
	left := make([]models.Left, len(rows))
	for i, r := range rows {
		left[i] = models.Left{Record: table, State: r.ID, EndedAt: at, UselessAt: &r.ExpiresAt}
	}
	return pg.End(ctx, q, s, left...)
}
