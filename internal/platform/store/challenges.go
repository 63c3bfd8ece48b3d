package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Challenges stores challenges and the links to their pages.
type Challenges struct{ *Q }

// Challenges returns the queries of the aggregate.
func (q *Q) Challenges() Challenges { return Challenges{q} }

// Get returns one challenge of the environment.
func (q Challenges) Get(ctx context.Context, s Scope, id string) (models.Challenge, error) {
	var row models.Challenge
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return orNotFound(row, err)
}

// ChallengeCase is a challenge with the rows that a transition of it needs.
type ChallengeCase struct {
	Challenge models.Challenge
	Parent    models.Authorization
	Subject   string // the relying party's id of the subject
}

// Case returns a challenge of an environment, for the challenge's own workflow.
func (q Challenges) Case(ctx context.Context, environment, id string) (ChallengeCase, error) {
	var c ChallengeCase
	if err := q.gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&c.Challenge).Error; err != nil {
		return orNotFound(c, err)
	}
	if err := q.gorm(ctx).Where("environment_id = ? and id = ?", environment, c.Challenge.AuthorizationID).Take(&c.Parent).Error; err != nil {
		return orNotFound(c, err)
	}
	var err error
	c.Subject, err = q.externalID(ctx, environment, c.Challenge.SubjectUID)
	return c, err
}

// Environment returns the environment of a challenge, by the challenge's id alone.
func (q Challenges) Environment(ctx context.Context, id string) (models.Environment, error) {
	var e models.Environment
	return orNotFound(e, q.gorm(ctx).Where("id = (select environment_id from challenges where id = ?)", id).Take(&e).Error)
}

// Completion says how a challenge was completed.
type Completion struct {
	Method   string
	Strength string
	Digest   []byte
	At       time.Time
}

// Complete moves an open challenge to completed and reports whether it did. It does not if the challenge is due or does
// not offer the method.
func (q Challenges) Complete(ctx context.Context, environment, id string, c Completion) (bool, error) {
	n, err := q.exec(ctx, `update challenges set status = 'completed', settled_at = $2, method_used = $3, strength = $4,
		completion_hash = $5 where id = $1 and environment_id = $6 and status = 'open' and expires_at > $2 and $3 = any(methods)`,
		id, c.At, c.Method, c.Strength, c.Digest, environment)
	return n == 1, err
}

// SetFollowUp records the follow-up decision of a completed challenge.
func (q Challenges) SetFollowUp(ctx context.Context, environment, id, child string) error {
	_, err := q.exec(ctx, "update challenges set child_authorization_id = $2 where id = $1 and environment_id = $3", id, child, environment)
	return err
}

// Cancel moves an open challenge that is not due to cancelled and reports whether it did.
func (q Challenges) Cancel(ctx context.Context, environment, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update challenges set status = 'cancelled', settled_at = $2
		where id = $1 and environment_id = $3 and status = 'open' and expires_at > $2`, id, at, environment)
	return n == 1, err
}

// Expire moves an open challenge that is due to expired and reports whether it did.
func (q Challenges) Expire(ctx context.Context, environment, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update challenges set status = 'expired', settled_at = $2
		where id = $1 and environment_id = $3 and status = 'open' and expires_at <= $2`, id, at, environment)
	return n == 1, err
}

// Fail counts a refused assertion against an open challenge; the one that reaches the limit fails the challenge. It
// returns the number of failures so far and whether this one failed the challenge. Zero failures mean that the challenge
// was not open.
func (q Challenges) Fail(ctx context.Context, s Scope, id string, limit int, at time.Time) (failures int, failed bool, err error) {
	var rows []struct {
		Failures int
		Status   models.ChallengeStatus
	}
	err = q.gorm(ctx).Raw(`update challenges set failures = failures + 1,
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

// InsertLink stores a link to the page of a challenge, by the MAC of its ticket.
func (q Challenges) InsertLink(ctx context.Context, l models.ChallengeLink) error {
	_, err := q.exec(ctx, "insert into challenge_links (mac, environment_id, challenge_id, return_url, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)",
		l.MAC, l.EnvironmentID, l.ChallengeID, l.ReturnURL, l.CreatedAt, l.ExpiresAt)
	return err
}

// ByLink returns a link that has not expired at the time, and its challenge; the zero time finds expired links too. The caller passes the MACs of the ticket under each key of the keyring.
func (q Challenges) ByLink(ctx context.Context, macs [][]byte, at time.Time) (models.ChallengeLink, models.Challenge, error) {
	var link models.ChallengeLink
	var row models.Challenge
	if err := q.gorm(ctx).Where("mac in ? and expires_at > ?", macs, at).Take(&link).Error; err != nil {
		link, err = orNotFound(link, err)
		return link, row, err
	}
	err := q.gorm(ctx).Where("environment_id = ? and id = ?", link.EnvironmentID, link.ChallengeID).Take(&row).Error
	row, err = orNotFound(row, err)
	return link, row, err
}

// CancelOfSubject cancels the subject's open challenges that are not due and returns them.
func (q Challenges) CancelOfSubject(ctx context.Context, s Scope, uid string, at time.Time) ([]Voided, error) {
	var rows []Voided
	err := q.gorm(ctx).Raw(`with voided as (
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

// Lists for work that recurs. They look at every environment: upkeep is done for all of them at once.

// Overdue returns at most limit challenges of any environment that should have expired before t.
func (q Challenges) Overdue(ctx context.Context, t time.Time, limit int) ([]Overdue, error) {
	var rows []Overdue
	err := q.gorm(ctx).Raw("select environment_id as environment, id from challenges where status = 'open' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// DropLinks deletes at most limit links that expired before t.
func (q Challenges) DropLinks(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from challenge_links where (mac, environment_id) in (select mac, environment_id from challenge_links where expires_at < $1 limit $2)`, t, limit)
}
