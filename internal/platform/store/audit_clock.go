package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// horizon is the log number below which every transaction that writes events has ended. It is a subselect, which Postgres
// computes once for a statement, so that the index on the log's order can be used.
const horizon = `(select ((pg_snapshot_xmin(pg_current_snapshot()))::text::bigint + shift)::text::xid8 from log_clock)`

// LogClock says how the transactions of this server are numbered in the log.
type LogClock struct {
	Shift      int64      // added to the transaction ids of this server
	Server     string     // the server that the shift is for; empty if unknown
	Here       string     // this server; empty if the role may not read it
	Oldest     uint64     // the oldest running transaction, as this server numbers it
	Next       uint64     // the lowest log number of a transaction that begins now
	AnchoredAt *time.Time // when the log was last re-anchored
}

// Moved reports whether the database now runs on another server than the one that Shift was computed for.
func (c LogClock) Moved() bool { return c.Server != "" && c.Here != "" && c.Server != c.Here }

// LogClock reads the clock of the log.
func (q Audit) LogClock(ctx context.Context) (LogClock, error) {
	var c LogClock
	var oldest, next string
	if err := q.queryRow(ctx, `select shift, coalesce(server, ''), anchored_at, pg_snapshot_xmin(pg_current_snapshot())::text,
		(pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift)::text from log_clock`).
		Scan(&c.Shift, &c.Server, &c.AnchoredAt, &oldest, &next); err != nil {
		return c, err
	}
	var err error
	if c.Oldest, err = strconv.ParseUint(oldest, 10, 64); err != nil {
		return c, err
	}
	if c.Next, err = strconv.ParseUint(next, 10, 64); err != nil {
		return c, err
	}
	c.Here, err = q.server(ctx)
	return c, err
}

// server returns the system identifier of the server, or "" if the role may not read it. It asks for the privilege first,
// because a refused statement would end the transaction.
func (q Audit) server(ctx context.Context) (string, error) {
	var may bool
	if err := q.queryRow(ctx, "select has_function_privilege('pg_control_system()', 'execute')").Scan(&may); err != nil || !may {
		return "", err
	}
	var id string
	err := q.queryRow(ctx, "select system_identifier::text from pg_control_system()").Scan(&id)
	return id, err
}

// LastTxID returns the highest transaction number in the log of any environment or in any head, or 0 if the log is empty.
func (q Audit) LastTxID(ctx context.Context) (uint64, error) {
	var text string
	if err := q.queryRow(ctx, `select coalesce(max(last::text::bigint), 0)::text from (
		select v.txid as last from environments e cross join lateral
			(select txid from events where environment_id = e.id order by txid desc, seq desc limit 1) v
		union all select txid from audit_heads) numbers`).Scan(&text); err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

// lateHere is the condition that an event v before the head h is in no link because the database was restored. Such a row
// was written on this server (its xmin) by the transaction that it is numbered by. A row of the dump was written here by
// the restore, and a forged row under another number was not written by the transaction of that number.
const lateHere = `v.environment_id = h.environment_id and (v.txid, v.seq) <= (h.txid, h.event_seq)
	and not exists (select 1 from audit_chain c where c.event_id = v.id)
	and v.xmin::text::bigint = (v.txid::text::bigint - (select shift from log_clock)) & 4294967295`

// LateEntries counts the events of an environment that a restore left before the head.
func (q Audit) LateEntries(ctx context.Context, s Scope) (int64, error) {
	var n int64
	err := q.queryRow(ctx, `select count(*) from audit_heads h, events v where h.environment_id = $1 and v.tenant_id = $2 and `+lateHere,
		s.Environment, s.Tenant).Scan(&n)
	return n, err
}

// Reanchoring is the result of Reanchor.
type Reanchoring struct {
	Shift   int64
	Adopted map[string]int64 // events moved behind the heads, by environment id
}

// ErrNotLogOwner says that the role of the connection does not own the table events.
var ErrNotLogOwner = errors.New("store: the role of the connection does not own the table events; use the role that migrates")

// Reanchor makes the log continue behind every number that it contains, whatever the transaction ids of this server, and
// moves the events that were written on this server since the restore behind that. It locks the log until the transaction
// ends.
func (q Audit) Reanchor(ctx context.Context, at time.Time) (Reanchoring, error) {
	out := Reanchoring{Adopted: map[string]int64{}}
	if _, err := q.exec(ctx, "lock table events in access exclusive mode"); err != nil {
		return out, ownerRequired(err)
	}
	c, err := q.LogClock(ctx)
	if err != nil {
		return out, err
	}
	last, err := q.LastTxID(ctx)
	if err != nil {
		return out, err
	}
	top, err := q.adopt(ctx, last, out.Adopted)
	if err != nil {
		return out, err
	}
	out.Shift = max(c.Shift, int64(top)+1-int64(c.Oldest)) // #nosec G115 -- transaction ids are far below 2^63
	if _, err := q.exec(ctx, fmt.Sprintf(`alter table events alter column txid
		set default ((pg_current_xact_id()::text::bigint + %d)::text::xid8)`, out.Shift)); err != nil {
		return out, ownerRequired(err)
	}
	_, err = q.exec(ctx, "update log_clock set shift = $1, server = nullif($2, ''), anchored_at = $3", out.Shift, c.Here, at)
	return out, err
}

// adopt renumbers late events behind last, in their order, adds their counts to moved and returns the new last number.
func (q Audit) adopt(ctx context.Context, last uint64, moved map[string]int64) (top uint64, err error) {
	var first, until *int64
	if err := q.queryRow(ctx, `select min(v.txid::text::bigint), max(v.txid::text::bigint) from audit_heads h, events v where `+lateHere).
		Scan(&first, &until); err != nil || first == nil {
		return last, err
	}
	by := int64(last) + 1 - *first // #nosec G115 -- as above
	rows, err := q.query(ctx, `with moved as (update events set txid = ((events.txid::text::bigint + $1)::text::xid8)
		where id in (select v.id from audit_heads h, events v where `+lateHere+`) returning environment_id)
		select environment_id, count(*) from moved group by 1`, by)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var environment string
		var n int64
		if err := rows.Scan(&environment, &n); err != nil {
			return 0, err
		}
		moved[environment] = n
	}
	return uint64(*until + by), rows.Err() // #nosec G115 -- as above
}

// ownerRequired turns a refused privilege (insufficient_privilege) into ErrNotLogOwner.
func ownerRequired(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		return fmt.Errorf("%w: %w", ErrNotLogOwner, err)
	}
	return err
}
