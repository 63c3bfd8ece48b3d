package integration_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/tables"
	"github.com/countersign-dev/countersign/models"
)

// readers make a row of each table with a MAC and return a request that reads it: those of the tests of altered records, and these, where those
// make up a row themselves.
var readers = func() map[string]func(t *testing.T, w world) func() response {
	out := map[string]func(t *testing.T, w world) func() response{
		"deputies": func(t *testing.T, w world) func() response {
			ann, bob := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
			w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": []string{"person:" + ann.person}}).is(201)
			named := ann.submit("/console/"+w.ID+"/deputies/new", url.Values{"deputy": {bob.person}, "ends_at": {time.Now().AddDate(0, 0, 7).Format(time.DateOnly)}})
			require.Equal(t, http.StatusSeeOther, named.status, named.body)
			_, action := w.action(t, "enforce", with(holding, object{"review": []object{{"group": "finance", "approvals": 1}}}))
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			return func() response {
				return bob.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"approve"}}).response(t)
			}
		},
		"reviews": secondApproval,
		"standing_approvals": func(t *testing.T, w world) func() response {
			_, action := w.standingAction(t, standingPolicy)
			subject := w.subject(t)
			w.begun(t, subject, action, nil)
			return func() response { return w.Server.post(t, "/api/v1/authorize", covered(subject, action, nil)) }
		},
	}
	for _, c := range alteredRecords {
		if out[c.table] == nil {
			out[c.table] = c.given
		}
	}
	for table, flows := range alteredFlowsOf {
		out[table] = flows[slices.Min(slices.Collect(maps.Keys(flows)))]
	}
	return out
}()

// unread are tables with MACs whose rows no request waits for, each with the reason.
var unread = map[string]string{
	"move_requests":  "the workflow reads it, a moment after the request that stores it (TestAlteredRecordsAreRefused)",
	"given_reviews":  "the relay reads it when it is due (TestAlteredRecordsAreRefused)",
	"endings":        "an ending refuses, whatever it contains (TestMadeUpEndingsAreFound)",
	"tenant_endings": "an ending refuses, whatever it contains (TestMadeUpEndingsAreFound)",
}

// lookups are columns by which a request finds its row: one that was changed is not found, as if the row were deleted.
var lookups = []string{
	"list_entries.key", "list_entries.list_id", "deputies.person_id", "standing_approvals.subject_uid", "standing_approvals.action_id",
	"standing_approvals.policy_version", "standing_approvals.mode", "standing_approvals.audience", "standing_approvals.resource_type",
	"standing_approvals.status", "standing_approvals.passkey_id",
}

// edit is a change of a table by another hand than the service's.
type edit struct {
	table  *pg.Table
	column string // of what is changed; empty for a whole row
	kind   string // changed, deleted, made up
	rows   string // the condition of the rows of the environment; if changed, of those with another value
	sql    string
}

func (e edit) name() string { return e.table.Name + " " + strings.TrimSpace(e.column+" "+e.kind) }

// edits returns the edits of the rows of an environment: of each column that decides, and of whole rows.
func (w world) edits(t *testing.T, table *pg.Table) (out []edit) {
	t.Helper()
	rows, err := shared.Store.Pool().Query(t.Context(), `select column_name::text, data_type::text, is_generated = 'NEVER' from information_schema.columns
		where table_schema = 'public' and table_name = $1 order by ordinal_position`, table.Name)
	require.NoError(t, err)
	defer rows.Close()
	var columns, copied []string
	var own string // a column of the key by which another row of the environment differs; empty if there can be one row only
	for _, key := range table.Key {
		if !places(key) && table.Name != "environments" {
			own = key
		}
	}
	for rows.Next() {
		var column, kind string
		var stored bool
		require.NoError(t, rows.Scan(&column, &kind, &stored))
		value := strings.ReplaceAll(cmp.Or(tables.Alteration(table.Name, column, kind), "coalesce("+column+", '') || 'x'"), "1 microsecond", "1 second")
		if stored {
			columns, copied = append(columns, column), append(copied, column)
		}
		if stored && column == own {
			copied[len(copied)-1] = value
		}
		if reason, free := table.Free[column]; free {
			require.NotEmpty(t, reason, "%s.%s", table.Name, column)
			continue
		}
		of := w.rowsIn(table.Name)
		differing := fmt.Sprintf("(%s) and %s::text is distinct from (%s)::text", of, column, value)
		out = append(out, edit{table, column, "changed", differing, fmt.Sprintf("update %s set %s = %s where %s", table.Name, column, value, of)})
	}
	require.NoError(t, rows.Err())
	out = append(out, edit{table, "", "deleted", w.rowsIn(table.Name), "delete from " + table.Name + " where " + w.rowsIn(table.Name)})
	if own == "" {
		return out
	}
	return append(out, edit{table, "", "made up", w.rowsIn(table.Name), fmt.Sprintf("insert into %s (%s) select %s from %s where %s", table.Name, strings.Join(columns, ", "), strings.Join(copied, ", "), table.Name, w.rowsIn(table.Name))})
}

// places reports whether a column says where a row belongs.
func places(column string) bool { return column == "environment_id" || column == "tenant_id" }

