package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/countersign-dev/countersign/internal/bench/loadgen"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	// storedWeeks is the age in weeks of the oldest frame that is stored.
	storedWeeks = 13 // the default retention of frames, 90 days
	// expiredWeeks is a month, in weeks.
	expiredWeeks = 4
	// framesPerSession is the number of frames of a session that is stored.
	framesPerSession = 100
	week             = 7 * 24 * time.Hour
)

// frameStore is a database of frames. Those that are compared are on one server
// and alternate, like the databases of the part size.
type frameStore struct {
	what    string // in the report
	url     string
	divided bool
	frames  int // stored before it is measured
	st      *store.Store
	present []string     // sessions that frames are added to
	done    atomic.Int64 // numbers the frames that are added
}

// partitions measures frames and decisions in tables that are divided by time.
func partitions(ctx context.Context, b *bench) error {
	if err := dividedFrames(ctx, b); err != nil {
		return err
	}
	return dividedDecisions(ctx, b)
}

// dividedFrames measures a table of frames of thirteen weeks, divided by time
// and not, beside one that is nearly empty: storing a frame, the indexes that
// this writes to, and the retention of a month. It uses Postgres alone.
func dividedFrames(ctx context.Context, b *bench) error {
	if _, err := b.sdk.CreateSubject(ctx, &countersign.SubjectCreate{ID: "person"}); err != nil {
		return err
	}
	now := time.Now()
	empty := &frameStore{what: "nothing stored", divided: true, frames: 1000 * framesPerSession}
	whole := &frameStore{what: fmt.Sprintf("%d frames in one table", b.Seeded), frames: b.Seeded}
	parts := &frameStore{what: fmt.Sprintf("%d frames in partitions of a week", b.Seeded), divided: true, frames: b.Seeded}
	for i, f := range []*frameStore{empty, whole, parts} {
		var err error
		if _, f.url, err = b.rig.Copy(ctx, fmt.Sprintf("frames%d", i)); err != nil {
			return err
		}
		b.say("partitions: storing %s", f.what)
		if err := f.fill(ctx, now); err != nil {
			return err
		}
		defer f.st.Close()
	}
	for _, f := range []*frameStore{whole, parts} {
		if err := f.describe(ctx, b); err != nil {
			return err
		}
	}
	r := b.compare(ctx, "partitions", "8 clients", parts.side(ctx), empty.side(ctx))
	b.report.under("storing a frame, partitions over empty: p50", r.p50, 1.1, "x")
	b.compare(ctx, "partitions", "8 clients", whole.side(ctx), empty.side(ctx))
	// The rows that the comparisons added are of today, and stay.
	before := now.Add(-(storedWeeks - expiredWeeks) * week)
	for _, f := range []*frameStore{parts, whole} {
		rows, took, err := f.expire(ctx, before, now)
		if err != nil {
			return err
		}
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("partitions: retention of a month removed %d of %s in %s.", rows, f.what, took.Round(time.Millisecond)))
		if f.divided {
			b.report.under("retention of a month, in partitions", took.Seconds(), 10, "s")
		}
	}
	return nil
}

// fill divides the database, as of thirteen weeks ago, and stores the frames.
func (f *frameStore) fill(ctx context.Context, now time.Time) (err error) {
	if f.st, err = store.Open(ctx, f.url, store.Options{MaxConns: clients, StatementTimeout: time.Hour}); err != nil {
		return err
	}
	begin := now.Add(-storedWeeks * week)
	if f.divided {
		if err := divideAsOf(ctx, f.st, begin, now); err != nil {
			return err
		}
	}
	sessions := f.frames / framesPerSession
	return onDatabase(ctx, f.url, func(conn *pgx.Conn) error { return f.store(ctx, conn, begin, now, sessions) })
}

