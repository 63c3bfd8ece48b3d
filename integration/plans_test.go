package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
)

const (
	// fewRows is the size of a table that may be read whole, and how many rows may be read and not used.
	fewRows = 1000
	// sortedRows is how many rows a statement of a list may sort: a batch of an export and the row behind it.
	sortedRows = 501
	// On filled tables (make test-scale) the planner is free: it may read tables whole that do not grow with the scale, and sort a backlog as
	// far as it is counted.
	fewRowsOfFilled, sortedRowsOfFilled = 2 * manyRows, consolequery.MostUnsealed
	// longest is how long a statement of a request may take on filled tables, longestBatch one of an export or the background, which
	// changes 2,000 rows and what refers to them.
	longest      = 200 * time.Millisecond
	longestBatch = 2 * time.Second
)

// plan is a node of an executed plan.
type plan struct {
	Node     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Unjoined float64 `json:"Rows Removed by Join Filter"`
	Cached   int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []plan  `json:"Plans"`
}

// faults are the scans and sorts that grow with the table. If strict is set, they include rows that are read and not used.
func (p plan) faults(strict bool) (out []string) {
	few, sorted := float64(fewRows), float64(sortedRows)
	if scale() > 1 {
		few, sorted = fewRowsOfFilled, sortedRowsOfFilled
	}
	unused := (p.Filtered + p.Unjoined) * p.Loops
	switch {
	case p.Node == "Seq Scan" && p.Rows+p.Filtered > few:
		out = append(out, fmt.Sprintf("reads the whole of %s", p.Relation))
	case strict && unused > few:
		out = append(out, fmt.Sprintf("reads %.0f rows of %s that it does not use", unused, p.Relation))
	case p.Node == "Sort" && p.Plans[0].Rows > sorted && !p.Plans[0].limited():
		out = append(out, fmt.Sprintf("sorts %.0f rows", p.Plans[0].Rows))
	}
	for _, below := range p.Plans {
		out = append(out, below.faults(strict)...)
	}
	return out
}

// limited reports whether the rows of the node are those of several limits, each of them a page.
func (p plan) limited() bool {
	switch p.Node {
	case "Limit":
		return true
	case "Subquery Scan", "Append", "Nested Loop":
		return p.Plans[len(p.Plans)-1].limited()
	}
	return false
}

// executed is a plan with the time that it took.
type executed struct {
	Plan plan
	Time float64 `json:"Execution Time"` // milliseconds
}

func (e executed) took() time.Duration { return time.Duration(e.Time * float64(time.Millisecond)) }

// explain executes the statement again and returns its plan; false if it writes.
func (s statement) explain(t *testing.T, conn *pgx.Conn) (out plan, reads bool) {
	t.Helper()
	run, err := s.plan(t, conn, pgx.ReadOnly, analyzed)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "25006" { // read_only_sql_transaction
		return out, false
	}
	require.NoError(t, err, s.sql)
	return run.Plan, true
}

// analyzed explains a statement by executing it.
const analyzed = "explain (analyze, buffers, timing off, format json) "

// plan explains the statement in a transaction that is rolled back.
func (s statement) plan(t *testing.T, conn *pgx.Conn, access pgx.TxAccessMode, explain string) (executed, error) {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{AccessMode: access})
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	args := append([]any{pgx.QueryExecModeDescribeExec}, s.args...) // no statement is executed twice
	var text []byte
	if err := tx.QueryRow(t.Context(), explain+s.sql, args...).Scan(&text); err != nil {
		return executed{}, err
	}
	var top []executed
	err = json.Unmarshal(text, &top)
	return top[0], err
}

// finds reports whether the statement finds rows that it reads, changes or deletes.
func (s statement) finds() bool {
	switch word, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(s.sql)), " "); word {
	case "select", "with", "update", "delete":
		return true
	}
	return false
}

// explainer collects what is wrong with the plans of statements.
type explainer struct {
	conn   *pgx.Conn
	faults []string
}

func newExplainer(t *testing.T, url string) *explainer {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	if scale() == 1 { // the planner might prefer to read and sort a table of this size although it need not
		for _, setting := range []string{"enable_seqscan", "enable_sort"} {
			_, err = conn.Exec(t.Context(), "set "+setting+" = off")
			require.NoError(t, err)
		}
	}
	return &explainer{conn: conn}
}

// declared are parts of statements that may read more, each with the reason.
var declared = map[string]string{
	"select 'outbox' as kind":               "the operator's figures of all environments, once in ten seconds; evaluations are few",
	"delete from quotas where full_at < $1": "a row for each key and environment, once an hour",
	"update events set subject_uid = null":  "reads entries whose decisions are kept for longer than the entries, as no default has it",
	"array['subject'] from events":          "verification reads the whole log",
	"array[c.type] from events":             "verification reads the whole log",
	"select count(*) from events v where":   "verification reads the whole log",
	"array_agg(type order by seq)":          "verification reads the whole log",
}

