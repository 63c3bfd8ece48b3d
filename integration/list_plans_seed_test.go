package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// seededEnvironments share the rows of every table evenly. The first one is read.
const seededEnvironments = 8

// Rows of a table. i numbers them from 0, n is the number of the environment and k the number of the row in it.
const (
	manyRows = 24_000 // of tables that grow with use
	someRows = 8_000  // of tables that grow with the configuration
)

// seldomActor is the actor of one entry of the log in a thousand.
const seldomActor = "person:seldom"

// Expressions of seeded columns. One subject of each environment has a quarter of its rows.
const (
	seededSubject = `'sub_' || left(md5(n || '-' || case when k % 4 = 0 then 0 else k % 300 end), 26)`
	seededAction  = `'act_' || left(md5(n || '-' || k % 5), 26)`
	seededTime    = `now() - i * interval '1 second'`
)

// seeded is how the rows of one table are copied from a row that the service wrote.
type seeded struct {
	table, where string // the row to copy
	rows         int
	set          map[string]string // expressions of i, n and k, by column
}

func id(prefix, of string) string {
	return fmt.Sprintf("'%s_' || left(md5('%s' || i), 26)", prefix, of)
}

func oneOf(values ...string) string {
	return fmt.Sprintf("('{%s}'::text[])[1 + k %% %d]", strings.Join(values, ","), len(values))
}

// seededTables are in the order of their references. Every table that has a list and grows is one of them.
func seededTables() []seeded {
	decision := id("azn", "a")
	return []seeded{
		{"actions", "true", 40, map[string]string{"id": `'act_' || left(md5(n || '-' || k), 26)`, "key": "'payment.seeded_' || k", "created_at": seededTime}},
		{"policy_versions", "true", someRows, map[string]string{"id": id("pol", "p"), "action_id": seededAction, "version": "100 + i", "status": "'retired'", "created_at": seededTime}},
		{"credentials", "true", someRows, map[string]string{"id": id("crd", "c"), "created_at": seededTime, "revoked_at": seededTime}},
		{"subjects", "true", manyRows, map[string]string{
			"uid": `'sub_' || left(md5(n || '-' || k), 26)`, "external_id": "'user-' || k", "created_at": seededTime,
			"status": oneOf("active", "revoked"), "enrollment": oneOf("none", "collecting", "enrolled"),
		}},
		{"sessions", "true", manyRows, map[string]string{
			"id": id("ses", "s"), "subject_uid": seededSubject, "started_at": seededTime, "last_activity_at": seededTime, "status": oneOf("active", "ended", "expired"),
		}},
		{"enrollments", "true", manyRows, map[string]string{"id": id("enr", "e"), "subject_uid": seededSubject, "created_at": seededTime}},
		{"templates", "true", manyRows, map[string]string{"id": id("tpl", "t"), "subject_uid": seededSubject, "created_at": seededTime, "version": "i"}},
		{"passkeys", "true", manyRows, map[string]string{
			"id": id("pky", "k"), "subject_uid": seededSubject, "created_at": seededTime, "credential_id": `'\x' || md5('k' || i)`, "revoked_at": seededTime,
		}},
		{"authorizations", "decision = 'hold'", manyRows * scale(), map[string]string{
			"id": decision, "subject_uid": seededSubject, "action_id": seededAction, "action_key": "'payment.seeded_' || k % 5", "nonce": "i::text",
			"idempotency_key": "i::text", "decided_at": seededTime, "requested_at": seededTime, "decision": oneOf("hold", "challenge", "allow", "deny"),
			"mode": oneOf("test", "shadow", "enforce"),
		}},
		{"holds", "true", manyRows, map[string]string{
			"authorization_id": decision, "subject_uid": seededSubject, "action_id": seededAction, "opened_at": seededTime,
			"due_at": seededTime + " + interval '3 days'", "status": oneOf("pending", "approved", "rejected", "expired"),
		}},
		{"challenges", "true", manyRows, map[string]string{
			"id": id("chl", "h"), "authorization_id": decision, "subject_uid": seededSubject, "created_at": seededTime, "status": oneOf("open", "completed", "expired"),
		}},
		{"proofs", "true", manyRows * scale(), map[string]string{"jti": id("prf", "f"), "sealed": "'\\x0c'", "authorization_id": decision, "subject_uid": seededSubject, "issued_at": seededTime}},
		{"events", "type = 'authorization.decided'", manyRows * scale(), map[string]string{
			"id": id("evt", "v"), "seq": "1000000 + i", "at": seededTime, "subject_uid": seededSubject, "subject": "'user-' || k % 300",
			"action": "'payment.seeded_' || k % 5", "authorization_id": decision, "decision": oneOf("hold", "challenge", "allow", "deny"),
			"type": oneOf("authorization.decided", "hold.opened", "subject.created"), "actor": "case when k % 1000 = 7 then '" + seldomActor + "' else 'cli:test' end",
		}},
		{"audit_chain", "true", manyRows * scale(), map[string]string{"seq": "1000 + k", "event_id": id("evt", "v"), "sealed_at": seededTime}},
		{"evaluations", "true", someRows, map[string]string{"id": id("evl", "l"), "created_at": seededTime, "status": oneOf("open", "closed")}},
		{"changes", "true", someRows, map[string]string{
			"id": id("chg", "g"), "created_at": seededTime, "status": oneOf("approved", "rejected", "withdrawn", "superseded", "expired"), "digest": `'\x' || md5('g' || i)`,
		}},
		{"webhook_deliveries", "true", manyRows, map[string]string{
			"id": id("del", "d"), "endpoint_id": "endpoint", "event_id": id("evt", "v"), "created_at": seededTime, "next_attempt_at": seededTime,
			"status": oneOf("succeeded", "failed", "discarded"),
		}},
		{"webhook_attempts", "true", manyRows, map[string]string{
			"id": id("att", "m"), "delivery_id": id("del", "d"), "endpoint_id": "endpoint", "event_id": id("evt", "v"), "at": seededTime,
			"succeeded": "k % 2 = 0",
		}},
		{"people", "true", 80 * seededEnvironments, map[string]string{"id": id("prs", "o"), "created_at": seededTime}},
		{"reviews", "true", manyRows, map[string]string{"authorization_id": decision, "at": seededTime}},
	}
}

