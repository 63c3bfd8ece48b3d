package pg

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Ends says which states of a row never come again once the row has left them: the session was open, the key was valid, the proof was active. An
// earlier copy of a row has a valid MAC, and only such a state distinguishes it. Whatever leaves one inserts an ending, in the same transaction: a row that
// is never changed. Change and Remove do so by themselves; what moves rows by SQL calls QueueEnding. Every statement that reads a row for use says that
// there is no ending of its state: GORM's do so by themselves, SQL contains NotEnded.
type Ends struct {
	// States are SQL expressions over the row r, each the name of such a state; null while the row is in another.
	States []string
	// UselessAt is an SQL expression over the row: from then on it cannot be used in any case, and nothing needs its ending. Empty for never.
	UselessAt string
}

// The tables of endings, by the placement of the rows that end.
const (
	endings       = "endings"
	tenantEndings = "tenant_endings"
)

// comparedElsewhere says why not every ending is an entry of the log: see isRecorded.
const comparedElsewhere = "the record that ended has an entry, or the ending has one"

var _ = Declare[models.Ending](Table{
	Name: endings, Key: []string{"record", "state"}, Placed: ByEnvironment,
	Of:       OfEnvironment,
	Fixed:    []string{"tenant_id", "environment_id", "record", "state", "ended_at", "useless_at"},
	Unlogged: comparedElsewhere,
})

var _ = Declare[models.TenantEnding](Table{
	Name: tenantEndings, Key: []string{"record", "state"}, Placed: Everywhere,
	Of:       OfTenant,
	Fixed:    []string{"tenant_id", "record", "state", "ended_at", "useless_at"},
	Unlogged: comparedElsewhere,
})

var rowAlias = regexp.MustCompile(`\br\.`)

// of returns an expression over r as one over a row of another name.
func of(expression, row string) string { return rowAlias.ReplaceAllLiteralString(expression, row+".") }

// endingsTable returns the table of the endings of the rows of t.
func (t *Table) endingsTable() string {
	if t.Placed == ByEnvironment {
		return endings
	}
	return tenantEndings
}

// NotEnded returns the condition that a row is not in a state that it has left before: it is no earlier copy. The row is named as in the statement.
func (t *Table) NotEnded(row string) string { return "not " + t.ended(row, row+".environment_id", "") }

// Ended returns whether a row is an earlier copy, as a column of a statement that reads a few rows of an environment, which is its argument: of a column, a
// distributed server does not follow the environment to that of the row. Without the offset, Postgres may read all endings to look up those of a row.
func (t *Table) Ended(row, environment string) string { return t.ended(row, environment, " offset 0") }

// ended returns the condition that a row of an environment is in a state that it has left before.
func (t *Table) ended(row, environment, form string) string {
	states := ""
	for i, s := range t.Ends.States {
		if i > 0 {
			states += ", "
		}
		states += of(s, row)
	}
	place := ""
	if t.Placed == ByEnvironment {
		place = "gone.environment_id = " + environment + " and "
	}
	return "exists (select from " + t.endingsTable() + " gone where " + place + "gone.record = '" + t.Name + "' and gone.state in (" + states + ")" + form + ")"
}

// NotEnded is Table.NotEnded of the table of another package.
func NotEnded(table, row string) string { return TableOf(table).NotEnded(row) }

// NotEndedIn is like NotEnded for a row of an environment that is an argument of the statement. With outer joins, or outside of the conditions of the
// statement, a distributed server does not follow the environment of a column to that of the row.
func NotEndedIn(table, row, environment string) string {
	return "not " + TableOf(table).ended(row, environment, "")
}

// After returns the time of a change that is a state (Ends): the given one, or a microsecond after the last change if that was not earlier. The sum of a
// time and an interval may depend on the time zone, so that a distributed server refuses it of a column that changes.
func After(at, last string) string {
	return "greatest(" + at + ", to_timestamp(extract(epoch from " + last + " - timestamptz 'epoch') + 0.000001))"
}