// make makes an edit. It returns false if the schema refuses it, the column has the value, or the row that is
// made up is not one of the environment, and an error if the transaction must be repeated.
func (e edit) make(t *testing.T, q *pg.Q) (made bool, conflict error) {
	t.Helper()
	if e.kind != "made up" {
		unreferenced(t, q)
	}
	before := e.count(t, q)
	if before == 0 {
		return false, nil
	}
	n, err := q.Exec(t.Context(), e.sql)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "23") || refused.Code == "0A000" && e.column == "environment_id") {
		return false, nil // Citus moves no row to another environment
	}
	if pg.Conflicted(err) {
		return false, err
	}
	require.NoError(t, err, e.sql)
	return n > 0 && (e.kind != "made up" || e.count(t, q) > before), nil
}

// unreferenced keeps the rows that refer to those which a transaction changes, on every server.
func unreferenced(t *testing.T, q *pg.Q) {
	t.Helper()
	for _, set := range []string{"citus.propagate_set_commands = 'local'", "session_replication_role = replica"} {
		_, err := q.Exec(context.WithoutCancel(t.Context()), "set local "+set)
		require.NoError(t, err)
	}
}

// count returns the number of rows.
func (e edit) count(t *testing.T, q *pg.Q) (n int) {
	t.Helper()
	require.NoError(t, q.QueryRow(t.Context(), "select count(*) from "+e.table.Name+" where "+e.rows).Scan(&n))
	return n
}

// refused reports whether a request was let through in no way.
func (a response) refused() bool {
	var verified struct{ Valid *bool }
	if a.status == http.StatusOK && strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		a.into(&verified)
	}
	return a.status >= 400 || strings.HasPrefix(a.header.Get("Location"), "/console/sign-in") || verified.Valid != nil && !*verified.Valid
}

// matrix counts what became of edits.
type matrix struct {
	mu    sync.Mutex
	cells map[string]int
}

func (m *matrix) add(outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[outcome]++
}

// everyEdit is set by make tamper. Otherwise a column is edited once: after its record was used.
var everyEdit = os.Getenv("COUNTERSIGN_TEST_TAMPER") != ""

// An edit of any column of a table, or of a whole row, is refused by the request that rests on it, or is a finding of audit verify, unless the column is
// declared free. The columns come from the schema. What puts rows back is in TestEarlierRowsAreRefused and TestEarlierRowsAreFound.
func TestEveryEditIsRefusedOrFound(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), shared.DatabaseURL, pg.Options{MaxConns: 4, Keys: shared.Core.Keys})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	m := &matrix{cells: map[string]int{}}
	t.Cleanup(func() { t.Logf("edits: %v", m.cells) })
	for _, table := range pg.AttestedTables() {
		if unread[table.Name] != "" {
			continue
		}
		given := readers[table.Name]
		require.NotNil(t, given, "readers names no request that reads the rows of %s", table.Name)
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			given(t, w)
			require.NotEmpty(t, w.rowsOf(t, table.Name), "readers makes no row of %s", table.Name)
			for _, e := range w.edits(t, table) {
				m.add(w.found(t, st, e))
			}
			if everyEdit {
				for _, e := range w.edits(t, table) {
					t.Run("waiting: "+e.name(), func(t *testing.T) { m.add(refusedWhileWaiting(t, st, e, given)) })
				}
			}
		})
	}
}

// found requires that audit verify finds an edit, which is undone.
func (w world) found(t *testing.T, st *pg.Store, e edit) (outcome string) {
	t.Helper()
	undo := errors.New("undo")
	err := st.Write(t.Context(), func(q *pg.Q) error {
		made, err := e.make(t, q)
		if err != nil {
			return err
		}
		if !made {
			outcome = "not possible"
			return undo
		}
		found, err := audit.VerifyIn(t.Context(), q, w.scope())
		require.NoError(t, err)
		outcome = "found"
		if found.Intact() && e.column == "row_mac" {
			outcome = "refused when it is read"
		} else if found.Intact() {
			require.NotEmpty(t, e.table.Unlogged, "%s is not found", e.name())
			outcome = "not compared: " + e.table.Unlogged
		}
		return undo
	})
	require.ErrorIs(t, err, undo)
	return outcome
}

// refusedWhileWaiting requires that a request which rests on an edited row is refused, or that audit verify finds the edit: a column without a MAC is
// compared with the log, and a row that the request does not find is not read.
func refusedWhileWaiting(t *testing.T, st *pg.Store, e edit, given func(t *testing.T, w world) func() response) string {
	t.Helper()
	w := newSandbox(t)
	send := given(t, w)
	i := slices.IndexFunc(w.edits(t, e.table), func(own edit) bool { return own.name() == e.name() })
	e = w.edits(t, e.table)[i]
	refused := errors.New("the schema refuses the edit")
	err := st.Write(t.Context(), func(q *pg.Q) error {
		made, err := e.make(t, q)
		if err == nil && !made {
			return refused
		}
		return err
	})
	if errors.Is(err, refused) {
		return "waiting: not possible"
	}
	require.NoError(t, err)
	signed := slices.Contains(e.table.Signed(), e.column) || slices.Contains(e.table.Added, e.column)
	if moved := places(e.column) || slices.Contains(e.table.Key, e.column) || slices.Contains(lookups, e.table.Name+"."+e.column); !signed || moved {
		if send().refused() {
			return "waiting: refused"
		}
		if w.verified(t).Intact() {
			require.True(t, e.table.Unlogged != "" || slices.Contains(e.table.Logged, e.column), "%s is neither refused nor found", e.name())
			return "waiting: without effect" // it was not read, or overwritten by what the log says
		}
		return "waiting: found"
	}
	eventually(t, func() bool { return send().refused() }, e.name()+" is refused")
	return "waiting: refused"
}
