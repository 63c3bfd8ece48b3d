package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/internal/bench/loadgen"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	// storedMonths is the number of whole months whose decisions are stored,
	// before the present one: a list over all reads a partition of each.
	storedMonths = 11
	// dividedSubjects are the subjects of both databases, so that these differ in their decisions alone.
	dividedSubjects = 100_000
	// perInstant is the number of decisions that are stored with the same time.
	perInstant = 50
)

// decisionStore is a database that is divided by time, with decisions of about a year.
type decisionStore struct {
	url       string
	decisions int
	begin     time.Time // of the oldest month
	now       time.Time
}

// dividedDecisions measures authorize on two divided databases of one server in turn: one with a single decision, and one with many, their
// proofs, events and links of the audit chain. Then it removes the oldest month as the worker does.
func dividedDecisions(ctx context.Context, b *bench) error {
	now := time.Now().UTC()
	begin := time.Date(now.Year(), now.Month()-storedMonths, 1, 0, 0, 0, 0, time.UTC)
	few, err := b.divided(ctx, begin, now)
	if err != nil {
		return err
	}
	api, url, err := b.rig.Copy(ctx, "decisions")
	if err != nil {
		return err
	}
	// The copy is divided as the original is, and has its one decision.
	d := &decisionStore{url: url, decisions: b.Decisions, begin: begin, now: now}
	b.say("partitions: storing %d decisions of twelve months", d.decisions)
	began := time.Now()
	if err := d.fill(ctx, b); err != nil {
		return err
	}
	b.say("partitions: stored in %s", time.Since(began).Round(time.Second))
	if err := d.describe(ctx, b); err != nil {
		return err
	}
	if err := d.besideFew(ctx, b, api, few); err != nil {
		return err
	}
	return d.expire(ctx, b)
}

// divided divides the part's own database as of the oldest month and has one decision made there, which is multiplied. It returns requests about the subjects.
func (b *bench) divided(ctx context.Context, begin, now time.Time) (*requests, error) {
	if err := b.rig.API.Start(ctx); err != nil {
		return nil, err
	}
	if err := harness.NewAction(ctx, b.sdk, "payment.allow", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return nil, err
	}
	// It seals events in the background, which division begins by removing.
	if err := b.rig.API.Stop(); err != nil {
		return nil, err
	}
	err := withStore(ctx, b.rig.DatabaseURL(), store.Options{StatementTimeout: time.Hour}, func(st *store.Store) error {
		return divideAsOf(ctx, st, begin.AddDate(0, 0, -3), now) // the first boundary is two days ahead
	})
	if err != nil {
		return nil, err
	}
	err = onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		// Before the copy: both databases have them.
		return multiply(ctx, conn, "subjects", "true", fmt.Sprintf("generate_series(0, %d) i", dividedSubjects-1),
			map[string]string{"uid": seededSubject("i"), "external_id": "'seed-' || i"})
	})
	if err != nil {
		return nil, err
	}
	if err := b.rig.API.Start(ctx); err != nil {
		return nil, err
	}
	ask := newRequests("payment.allow", func(int) string { return fmt.Sprintf("seed-%d", rand.IntN(dividedSubjects)) }) // #nosec G404 -- a load
	return ask, b.allowed(ask.next())
}

// withStore calls f with a store on a database.
func withStore(ctx context.Context, url string, o store.Options, f func(st *store.Store) error) error {
	st, err := store.Open(ctx, url, o)
	if err != nil {
		return err
	}
	defer st.Close()
	return f(st)
}

// seededSubject is the id of the ith subject, as long as that of another.
func seededSubject(i string) string { return "'sub_' || lpad((" + i + ")::text, 26, '0')" }

// multiplied is a table of decisionStore, with the column of the id that it is divided by.
type multiplied struct {
	table, where string
	made         map[string]string // column: expression of m, the instant, and of i, the number of the decision
}

// rowsOf are the rows of a decision. Columns that no index has are empty, so that many fit: rows are thus smaller than those of the service,
// while every index has the entries that it would have. The second list is for another connection. Ids have the time in them, and a number in
// place of random digits. Subjects come in turn, a prime apart, so that those of neighbours are on different pages.
func rowsOf() (decisions, parts []multiplied) {
	const number = " || lpad(to_hex(i), 16, '0')"
	const azn, evt, at, none = "m.azn" + number, "m.evt" + number, "m.at", "''"
	sub := seededSubject(fmt.Sprintf("i::bigint * 7919 %% %d", dividedSubjects))
	digest := func(of string) string { return "substring(sha256(convert_to('" + of + "' || i, 'UTF8')) for 16)" }
	decisions = []multiplied{
		{"authorizations", "true", map[string]string{
			"id": azn, "subject_uid": sub, "nonce": "'n' || i", "idempotency_key": "'k' || i", "decided_at": at, "requested_at": at,
			"record": none, "digests": none, "request_hash": none, "trace_id": none, "credential_id": none, "reason_codes": "'{}'", "audience": none,
		}},
		{"decision_keys", "true", map[string]string{"nonce": digest("n"), "idempotency_key": digest("k"), "authorization_id": azn}},
	}
	return decisions, []multiplied{
		{"proofs", "true", map[string]string{
			"jti": "m.prf" + number, "authorization_id": azn, "subject_uid": sub, "issued_at": at, "expires_at": at, "sealed": none,
			"tenant_id": none, "kid": none, "audience": none,
		}},
		{"events", "type = 'authorization.decided'", map[string]string{
			"id": evt, "authorization_id": azn, "subject_uid": sub, "at": at, "packed": none, "salt": none, "digest": none,
			"actor": none, "request_id": "null", "subject": "null",
		}},
		{"audit_chain", "true", map[string]string{"seq": "1000 + i", "event_id": evt, "previous": none, "hash": none, "sealed_at": at}},
	}
}