// unended makes a statement leave out rows that are earlier copies.
func (a *attestation) unended(db *gorm.DB) {
	s := db.Statement
	if db.Error != nil || s.Schema == nil || s.SQL.Len() > 0 {
		return
	}
	_, unchecked := db.Get(anyway)
	_, asStored := db.Get(recorded)
	t := TableOf(s.Schema.Table)
	if unchecked || asStored || t == nil || t.Ends == nil {
		return
	}
	s.AddClause(clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: t.NotEnded(s.Table)}}})
}

// ending has the states of a row.
type ending struct {
	states    []string
	now       time.Time
	uselessAt *time.Time
}

// endingsOf returns the states of rows, of a table whose rows end, one for each row.
func (q *Q) endingsOf(ctx context.Context, f attestedForm, rows reflect.Value) ([]ending, error) {
	ends := f.declared.Ends
	if ends == nil || rows.Len() == 0 {
		return make([]ending, rows.Len()), nil
	}
	columns, useless := "", "null::timestamptz"
	for _, s := range ends.States {
		columns += ", " + s
	}
	if ends.UselessAt != "" {
		useless = ends.UselessAt
	}
	out, b := make([]ending, rows.Len()), &pgx.Batch{}
	for i := range rows.Len() {
		where, args := f.identify(ctx, rows.Index(i))
		b.Queue("select now(), "+useless+", array_remove(array["+columns[2:]+"], null) from "+f.table+" r where "+where, pgx.NamedArgs(args)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&out[i].now, &out[i].uselessAt, &out[i].states) })
	}
	return out, q.Batch(ctx, b)
}

// end inserts the endings of the states that rows have left.
func (q *Q) end(ctx context.Context, f attestedForm, rows reflect.Value, before, after []ending) error {
	var ofEnvironments []models.Ending
	var ofTenants []models.TenantEnding
	for i, was := range before {
		if was.uselessAt != nil && !was.uselessAt.After(was.now) {
			continue
		}
		for _, state := range was.states {
			if after != nil && slices.Contains(after[i].states, state) {
				continue
			}
			s, err := q.tenantOf(ctx, f, rows.Index(i))
			if err != nil {
				return err
			}
			left := models.Left{Record: f.table, State: state, EndedAt: was.now.UTC(), UselessAt: was.uselessAt}
			ofEnvironments = append(ofEnvironments, models.Ending{TenantID: s.Tenant, EnvironmentID: s.Environment, Left: left})
			ofTenants = append(ofTenants, models.TenantEnding{TenantID: s.Tenant, Left: left})
		}
	}
	switch {
	case len(ofTenants) == 0:
		return nil
	case f.declared.Placed == ByEnvironment:
		return q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&ofEnvironments).Error
	}
	return q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&ofTenants).Error
}

// tenantOf returns the scope of a row, at least its tenant.
func (q *Q) tenantOf(ctx context.Context, f attestedForm, row reflect.Value) (Scope, error) {
	s := f.scopeOf(ctx, row)
	if s.Tenant != "" {
		return s, nil
	}
	where, args := f.identify(ctx, row)
	scopes, err := scopesOf(ctx, q, f.table, s, where, args)
	return append(scopes, s)[0], err
}

// Ended returns the ending of a state of a row that is moved by SQL, signed.
func Ended(ctx context.Context, q *Q, s Scope, left models.Left) (models.Ending, error) {
	e := models.Ending{TenantID: s.Tenant, EnvironmentID: s.Environment, Left: left}
	return e, Sign(ctx, q, &e)
}

// EndingOf returns the INSERT of an ending for a statement that moves a row, as the part "moved": its arguments are those of EndingArgs, from the number on.
func EndingOf(number int) string {
	return fmt.Sprintf(`insert into endings (environment_id, tenant_id, record, state, ended_at, useless_at, row_mac)
		select $%d::text, $%d::text, $%d::text, $%d::text, $%d::timestamptz, $%d::timestamptz, $%d::bytea from moved on conflict do nothing`,
		number, number+1, number+2, number+3, number+4, number+5, number+6)
}

// EndingArgs returns the arguments of EndingOf.
func EndingArgs(e models.Ending) []any {
	return []any{e.EnvironmentID, e.TenantID, e.Record, e.State, e.EndedAt, e.UselessAt, e.RowMAC}
}

