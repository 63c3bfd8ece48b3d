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

// takeFromQuota takes n requests from a bucket that holds limit requests and refills within an hour, unless fewer than n are left.
func takeFromQuota(ctx context.Context, q *pg.Q, bucket string, now time.Time, n, limit int) (QuotaUse, error) {
	var use QuotaUse
	err := q.QueryRow(ctx, `with asked as (
			select $2::timestamptz as now, interval '1 hour' * ($3::float8 / $4) as cost),
		took as (
			insert into quotas as b (bucket, full_at, nearly_used_at)
			select $1, now + cost, case when cost >= interval '48 minutes' then now end from asked where cost <= interval '1 hour'
			on conflict (bucket) do update set full_at = greatest(b.full_at, $2) + interval '1 hour' * ($3::float8 / $4),
				nearly_used_at = case
					when greatest(b.full_at, $2) + interval '1 hour' * ($3::float8 / $4) >= $2 + interval '48 minutes' then coalesce(b.nearly_used_at, $2)
					when greatest(b.full_at, $2) + interval '1 hour' * ($3::float8 / $4) >= $2 + interval '30 minutes' then b.nearly_used_at end
			where greatest(b.full_at, $2) + interval '1 hour' * ($3::float8 / $4) <= $2 + interval '1 hour 1 millisecond'
			returning full_at, nearly_used_at)
		select true, full_at, coalesce(nearly_used_at = now and full_at - cost < now + interval '48 minutes', false) from took, asked
		union all
		select false, full_at, false from quotas where bucket = $1 and not exists (select 1 from took)`,
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
		where starts_with(bucket, ?) and nearly_used_at is not null and full_at >= ? order by bucket`,
		prefix, at.Add(30*time.Minute)).Find(&out).Error
	return out, err
}

// DropQuotas deletes buckets that have been full since before t.
func DropQuotas(ctx context.Context, q *pg.Q, t time.Time) (int64, error) {
	return q.Exec(ctx, "delete from quotas where full_at < $1", t)
}