// examine executes each statement again and looks at its plan. An export sends the same statement for each page: its last counts.
func (e *explainer) examine(t *testing.T, what string, sent []statement) {
	t.Helper()
	// With sorts switched off the planner prefers joins that read more, so that only the log's page and an erasure are judged by what they
	// read. A page may also count what waits in the environment, once in some seconds: that is no statement of its list.
	audit := strings.Contains(what, "/audit?") && !strings.Contains(what, "/export/")
	last := map[string]statement{}
	for _, s := range sent {
		last[s.sql] = s
	}
	for _, s := range last {
		if !s.finds() || isDeclared(s.sql) {
			continue
		}
		run, err := s.plan(t, e.conn, pgx.ReadWrite, analyzed)
		require.NoError(t, err, s.sql)
		faults := run.Plan.faults(audit && strings.Contains(s.sql, "events") || what == anErasure)
		limit := longestBatch
		if strings.HasPrefix(what, "/") && !strings.Contains(what, "/export/") {
			limit = longest
		}
		took := run.took()
		for n := 0; scale() > 1 && took > limit && n < 2; n++ { // something else may have kept the machine busy
			again, err := s.plan(t, e.conn, pgx.ReadWrite, analyzed)
			require.NoError(t, err, s.sql)
			took = min(took, again.took())
		}
		if scale() > 1 && took > limit {
			faults = append(faults, "takes "+took.Round(time.Millisecond).String())
		}
		for _, fault := range faults {
			e.faults = append(e.faults, what+" "+fault+": "+s.sql)
		}
	}
}

func isDeclared(sql string) bool {
	for part := range declared {
		if strings.Contains(sql, part) {
			return true
		}
	}
	return false
}

// scale is how many times as many rows as usual the tables have that grow with use (make test-scale).
func scale() int {
	n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_TEST_SCALE"))
	if err != nil {
		return 1
	}
	return n
}

const anErasure = "an erasure"

// work is something that the service does in the background, or at an operator's command.
type work struct {
	name string
	do   func(t *testing.T)
}

// work is done on filled tables. An erasure comes last: what it deletes is gone when its statements are explained, so that they are
// those of a subject whose rows are left in part.
func (p *traced) work(t *testing.T, worlds []world) []work {
	t.Helper()
	subjects := subject.New(p.Store, p.Keys, assurance.New(scoring.Default(), p.Keys), p.Clock)
	in := func(w world) identity.Principal {
		return identity.Principal{TenantID: w.TenantID, EnvironmentID: w.ID}
	}
	tasks, err := upkeep.New(upkeep.RetentionTasks(upkeep.RetentionDeps{Store: p.Store, Research: research.New(p.Store, p.Keys, true), Retention: upkeep.DefaultRetention()})...)
	require.NoError(t, err)
	out := []work{
		{"the export of a subject", func(t *testing.T) {
			made, err := subjects.Export(t.Context(), in(worlds[1]), "user-1")
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, made.Body)
			require.NoError(t, err)
			require.NoError(t, made.Body.Close())
		}},
		{"what waits in all environments", func(t *testing.T) {
			_, err := consolequery.QueryQueues(t.Context(), p.Store.Q, p.Clock.Now())
			require.NoError(t, err)
		}},
		{"what waits in an environment", func(t *testing.T) {
			_, err := consolequery.ReadQueues(t.Context(), p.Store, worlds[1].scope(), p.Clock.Now())
			require.NoError(t, err)
		}},
	}
	for _, task := range tasks.Tasks() {
		out = append(out, work{"upkeep " + task.Name, func(t *testing.T) {
			_, _, err := tasks.Run(t.Context(), task.Name, time.Now().AddDate(8, 0, 0), "upkeep/test")
			require.NoError(t, err)
		}})
	}
	return append(out, work{anErasure, func(t *testing.T) {
		receipt, err := subjects.Erase(t.Context(), in(worlds[1]), "user-0")
		require.NoError(t, err)
		run := subject.Run{Erasure: receipt.Erasure, Environment: worlds[1].ID}
		_, err = subjects.Workflows(t.Context(), run, subject.WorkflowRef{})
		require.NoError(t, err)
		_, err = subjects.Sweep(t.Context(), run)
		require.NoError(t, err)
		_, err = subjects.Finish(t.Context(), run, "erasure/test", time.Now())
		require.NoError(t, err)
	}})
}