// fill stores the decisions, month by month, on two connections.
func (d *decisionStore) fill(ctx context.Context, b *bench) error {
	if err := onDatabase(ctx, d.url, func(conn *pgx.Conn) error { return d.prepare(ctx, conn) }); err != nil {
		return err
	}
	decisions, parts := rowsOf()
	var done atomic.Int64
	total := (len(decisions) + len(parts)) * (storedMonths + 1)
	g, inner := errgroup.WithContext(ctx)
	for _, tables := range [][]multiplied{decisions, parts} {
		g.Go(func() error {
			return onDatabase(inner, d.url, func(conn *pgx.Conn) error {
				return d.store(inner, conn, tables, func() { b.show("partitions: storing decisions", int(done.Add(1)), total) })
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return onDatabase(ctx, d.url, func(conn *pgx.Conn) error { return d.finish(ctx, conn) })
}

// prepare stores the instants, with the beginning of the ids of that time, and a link, which is multiplied.
func (d *decisionStore) prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `create unlogged table made (first int, at timestamptz, azn text, prf text, evt text);
		insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
			select environment_id, seq, id, '', '', at from events where type = 'authorization.decided' on conflict do nothing`); err != nil {
		return err
	}
	// Ids of one time are distinguished by their number.
	instants := d.decisions / perInstant
	// Evenly from the first month to now, so that the present one is as full as
	// its days that have passed.
	step := d.now.Sub(d.begin) / time.Duration(instants)
	const digits = 10 // of an id, which are its time
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"made"}, []string{"first", "at", "azn", "prf", "evt"}, pgx.CopyFromSlice(instants, func(i int) ([]any, error) {
		at := d.begin.Add(time.Duration(i) * step)
		row := []any{i * perInstant, at}
		for _, prefix := range []string{ids.Authorization, ids.Proof, ids.Event} {
			row = append(row, ids.Lowest(prefix, at)[:len(prefix)+1+digits])
		}
		return row, nil
	}))
	return err
}

// store fills the tables, each in the order of its partitions. Commits are not durable and references are not checked, which the rows meet by
// construction; both are in force for what is measured later.
func (d *decisionStore) store(ctx context.Context, conn *pgx.Conn, tables []multiplied, stored func()) error {
	if _, err := conn.Exec(ctx, "set synchronous_commit = off; set session_replication_role = replica; set maintenance_work_mem = '256MB'"); err != nil {
		return err
	}
	for _, t := range tables {
		keyed := t.table == "decision_keys" // the one that is not divided
		for from := d.begin; from.Before(d.now); from = from.AddDate(0, 1, 0) {
			leaf := t.table
			if !keyed {
				leaf += from.Format("_20060102")
			}
			if err := d.month(ctx, conn, t, leaf, from); err != nil {
				return fmt.Errorf("%s: %w", leaf, err)
			}
			if !keyed {
				if err := complete(ctx, conn, leaf); err != nil {
					return fmt.Errorf("%s: %w", leaf, err)
				}
			}
			stored()
		}
		if !keyed {
			continue
		}
		// Keys come in no order: the pages of their indexes are two thirds full, as those of any such index that grew row by row.
		if _, err := conn.Exec(ctx, "alter index decision_keys_nonce set (fillfactor = 68); alter index decision_keys_idempotency set (fillfactor = 68)"); err != nil {
			return err
		}
		if err := complete(ctx, conn, t.table); err != nil {
			return err
		}
	}
	return nil
}

// month stores the rows of a month. The indexes are built when the table has its rows, which takes a fraction of the time: the catalogue says
// meanwhile that they are not ready, as it does of an index that is built concurrently.
func (d *decisionStore) month(ctx context.Context, conn *pgx.Conn, t multiplied, leaf string, from time.Time) error {
	if _, err := conn.Exec(ctx, fmt.Sprintf("update pg_index set indisready = false where indrelid = '%s'::regclass", leaf)); err != nil {
		return err
	}
	// Lateral makes the instants the outer side, so that rows are stored in the order of their ids.
	source := fmt.Sprintf("(select * from made where at >= '%s' and at < '%s') m cross join lateral generate_series(m.first, m.first + %d) i",
		from.Format(time.DateOnly), from.AddDate(0, 1, 0).Format(time.DateOnly), perInstant-1)
	return multiply(ctx, conn, t.table, t.where, source, t.made)
}

// complete builds the indexes of a table that was filled, which makes them
// ready, and vacuums it while its rows are still in memory: otherwise autovacuum
// would, during the measurement.
func complete(ctx context.Context, conn *pgx.Conn, table string) error {
	for _, statement := range []string{"reindex table " + table, "vacuum analyze " + table} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// finish has the audit log begin behind what is stored. The checkpoint writes it before the measurement, which would pay for it otherwise.
func (d *decisionStore) finish(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{
		"drop table made",
		`insert into audit_heads (environment_id, txid, event_seq, seq, hash, top, settled, late)
			select environment_id, '0', 0, (select max(seq) from audit_chain), '', max(seq), max(seq), max(seq) from events group by 1
			on conflict (environment_id) do update set seq = excluded.seq, top = excluded.top, settled = excluded.settled, late = excluded.late`,
		"analyze", "checkpoint",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// describe notes the sizes of the rows and indexes of all decisions, and of the indexes that a new decision is written to.
func (d *decisionStore) describe(ctx context.Context, b *bench) error {
	var rows, indexes, present, keys, keyIndexes int64
	err := onDatabase(ctx, d.url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `select sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint,
				sum(pg_indexes_size(oid)) filter (where relname like '%' || $1)::bigint, pg_table_size('decision_keys'), pg_indexes_size('decision_keys')
			from pg_class where relkind = 'r' and relname ~ '^(authorizations|proofs|events|audit_chain)_[0-9]{8}$'`, d.now.Format("_200601")+"01").
			Scan(&rows, &indexes, &present, &keys, &keyIndexes)
	})
	if err == nil {
		b.note("partitions: %d decisions with proofs, events and links take %.0f MB of rows and %.0f MB of indexes, of which those of the present month have %.0f MB; "+
			"decision_keys has %.0f MB of rows and %.0f MB of indexes.", d.decisions, mb(rows), mb(indexes), mb(present), mb(keys), mb(keyIndexes))
	}
	return err
}

// note adds a sentence to the report and prints it at once: a part of an hour
// may be interrupted.
func (b *bench) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.report.Notes = append(b.report.Notes, text)
	b.say("%s", text)
}

// besideFew compares an API on the database with the part's own API, whose database has few decisions.
func (d *decisionStore) besideFew(ctx context.Context, b *bench, api *harness.Service, few *requests) error {
	for _, s := range []*harness.Service{b.rig.API, api} {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	b.second = api
	defer func() { b.second = nil }()
	// Both send requests about the same subjects.
	full := &bench{server: harness.NewRawClient(api.URL, b.tenant.Server, patience)}
	onFew := func(context.Context, int) error { return b.allowed(few.next()) }
	onMany := func(context.Context, int) error { return full.allowed(few.next()) }
	// Plans, caches and the keys of the tenant are made on first use, and the first change of a page after a checkpoint writes all of it to the
	// log. With many decisions, the pages that a decision changes are many: minutes pass until most of them were.
	for _, do := range []loadgen.Work{onFew, onMany} {
		b.say("partitions: making decisions for %s, which are not measured", b.Lasts)
		loadgen.Closed(ctx, clients, b.Lasts, do)
	}
	for i, load := range loads(ctx) {
		r := b.compare(ctx, "partitions", load.how, load.side(fmt.Sprintf("authorize, %d decisions in partitions", d.decisions), onMany),
			load.side("authorize, nothing stored", onFew))
		b.report.under("authorize, partitions over empty: p50, "+[]string{"closed", "open"}[i]+" loop", r.p50, 1.1, "x")
	}
	return errors.Join(b.rig.API.Stop(), api.Stop())
}

// expire removes the decisions of the oldest month by the task of the worker, with its time limits, until the task has nothing left to do. The
// partition of the month has expired as a whole; those of later months are only looked at.
func (d *decisionStore) expire(ctx context.Context, b *bench) error {
	return withStore(ctx, d.url, store.Options{}, func(st *store.Store) error {
		kept := upkeep.Retention{Authorizations: d.now.Sub(models.Monthly.Next(d.begin))}
		// With the default time limit of the store, as in the worker.
		tasks, err := upkeep.New(upkeep.RetentionTasks(upkeep.RetentionDeps{Store: st, Retention: kept})...)
		if err != nil {
			return err
		}
		began, rows := time.Now(), 0
		for more := true; more; {
			var done int
			if done, more, err = tasks.Run(ctx, "retention-"+string(store.ExpiringAuthorizations), d.now, "bench"); err != nil {
				return err
			}
			rows += done
		}
		took := time.Since(began)
		b.note("partitions: retention of a month removed %d of %d decisions with their keys and proofs in %s.", rows, d.decisions, took.Round(time.Millisecond))
		b.report.under("retention of a month of decisions", took.Seconds(), 10, "s")
		return nil
	})
}