// QueueEnding adds the endings of states of rows that the batch moves by SQL.
func QueueEnding(ctx context.Context, q *Q, b *pgx.Batch, s Scope, left ...models.Left) error {
	for _, l := range left {
		e, err := Ended(ctx, q, s, l)
		if err != nil {
			return err
		}
		b.Queue("with moved as (select) "+EndingOf(1), EndingArgs(e)...)
	}
	return nil
}

// End inserts the endings of states of rows that were moved by SQL.
func End(ctx context.Context, q *Q, s Scope, left ...models.Left) error {
	b := &pgx.Batch{}
	if err := QueueEnding(ctx, q, b, s, left...); err != nil || b.Len() == 0 {
		return err
	}
	return q.Batch(ctx, b)
}

// isRecorded reports whether changes of a row of the table are entries of the log: an ending is one if the record that ended has no entries itself.
func (f attestedForm) isRecorded(row reflect.Value) bool {
	if left, ok := row.Interface().(interface{ RecordOf() string }); ok {
		t := TableOf(left.RecordOf())
		return t != nil && t.Unlogged != ""
	}
	return f.declared.Recorded()
}

// PutBack returns the rows of a scope that are earlier copies: they are in a state that they have left. Those whose changes are entries of the log are
// left out, because they are compared with it.
func PutBack(ctx context.Context, q *Q, s Scope) (out []Row, err error) {
	for _, t := range AttestedTables() {
		if t.Ends == nil || t.Unlogged == "" {
			continue
		}
		f := formOf(t)
		err := q.pages(ctx, f, func(tx *gorm.DB) *gorm.DB {
			return Unchecked(tx).Where("("+t.Of+") and "+t.ended(t.Name, "@environment", ""), map[string]any{"tenant": s.Tenant, "environment": s.Environment})
		}, func(rows reflect.Value) error {
			for i := range rows.Len() {
				out = append(out, Row{Scope: s, Table: t.Name, ID: f.id(ctx, rows.Index(i))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// DropEndings deletes at most limit endings of each table that nothing needed before t.
func DropEndings(ctx context.Context, q *Q, t time.Time, limit int) (int64, error) {
	var unlogged []string // records whose endings are entries of the log, which says that they are deleted
	for _, table := range AttestedTables() {
		if table.Ends != nil && table.Unlogged != "" {
			unlogged = append(unlogged, table.Name)
		}
	}
	var n int64
	for _, table := range []string{endings, tenantEndings} {
		key := TableOf(table).keyed("")
		gone, err := q.Exec(ctx, "delete from "+table+" where ("+key+") in (select "+key+" from "+table+" where useless_at < $1 and not record = any($2) limit $3)", t, unlogged, limit)
		if err != nil {
			return 0, err
		}
		n += gone
	}
	const logged = "useless_at < @before and record in @records"
	args := map[string]any{"before": t, "records": unlogged, "limit": limit}
	ofEnvironments, err := removeEndings(ctx, q, logged, args, limit)
	if err != nil {
		return 0, err
	}
	ofTenants, err := Remove[models.TenantEnding](ctx, q, "(record, state) in (select record, state from tenant_endings where "+logged+" limit @limit)", args)
	return n + int64(ofEnvironments) + int64(len(ofTenants)), err
}

// removeEndings removes at most limit endings and returns their number. A distributed server locks rows of one environment at a time.
func removeEndings(ctx context.Context, q *Q, where string, args map[string]any, limit int) (n int, err error) {
	var found []models.Ending
	if err := Unchecked(q.Gorm(ctx)).Where(where, args).Limit(limit).Find(&found).Error; err != nil {
		return 0, err
	}
	states := map[string][][]any{} // of each environment
	for _, e := range found {
		states[e.EnvironmentID] = append(states[e.EnvironmentID], []any{e.Record, e.State})
	}
	for _, environment := range slices.Sorted(maps.Keys(states)) {
		removed, err := Remove[models.Ending](ctx, q, "environment_id = ? and (record, state) in ?", environment, states[environment])
		if err != nil {
			return 0, err
		}
		n += len(removed)
	}
	return n, nil
}
