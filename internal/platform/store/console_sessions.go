package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// ConsoleSessions stores the sessions of staff in the console.
type ConsoleSessions struct{ *Q }

// ConsoleSessions returns the queries of the aggregate.
func (q *Q) ConsoleSessions() ConsoleSessions { return ConsoleSessions{q} }

// Create inserts a session. It returns false if its ceremony opened a session before.
func (q ConsoleSessions) Create(ctx context.Context, s models.ConsoleSession) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ceremony"}}, DoNothing: true}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get returns the session with one of the MACs of its cookie, and its person. It returns ended and expired sessions too.
func (q ConsoleSessions) Get(ctx context.Context, macs [][]byte) (models.ConsoleSession, models.Person, error) {
	var s models.ConsoleSession
	var p models.Person
	if s, err := orNotFound(s, q.gorm(ctx).Where("mac in ?", macs).Take(&s).Error); err != nil {
		return s, p, err
	}
	p, err := orNotFound(p, q.gorm(ctx).Where("id = ?", s.PersonID).Take(&p).Error)
	return s, p, err
}

// Touch records when a session was last used.
func (q ConsoleSessions) Touch(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, "update console_sessions set last_seen_at = $2 where id = $1 and ended_at is null and last_seen_at < $2", id, at)
	return err
}

// BeginConfirmation stores the ceremony that may confirm a session next, in place of an earlier one.
func (q ConsoleSessions) BeginConfirmation(ctx context.Context, id string, ceremony []byte) error {
	_, err := q.exec(ctx, "update console_sessions set confirming = $2 where id = $1 and ended_at is null", id, ceremony)
	return err
}

// Confirm records that the person of a session used a passkey again and ends the ceremony. It returns false if the
// session has ended or the ceremony is not the stored one. The column ceremony stays that of the sign-in: it is unique,
// so that no sign-in can be used twice.
func (q ConsoleSessions) Confirm(ctx context.Context, id string, ceremony []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update console_sessions set confirmed_at = $3, last_seen_at = $3, confirming = null
		where id = $1 and ended_at is null and confirming = $2`, id, ceremony, at)
	return n == 1, err
}

// End ends one session. It returns false if it had ended.
func (q ConsoleSessions) End(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, "update console_sessions set ended_at = $2 where id = $1 and ended_at is null", id, at)
	return n == 1, err
}

// EndAll ends all sessions of a person and returns their ids.
func (q ConsoleSessions) EndAll(ctx context.Context, person string, at time.Time) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("update console_sessions set ended_at = ? where person_id = ? and ended_at is null returning id", at, person).
		Find(&ids).Error
	return ids, err
}