// divideAsOf divides a database as of a time, and makes the partitions that the worker would have made week by week since: one that is made
// when its time is over would have to move rows. The first events, of the tenant that was made now, are removed, for they are after it.
func divideAsOf(ctx context.Context, st *store.Store, begin, now time.Time) error {
	if _, err := st.Pool().Exec(ctx, "truncate events, audit_chain, audit_heads"); err != nil {
		return err
	}
	if _, err := st.Partition(ctx, begin, func(int, int) {}); err != nil {
		return err
	}
	for at := begin; at.Before(now.Add(week)); at = at.Add(week) {
		if _, err := st.ExtendPartitions(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// store stores sessions of framesPerSession frames each, spread evenly. Their
// commit is not durable and their references are not checked, which they meet
// by construction; both are in force for what is measured later.
func (f *frameStore) store(ctx context.Context, conn *pgx.Conn, begin, now time.Time, sessions int) error {
	if _, err := conn.Exec(ctx, "set synchronous_commit = off; set session_replication_role = replica; create temporary table made (id text, at timestamptz)"); err != nil {
		return err
	}
	// Sessions of the present week receive the frames that are measured.
	step := now.Sub(begin) / time.Duration(sessions)
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"made"}, []string{"id", "at"}, pgx.CopyFromSlice(sessions, func(i int) ([]any, error) {
		at := begin.Add(time.Duration(i+1) * step)
		id := ids.Lowest(ids.Session, at)
		if now.Sub(at) < week {
			f.present = append(f.present, id)
		}
		return []any{id, at}, nil
	}))
	if err != nil {
		return err
	}
	// Digests are random, as those of features are. The checkpoint writes what
	// is stored before the measurement, which would pay for it otherwise.
	for _, statement := range []string{
		`insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
			select m.id, s.tenant_id, s.environment_id, s.uid, 'desktop', 'ended', m.at, m.at from made m, subjects s`,
		fmt.Sprintf(`insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest)
			select m.id, 'frame-' || n, s.environment_id, s.uid, 'score', 'accepted', '{}', m.at, m.at, 5000, sha256((m.id || n)::bytea)
			from made m cross join subjects s cross join generate_series(1, %d) n`, framesPerSession),
		"vacuum analyze", "checkpoint",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// side stores frames of present sessions, each in a transaction of its own. The
// statement is a part of what the service sends for a frame: without the update
// of the session, which does not depend on the number of frames, the ratio
// between two databases shows the cost of their indexes.
func (f *frameStore) side(ctx context.Context) side {
	pool := f.st.Pool()
	one := func(ctx context.Context, _ int) error { return f.add(ctx, pool) }
	return side{what: "store a frame, " + f.what, run: func(lasts time.Duration) loadgen.Result { return loadgen.Closed(ctx, clients, lasts, one) }}
}

// add stores a frame with an id of its own in a random session.
func (f *frameStore) add(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest)
		select id, $2::text, environment_id, subject_uid, 'score', 'accepted', '{}', $3, $3, 5000, sha256($2::text::bytea) from sessions where id = $1`,
		f.present[rand.IntN(len(f.present))], fmt.Sprintf("new-%d", f.done.Add(1)), time.Now()) // #nosec G404 -- a load
	return err
}

// describe notes the size of the rows and indexes of all frames, and of those
// of the present week.
func (f *frameStore) describe(ctx context.Context, b *bench) error {
	var rows, indexes, last int64
	err := f.st.Pool().QueryRow(ctx, `select sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint, max(pg_indexes_size(oid))
		from pg_class where relkind = 'r' and (relname = 'frames' or relname ~ '^frames_[0-9]{8}$')`).Scan(&rows, &indexes, &last)
	if err == nil {
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("partitions: %s take %.0f MB of rows and %.0f MB of indexes; the largest set of indexes that a frame is added to has %.0f MB.",
			f.what, mb(rows), mb(indexes), mb(last)))
	}
	return err
}

// expire removes the frames from before a time as the worker does: whole
// partitions first, then rows in batches. The counting of the rows for the audit
// log is a part of the time, the entry itself is not.
func (f *frameStore) expire(ctx context.Context, before, now time.Time) (rows int64, took time.Duration, err error) {
	began := time.Now()
	rows, err = f.st.DropPartitions(ctx, "frames", before, func(*store.Q, []store.EnvironmentCount) error { return nil })
	for more := true; more && err == nil; {
		err = f.st.Write(ctx, func(q *store.Q) error {
			const batch = 2000 // that of the worker
			gone, err := q.Retention().Expire(ctx, store.ExpiringFrames, before, now, batch)
			n := int64(0)
			for _, g := range gone {
				n += g.Rows
			}
			rows, more = rows+n, n == batch
			return err
		})
	}
	return rows, time.Since(began), err
}
