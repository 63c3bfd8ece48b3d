package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Outbox stores the work that a relay starts after the commit.
type Outbox struct{ *Q }

// Outbox returns the queries of the aggregate.
func (q *Q) Outbox() Outbox { return Outbox{q} }

// Insert adds a row of work. In Write the relays are woken after the commit; otherwise they find the row when they poll
// next.
func (q Outbox) Insert(ctx context.Context, o models.Outbox) error {
	_, err := q.exec(ctx, `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		values ($1, $2, $3, $4, $5, $6)`, o.Topic, o.EnvironmentID, o.Ref, o.Payload, o.CreatedAt, o.AvailableAt)
	q.markOutbox()
	return err
}

// Claim returns at most limit rows of the topics that became due since a time, or ever if it is zero, and hides them from other relays for
// a duration, after which they are due again: the rows of a relay that dies are claimed by another. A row without an attempt is due at
// once, even if the clock of the replica that inserted it was ahead.
//
// Nearly all of a busy outbox is rows that were deleted: the index of due rows has an entry for each until the next vacuum, and those
// from before the time are not read. The planner counts them too. It follows that index only if it expects to find enough of the topics
// at once: it has no estimate for an expression with their array.
func (q Outbox) Claim(ctx context.Context, topics []string, limit int, since, now time.Time, hidden time.Duration) ([]models.Outbox, error) {
	var rows []models.Outbox
	err := q.gorm(ctx).Raw(`with due as (select id from outbox where array_position(cast(@topics as text[]), topic) is not null
			and available_at > @since and available_at <= @now order by available_at, id limit @limit for update skip locked),
		ahead as (select id from outbox where topic = any(@topics) and attempts = 0 and available_at > @now and available_at = created_at
			limit @limit for update skip locked)
		update outbox o set attempts = o.attempts + 1, available_at = @until
		from (select id from due union all select id from ahead limit @limit) claimed
		where o.id = claimed.id returning o.*`, map[string]any{
		"until": now.Add(hidden), "topics": models.Strings(topics), "since": since, "now": now, "limit": limit,
	}).Scan(&rows).Error
	return rows, err
}

// Delete deletes rows whose work is done.
func (q Outbox) Delete(ctx context.Context, ids []int64) error {
	return q.gorm(ctx).Exec("delete from outbox where id in ?", ids).Error
}

// Delay sets the time of a row's next attempt and stores the reason.
func (q Outbox) Delay(ctx context.Context, id int64, until time.Time, reason string) error {
	_, err := q.exec(ctx, "update outbox set available_at = $2, last_error = $3 where id = $1", id, until, reason)
	return err
}
