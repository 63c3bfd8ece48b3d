package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// indexDepth is by how many pages a statement may read more when its tables have grown: indexes become deeper by one level.
const indexDepth = 24

// grown is how the first row of a table is copied.
type grown struct {
	table string
	rows  int
	set   string // pairs of a column and an expression of i
}

// grownRows are the rows that a subject gathers over years, copied from its first ones.
var grownRows = []grown{
	{"sessions", 10_000, `'id', 'ses_' || left(md5('g' || i), 26), 'started_at', now() - i * interval '1 hour', 'status', 'ended'`},
	{"templates", 1_000, `'id', 'tpl_' || left(md5('g' || i), 26), 'version', i, 'status', 'retired'`},
	{"authorizations", 20_000, `'id', 'azn_' || left(md5('g' || i), 26), 'nonce', 'g' || i, 'idempotency_key', 'g' || i, 'action_key', 'payment.grown', 'decided_at', now() - i * interval '1 minute'`},
	{"events", 40_000, `'id', 'evt_' || left(md5('g' || i), 26), 'seq', 1000000 + i, 'at', now() - i * interval '30 seconds'`},
	{"frames", 20_000, `'frame_id', 'g' || i`},
	{"frame_digests", 20_000, `'digest', '\x' || md5('g' || i)`},
}

// A decision and a frame about a subject with a long history read as many pages as about a new one: their statements find each
// row by an index that ends at it, and do not go through the subject's earlier rows.
func TestCostStaysFlatAsASubjectGrows(t *testing.T) {
	t.Parallel()
	onePostgres(t, "Citus shows its own plan, with those of the shards inside")
	p := newTraced(t)
	w := p.world(t)
	_, action := w.action(t, "enforce", with(allowing, object{"rules": []object{{
		"name": "often", "when": `assurance.coverage == "partial" && subject.decisions("payment.grown", "allow", "7d") >= 3`,
		"requirements": object{"explicit_approval_required": true}, "reason": "Often.",
	}}}))
	subject := w.subject(t)
	conn, err := pgx.Connect(t.Context(), p.DatabaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	exec := func(query string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), query)
		require.NoError(t, err, query)
	}
	requests := map[string]func(){
		"decision": func() { w.authorize(t, subject, action, "allow") },
		"frame":    func() { w.session(t, subject, "score", typist("growing"), 1) },
	}
	for _, send := range requests {
		send()
	}
	for _, row := range firstRows[1:2] {
		exec(strings.NewReplacer("@environment", "'"+w.ID+"'").Replace(row))
	}
	exec("analyze")
	before := map[string]map[string]plan{}
	for name, send := range requests {
		before[name] = p.plans(t, conn, send)
	}
	for _, g := range grownRows {
		insertRows(t, conn, g.table, fmt.Sprintf(`select r.* from %[1]s t, generate_series(1, %[2]d) i,
			lateral jsonb_populate_record(t, jsonb_build_object(%[3]s)) r where t.ctid = (select min(ctid) from %[1]s)`, g.table, g.rows, g.set))
	}
	exec("vacuum analyze")
	for name, send := range requests {
		for sql, now := range p.plans(t, conn, send) {
			require.Empty(t, now.wholly(), "%s: %s", name, sql)
			first, had := before[name][sql]
			require.True(t, had, "%s sends another statement: %s", name, sql)
			require.LessOrEqual(t, now.Cached+now.Read, first.Cached+first.Read+indexDepth, "%s reads more pages: %s", name, sql)
		}
	}
}

// plans sends a request and returns the executed plans of what it read, by statement, and the plans of what it wrote.
func (p *traced) plans(t *testing.T, conn *pgx.Conn, send func()) map[string]plan {
	t.Helper()
	p.take()
	send()
	out := map[string]plan{}
	for _, s := range p.take() {
		switch word, _, _ := strings.Cut(s.sql, " "); word {
		case "select", "with", "insert", "update", "delete":
		default:
			continue
		}
		if strings.Contains(s.sql, " quotas ") || strings.HasPrefix(s.sql, "select distinct rate_limit, ") {
			continue // a process reserves quota, and reads how much there is, from time to time, whatever the request
		}
		made, reads := s.explain(t, conn)
		if !reads {
			run, err := s.plan(t, conn, pgx.ReadOnly, "explain (format json) ")
			require.NoError(t, err, s.sql)
			made = run.Plan
		}
		out[s.sql] = made
	}
	require.NotEmpty(t, out)
	return out
}

// wholly returns the tables that the subject's rows are read from without an index.
func (p plan) wholly() (out []string) {
	if p.Node == "Seq Scan" && slices.ContainsFunc(grownRows, func(g grown) bool { return g.table == p.Relation }) {
		out = append(out, p.Relation)
	}
	for _, below := range p.Plans {
		out = append(out, below.wholly()...)
	}
	return out
}
