package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Insert adds a row of work. In Write the relays are woken after the commit; otherwise they find the row when they poll
// next.
func Insert(ctx context.Context, q *pg.Q, o models.Outbox) error {
	b := &pgx.Batch{}
	events.QueueOutbox(b, o)
	q.MarkOutbox()
	return q.Batch(ctx, b)
}

// byIndex forces the index for the rest of the transaction. Right after a vacuum the table is tiny, so the planner picks a sequential scan and the
// connection caches that plan; minutes later most rows are dead.
const byIndex = "select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"

// longestWait is longer than a failed row waits for its next attempt: receivers of notices may ask for an hour.
const longestWait = 65 * time.Minute

const claimOutbox = `with due as (select id from outbox where topic = any($1) and available_at > $2 and available_at <= $3
		order by available_at, id limit $4 for update skip locked),
	ahead as (select id from outbox where topic = any($1) and attempts = 0 and available_at > $3 and available_at = created_at
		limit $4 for update skip locked),
	stranded as (select id from outbox where topic = any($1) and attempts > 0 and available_at > $6 limit $4 for update skip locked)
	update outbox set attempts = attempts + 1, available_at = $5
	where id = any(array(select id from due union all select id from ahead union all select id from stranded limit $4))
	returning id, topic, environment_id, ref, payload, created_at, available_at, attempts, last_error, trace`

// Claim returns at most limit rows of the topics that became due since a time, or ever if it is zero, and hides them from other relays for
// a duration, after which they are due again: the rows of a relay that dies are claimed by another. A row without an attempt is due at
// once, even if the clock of the replica that inserted it was ahead. So is a row that would wait longer than any does: a clock that was ahead
// set its next attempt.
//
// The index of due rows has an entry for each deleted row until the next vacuum. Those from before the time are not read.
func Claim(ctx context.Context, q *pg.Q, topics []string, limit int, since, now time.Time, hidden time.Duration) (out []models.Outbox, err error) {
	b := &pgx.Batch{}
	b.Queue(byIndex)
	b.Queue(claimOutbox, topics, since, now, limit, now.Add(hidden), now.Add(longestWait)).Query(func(rows pgx.Rows) error {
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (o models.Outbox, err error) {
			return o, row.Scan(&o.ID, &o.Topic, &o.EnvironmentID, &o.Ref, &o.Payload, &o.CreatedAt, &o.AvailableAt, &o.Attempts, &o.LastError, &o.Trace)
		})
		return err
	})
	return out, q.Batch(ctx, b)
}

// DeleteEntries deletes rows whose work is done.
func DeleteEntries(ctx context.Context, q *pg.Q, ids []int64) error {
	b := &pgx.Batch{}
	b.Queue(byIndex)
	b.Queue("delete from outbox where id = any($1)", ids)
	return q.Batch(ctx, b)
}

// delayEntries sets the time of a row's next attempt and stores the reason.
func delayEntries(ctx context.Context, q *pg.Q, id int64, until time.Time, reason string) error {
	_, err := q.Exec(ctx, "update outbox set available_at = $2, last_error = $3 where id = $1", id, until, reason)
	return err
}
