package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// fewSubjects are enough that decisions about one subject seldom coincide.
const fewSubjects = 1000

// size measures authorize on two databases of the same server in turn: a
// nearly empty one, and one with a million decisions of a hundred thousand
// subjects, with their proofs and events.
func size(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.allow", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return err
	}
	if err := parallel(ctx, fewSubjects, func(i int) error {
		_, err := b.sdk.CreateSubject(ctx, &countersign.SubjectCreate{ID: fmt.Sprintf("person-%d", i)})
		return err
	}); err != nil {
		return err
	}
	few := newRequests("payment.allow", func(i int) string { return fmt.Sprintf("person-%d", i%fewSubjects) })
	if err := b.allowed(few.next()); err != nil { // what is stored is multiplied
		return err
	}
	api, url, err := b.rig.Copy(ctx, "seeded")
	if err != nil {
		return err
	}
	b.say("size: storing %d decisions of %d subjects", b.Seeded, b.Seeded/10)
	began := time.Now()
	if err := seed(ctx, url, b.Seeded, b.Seeded/10); err != nil {
		return err
	}
	took := time.Since(began).Round(time.Second)
	each, err := stored(ctx, url)
	if err != nil {
		return err
	}
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("size: %d decisions stored in %s; a decision with its proof and event takes %.1f kB of disk, indexes included.",
		b.Seeded, took, float64(each)/float64(b.Seeded)/1024))
	for _, s := range []*harness.Service{b.rig.API, api} {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	b.second = api
	defer func() { b.second = nil }()
	many := newRequests("payment.allow", func(int) string { return fmt.Sprintf("seed-%d", rand.IntN(b.Seeded/10)) }) // #nosec G404 -- a load
	full := &bench{server: harness.NewRawClient(api.URL, b.tenant.Server, patience)}
	onFew := func(context.Context, int) error { return b.allowed(few.next()) }
	onMany := func(context.Context, int) error { return full.allowed(many.next()) }
	for _, do := range []loadgen.Work{onFew, onMany} {
		loadgen.Closed(ctx, clients, 5*time.Second, do)
	}
	if err := errors.Join(analyze(ctx, b.rig.DatabaseURL()), analyze(ctx, url)); err != nil {
		return err
	}
	for i, load := range loads(ctx) {
		r := b.compare(ctx, "size", load.how, load.side(fmt.Sprintf("authorize, %d decisions stored", b.Seeded), onMany), load.side("authorize, nothing stored", onFew))
		b.report.under("authorize, seeded over empty: p50, "+[]string{"closed", "open"}[i]+" loop", r.p50, 1.25, "x")
	}
	return nil
}

// seed multiplies the newest row of each table. synchronous_commit is off
// for this session only; the measurements that follow commit durably.
func seed(ctx context.Context, url string, decisions, subjects int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set synchronous_commit = off"); err != nil {
		return err
	}
	azn, sub := "'azn_' || md5('a' || i)", fmt.Sprintf("'sub_seed' || i %% %d", subjects)
	at := "t.decided_at - i * interval '1 second'"
	for _, m := range []struct {
		table, where string
		n            int
		made         map[string]string // column: expression of i
	}{
		{"subjects", "true", subjects, map[string]string{"uid": "'sub_seed' || (i - 1)", "external_id": "'seed-' || (i - 1)"}},
		{"authorizations", "true", decisions, map[string]string{
			"id": azn, "subject_uid": sub, "nonce": "md5('n' || i)", "idempotency_key": "md5('k' || i)", "decided_at": at, "requested_at": at,
		}},
		{"proofs", "true", decisions, map[string]string{"jti": "'prf_' || md5('p' || i)", "authorization_id": azn, "subject_uid": sub}},
		{"events", "type = 'authorization.decided'", decisions, map[string]string{"id": "'evt_' || md5('e' || i)", "authorization_id": azn, "subject_uid": sub}},
	} {
		if err := multiply(ctx, conn, m.table, m.where, fmt.Sprintf("generate_series(1, %d) i", m.n), m.made); err != nil {
			return fmt.Errorf("%s: %w", m.table, err)
		}
	}
	return nil
}

// stored is the size in bytes of the tables that decisions are written to,
// including their indexes.
func stored(ctx context.Context, url string) (bytes int64, err error) {
	err = onDatabase(ctx, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `select sum(pg_total_relation_size(oid))::bigint from pg_class
			where relnamespace = 'public'::regnamespace and relname in ('authorizations', 'proofs', 'events')`).Scan(&bytes)
	})
	return bytes, err
}

// analyze runs what autovacuum would run within minutes.
func analyze(ctx context.Context, url string) error {
	return onDatabase(ctx, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "vacuum analyze")
		return err
	})
}

// multiply inserts a copy of a row for each row of from. made has the columns
// that differ, as expressions of from; the others are copied.
func multiply(ctx context.Context, conn *pgx.Conn, table, where, from string, made map[string]string) error {
	rows, err := conn.Query(ctx, `select column_name from information_schema.columns where table_schema = 'public' and table_name = $1
		and is_identity = 'NO' and column_name <> 'txid' order by ordinal_position`, table)
	if err != nil {
		return err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		if values[i] = made[c]; values[i] == "" {
			values[i] = "t." + pgx.Identifier{c}.Sanitize()
		}
		columns[i] = pgx.Identifier{c}.Sanitize()
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("insert into %s (%s) select %s from (select * from %s where %s limit 1) t cross join %s",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, where, from))
	return err
}
