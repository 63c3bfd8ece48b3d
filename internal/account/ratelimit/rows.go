package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// QuotaUse is the state of a bucket after requests were taken from it or refused.
type QuotaUse struct {
	Taken  bool
	FullAt time.Time // when the bucket is full again
	Nearly bool      // these requests crossed 80 % of the bucket; the next time counts once half of it was free
}

// fullAt is when bucket b is full at the time $2 if nothing is taken: in an hour at most. If the clock was ahead when it was last used and is
// right again, its times are moved back by as much.
const fullAt = "greatest(least(b.full_at - greatest(b.used_at - $2, interval '0'), $2 + interval '1 hour'), $2)"

// fullThen is fullAt once $3 of $4 requests are taken.
const fullThen = fullAt + " + interval '1 hour' * ($3::float8 / $4)"

// takeFromQuota takes n requests from a bucket that holds limit requests and refills within an hour, unless fewer than n are left.
func takeFromQuota(ctx context.Context, q *pg.Q, bucket string, now time.Time, n, limit int) (QuotaUse, error) {
	var use QuotaUse
	err := q.QueryRow(ctx, `with asked as (
			select $2::timestamptz as now, interval '1 hour' * ($3::float8 / $4) as cost),
		took as (
			insert into quotas as b (bucket, full_at, used_at, nearly_used_at)
			select $1, now + cost, now, case when cost >= interval '48 minutes' then now end from asked where cost <= interval '1 hour'
			on conflict (bucket) do update set full_at = `+fullThen+`, used_at = $2,
				nearly_used_at = case
					when `+fullThen+` >= $2 + interval '48 minutes' then least(coalesce(b.nearly_used_at, $2), $2)
					when `+fullThen+` >= $2 + interval '30 minutes' then least(b.nearly_used_at, $2) end
			where `+fullThen+` <= $2 + interval '1 hour 1 millisecond'
			returning full_at, nearly_used_at)
		select true, full_at, coalesce(nearly_used_at = now and full_at - cost < now + interval '48 minutes', false) from took, asked
		union all
		select false, `+fullAt+`, false from quotas b where bucket = $1 and not exists (select 1 from took)`,
		bucket, now, n, limit).Scan(&use.Taken, &use.FullAt, &use.Nearly)
	if errors.Is(err, pgx.ErrNoRows) { // another transaction created the bucket and used it up meanwhile
		return QuotaUse{FullAt: now.Add(time.Hour)}, nil
	}
	return use, err
}

// returnToQuota gives back n requests that were taken and not used.
func returnToQuota(ctx context.Context, q *pg.Q, bucket string, n, limit int) error {
	_, err := q.Exec(ctx, "update quotas set full_at = full_at - interval '1 hour' * ($2::float8 / $3) where bucket = $1", bucket, n, limit)
	return err
}

// NearlyUsed is a bucket that is nearly used up, or was until little time ago.
type NearlyUsed struct {
	Bucket string
	Since  time.Time
	FullAt time.Time
}

// NearlyUsedQuotas returns the buckets whose names begin with the prefix and that are nearly used up at the time.
func NearlyUsedQuotas(ctx context.Context, q *pg.Q, prefix string, at time.Time) ([]NearlyUsed, error) {
	var out []NearlyUsed
	err := q.Gorm(ctx).Raw(`select bucket, nearly_used_at as since, full_at from quotas
		where starts_with(bucket, ?) and nearly_used_at is not null and full_at between ? and ? order by bucket`,
		prefix, at.Add(30*time.Minute), at.Add(Window+time.Minute)).Find(&out).Error
	return out, err
}

// DropQuotas deletes buckets that have been full since before t, and those that a clock used which was ahead by hours.
func DropQuotas(ctx context.Context, q *pg.Q, t time.Time) (int64, error) {
	return q.Exec(ctx, "delete from quotas where full_at < $1 or full_at > $1 + interval '4 hours'", t)
}
