package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Lists for work that recurs. They look at every environment: upkeep is done for all of them at once.

// Overdue are open challenges that should have expired before t, at most limit of them.
func (q Challenges) Overdue(ctx context.Context, t time.Time, limit int) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("select id from challenges where status = 'open' and expires_at < ? order by expires_at limit ?", t, limit).Scan(&ids).Error
	return ids, err
}

// Overdue are pending holds that should have expired before t, at most limit of them.
func (q Holds) Overdue(ctx context.Context, t time.Time, limit int) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("select authorization_id from holds where status = 'pending' and due_at < ? order by due_at limit ?", t, limit).Scan(&ids).Error
	return ids, err
}

// Overdue are open evaluations that should have closed before t, at most limit of them.
func (q Evaluations) Overdue(ctx context.Context, t time.Time, limit int) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("select id from evaluations where status = 'open' and ends_at < ? order by ends_at limit ?", t, limit).Scan(&ids).Error
	return ids, err
}

// ExpireIdle moves active sessions without activity since t to expired, at most limit of them, and returns them.
// Rows that somebody works on are left for the next time. They are found by when they began: an index on the last activity
// would make every frame of evidence dearer.
func (q Sessions) ExpireIdle(ctx context.Context, t, at time.Time, limit int) ([]models.Session, error) {
	var rows []models.Session
	err := q.gorm(ctx).Raw(`update sessions s set status = 'expired', ended_at = ? from (select id from sessions
		where status = 'active' and started_at < ? and last_activity_at < ? order by started_at limit ? for update skip locked) idle
		where s.id = idle.id returning s.id, s.tenant_id, s.environment_id, s.subject_uid, s.started_at`, at, t, t, limit).Scan(&rows).Error
	return rows, err
}

// ExternalID is the relying party's own id of a subject; empty for one that is erased.
func (q Subjects) ExternalID(ctx context.Context, uid string) (string, error) {
	return q.externalID(ctx, uid)
}

// Drop forgets client tokens that ended before t, at most limit of them.
func (q ClientTokens) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from client_tokens where ctid = any (array(select ctid from client_tokens where expires_at < $1 limit $2))`, t, limit)
}

// DropLinks forgets links that ended before t, at most limit of them.
func (q Challenges) DropLinks(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from challenge_links where ctid = any (array(select ctid from challenge_links where expires_at < $1 limit $2))`, t, limit)
}

// ActiveSince are the environments whose signing key has been active since before t, at most limit of them.
func (q SigningKeys) ActiveSince(ctx context.Context, t time.Time, limit int) ([]Scope, error) {
	return q.SigningKeys().scopes(ctx, "status = 'active' and activated_at < ?", t, limit)
}

// RetiringSince are the environments with a signing key that has been retiring since before t, at most limit of them.
func (q SigningKeys) RetiringSince(ctx context.Context, t time.Time, limit int) ([]Scope, error) {
	return q.SigningKeys().scopes(ctx, "status = 'retiring' and retiring_at < ?", t, limit)
}

func (q SigningKeys) scopes(ctx context.Context, condition string, t time.Time, limit int) ([]Scope, error) {
	var rows []Scope
	err := q.gorm(ctx).Raw("select distinct tenant_id as tenant, environment_id as environment from signing_keys where "+
		condition+" limit ?", t, limit).Scan(&rows).Error
	return rows, err
}
