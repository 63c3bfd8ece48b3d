package store

import (
	"context"
	"time"
)

// Quotas stores the counters of rate limits, by bucket and window.
type Quotas struct{ *Q }

// Quotas returns the queries of the aggregate.
func (q *Q) Quotas() Quotas { return Quotas{q} }

// Take adds n to the use of a bucket in the window, unless that would exceed limit. It returns whether it did and how
// much of the window is used.
func (q Quotas) Take(ctx context.Context, bucket string, window time.Time, n, limit int) (granted bool, used int, err error) {
	err = q.queryRow(ctx, `with took as (
			insert into rate_windows as w (bucket, window_start, used) values ($1, $2, $3)
			on conflict (bucket, window_start) do update set used = w.used + $3 where w.used + $3 <= $4
			returning used)
		select true, used from took
		union all
		select false, used from rate_windows where bucket = $1 and window_start = $2 and not exists (select 1 from took)`,
		bucket, window, n, limit).Scan(&granted, &used)
	return granted, used, err
}

// Return subtracts n from the use of a bucket, for quota that was taken and not used.
func (q Quotas) Return(ctx context.Context, bucket string, window time.Time, n int) error {
	_, err := q.exec(ctx, "update rate_windows set used = greatest(used - $3, 0) where bucket = $1 and window_start = $2", bucket, window, n)
	return err
}

// Drop deletes windows that began before t.
func (q Quotas) Drop(ctx context.Context, t time.Time) (int64, error) {
	return q.exec(ctx, "delete from rate_windows where window_start < $1", t)
}