// seed fills the tables of the first world's database. The other worlds are its neighbours. endpoints has one webhook endpoint of each.
func seed(t *testing.T, p *traced, worlds []world, endpoints []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.DatabaseURL) // a statement of the service has a time limit
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	run := func(query string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), query, args...)
		require.NoError(t, err, query)
	}
	run("create table seeds (n integer, tenant text, environment text, endpoint text)")
	for n, w := range worlds {
		run("insert into seeds values ($1, $2, $3, $4)", n, w.TenantID, w.ID, endpoints[n])
	}
	for _, row := range firstRows {
		run(strings.NewReplacer("@environment", "'"+worlds[0].ID+"'", "@endpoint", "'"+endpoints[0]+"'").Replace(row))
	}
	for _, s := range seededTables() {
		columns := map[string]string{}
		for _, c := range []string{"tenant_id", "environment_id"} {
			var has bool
			require.NoError(t, conn.QueryRow(t.Context(), `select exists (select from information_schema.columns
				where table_name = $1 and column_name = $2)`, s.table, c).Scan(&has))
			if has {
				columns[c] = strings.TrimSuffix(c, "_id")
			}
		}
		for c, expression := range s.set {
			columns[c] = expression
		}
		var pairs []string
		for c, expression := range columns {
			pairs = append(pairs, "'"+c+"', "+expression)
		}
		slices.Sort(pairs)
		insertRows(t, conn, s.table, fmt.Sprintf(`select r.* from %[1]s t, generate_series(0, %[2]d - 1) i, seeds, lateral (select i / %[3]d as k) numbered,
			lateral jsonb_populate_record(t, jsonb_build_object(%[4]s)) r
			where n = i %% %[3]d and t.ctid = (select ctid from %[1]s where %[5]s limit 1)`,
			s.table, s.rows, seededEnvironments, strings.Join(pairs, ", "), s.where))
	}
	testenv.Attest(t, p.Store, worlds[0].scope())
	run("analyze")
}

// insertRows inserts the rows of a query into a table. Postgres computes the generated columns itself.
func insertRows(t *testing.T, conn *pgx.Conn, table, query string) {
	t.Helper()
	var columns string
	require.NoError(t, conn.QueryRow(t.Context(), `select string_agg(quote_ident(attname), ', ') from pg_attribute
		where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`, table).Scan(&columns))
	insert := fmt.Sprintf("insert into %[1]s (%[2]s) overriding system value select %[2]s from (%[3]s) made", table, columns, query)
	_, err := conn.Exec(t.Context(), insert)
	require.NoError(t, err, insert)
}
