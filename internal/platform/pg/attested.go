package pg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// Altered is the error of a row that decides what the service allows and does not match its MAC (Table): it was changed,
// copied or inserted by other means than the service. What rests on it is refused.
type Altered struct {
	Table string
	ID    string
	Cause error

	scope Scope          // of the row, as far as it has the columns
	where string         // selects the row
	args  map[string]any // of where
}

// Scopes returns the environments that the row decides for.
func (a *Altered) Scopes(ctx context.Context, q *Q) ([]Scope, error) {
	return scopesOf(ctx, q, a.Table, a.scope, a.where, a.args)
}

// scopesOf returns the environments that a row decides for, whose own scope may be incomplete.
func scopesOf(ctx context.Context, q *Q, table string, own Scope, where string, args map[string]any) ([]Scope, error) {
	if own.Tenant != "" && own.Environment != "" {
		return []Scope{own}, nil
	}
	of := strings.NewReplacer("@tenant", "e.tenant_id", "@environment", "e.id").Replace(TableOf(table).Of)
	var out []Scope
	err := q.Gorm(ctx).Raw("select e.tenant_id as tenant, e.id as environment from environments e where exists (select from "+table+" where "+where+" and "+of+") order by 2",
		args).Find(&out).Error
	return out, err
}

// Error implements error.
func (a *Altered) Error() string {
	return fmt.Sprintf("pg: the row %s of %s was changed outside of the service: %v", a.ID, a.Table, a.Cause)
}

// Unwrap returns why the MAC does not match.
func (a *Altered) Unwrap() error { return a.Cause }

// ErrMissingRow is the cause for a row that others rest on and that was deleted by other means than the service.
var ErrMissingRow = errors.New("the row is missing")

// ErrPutBack is the cause for a row that is an earlier copy (Ends).
var ErrPutBack = errors.New("an earlier copy of the row was put back")

// ErrContradicted is the cause for a row that a verification of the sealed log found to contradict it.
var ErrContradicted = errors.New("the row contradicts the audit log")

var errNoKeys = errors.New("pg: rows that decide need the master keys (Options.Keys)")

// attestation is a GORM plugin that writes the MACs of attested rows when GORM inserts them, and checks them when GORM reads the rows into
// their model: no code can forget it. Change changes such rows.
type attestation struct {
	keys    *keyring.Keyring // nil for commands that need no such row
	record  Record
	noticed noticed
	bridge  bridge
}

const (
	attestationName = "attestation"
	// anyway is set on a GORM statement that also reads rows that do not match their MAC.
	anyway = "attestation:anyway"
	// recorded is set on one that also reads such rows, and records them (AsStored).
	recorded = "attestation:recorded"
)

// Name implements gorm.Plugin.
func (*attestation) Name() string { return attestationName }

// Initialize implements gorm.Plugin.
func (a *attestation) Initialize(db *gorm.DB) error {
	if err := db.Callback().Create().Before("gorm:create").Register(attestationName, a.sign); err != nil {
		return err
	}
	if err := db.Callback().Create().After("gorm:create").Register(attestationName+":changed", a.changed); err != nil {
		return err
	}
	if err := db.Callback().Query().Before("gorm:query").Register(attestationName+":unended", a.unended); err != nil {
		return err
	}
	return db.Callback().Query().After("gorm:query").Register(attestationName, a.verify)
}

func (q *Q) attestation() *attestation { return q.db.Plugins[attestationName].(*attestation) }

// Unchecked makes a statement also read attested rows that do not match their MAC, for lists and reports: nothing may be decided by them.
func Unchecked(tx *gorm.DB) *gorm.DB { return tx.Set(anyway, true) }

// sign sets the MACs of rows that are about to be inserted.
func (a *attestation) sign(db *gorm.DB) {
	a.each(db, func(f attestedForm, row reflect.Value) error {
		mac, err := a.mac(db.Statement.Context, f, row)
		if err != nil {
			return err
		}
		return f.mac.Set(db.Statement.Context, row, mac)
	})
}

// changed remembers the rows that a transaction inserted.
func (a *attestation) changed(db *gorm.DB) {
	t, ok := db.Statement.ConnPool.(*txConn)
	if !ok || db.RowsAffected == 0 { // a row that is there already is not inserted again
		return
	}
	a.each(db, func(f attestedForm, row reflect.Value) error { return t.changed(db.Statement.Context, f, row) })
}

// verify fails a statement that read a row that does not match its MAC.
func (a *attestation) verify(db *gorm.DB) {
	if _, ok := db.Get(anyway); ok || db.RowsAffected == 0 {
		return
	}
	a.each(db, func(f attestedForm, row reflect.Value) error {
		_, asStored := db.Get(recorded)
		if a.keys == nil && asStored {
			return nil // nothing can be recorded
		}
		if a.keys == nil {
			return errNoKeys
		}
		if err := a.check(db.Statement.Context, f, row); !asStored {
			return err
		}
		return nil
	})
}

// check returns Altered for a row that does not match its MAC, and records it.
func (a *attestation) check(ctx context.Context, f attestedForm, row reflect.Value) error {
	if altered := a.compare(ctx, f, row); altered != nil {
		return a.noticed.add(altered)
	}
	return nil
}

// each calls do for the rows of a statement of an attested table, until it fails.
func (a *attestation) each(db *gorm.DB, do func(attestedForm, reflect.Value) error) {
	s := db.Statement
	if db.Error != nil || s.Schema == nil {
		return
	}
	f, ok := formOfModel(s.Schema)
	if !ok {
		return
	}
	rows := s.ReflectValue
	if rows.Kind() != reflect.Slice {
		if rows.Type() == s.Schema.ModelType {
			_ = db.AddError(do(f, rows))
		}
		return
	}
	for i := range rows.Len() {
		row := reflect.Indirect(rows.Index(i))
		if row.Type() != s.Schema.ModelType {
			return
		}
		if err := do(f, row); err != nil {
			_ = db.AddError(err)
			return
		}
	}
}

func (a *attestation) mac(ctx context.Context, f attestedForm, row reflect.Value) ([]byte, error) {
	if a.keys == nil {
		return nil, errNoKeys
	}
	parts, err := f.parts(ctx, row)
	if err != nil {
		return nil, err
	}
	return a.keys.Attest(f.table, parts...), nil
}

// compare returns nil if a row matches its MAC.
func (a *attestation) compare(ctx context.Context, f attestedForm, row reflect.Value) *Altered {
	value, _ := f.mac.ValueOf(ctx, row)
	mac := value.([]byte)
	if f.bridged(mac) && a.bridge.open.Load() {
		return nil
	}
	err := a.matches(ctx, f, row)
	if err == nil {
		return nil
	}
	out := &Altered{Table: f.table, ID: f.id(ctx, row), Cause: err, scope: f.scopeOf(ctx, row)}
	out.where, out.args = f.identify(ctx, row)
	return out
}

// matches returns an error if the MAC of a row is not of what it covers.
func (a *attestation) matches(ctx context.Context, f attestedForm, row reflect.Value) error {
	value, _ := f.mac.ValueOf(ctx, row)
	parts, err := f.parts(ctx, row)
	if err != nil {
		return err
	}
	return a.keys.Attested(f.table, value.([]byte), parts...)
}

// Sign sets the MAC of a row that is inserted by other means than GORM.
func Sign[T any](ctx context.Context, q *Q, row *T) error {
	f, err := q.parse(*row)
	if err != nil {
		return err
	}
	mac, err := q.attestation().mac(ctx, f, reflect.ValueOf(row).Elem())
	if err != nil {
		return err
	}
	return f.mac.Set(ctx, reflect.ValueOf(row).Elem(), mac)
}

// SignMoved sets the MAC of a row that SQL moves. One that was altered before stays invalid.
func SignMoved[T any](ctx context.Context, q *Q, was T, row *T) error {
	if len(Unaltered(ctx, q, []T{was})) == 0 {
		return nil
	}
	return Sign(ctx, q, row)
}

// Verify returns Altered for a row that does not match its MAC, among rows that were read by other means than GORM.
func Verify[T any](ctx context.Context, q *Q, rows ...T) error {
	f, err := q.parse(*new(T))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := q.attestation().check(ctx, f, reflect.ValueOf(row)); err != nil && !q.asStored {
			return err
		}
	}
	return nil
}

// Unaltered returns those of the rows that match their MAC, and records the others.
func Unaltered[T any](ctx context.Context, q *Q, rows []T) []T {
	f, err := q.parse(*new(T))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(rows, func(row T) bool {
		a := q.attestation().compare(ctx, f, reflect.ValueOf(row))
		if a != nil {
			_ = q.attestation().noticed.add(a)
		}
		return a != nil
	})
}

// MarkAltered calls mark for those of the rows that do not match their MAC, for reports. Without keys there is none to compare with.
func MarkAltered[T any](ctx context.Context, q *Q, rows []T, mark func(*T)) error {
	f, err := q.parse(*new(T))
	if err != nil || q.attestation().keys == nil {
		return err
	}
	for i := range rows {
		if q.attestation().compare(ctx, f, reflect.ValueOf(rows[i])) != nil {
			mark(&rows[i])
		}
	}
	return nil
}

// Missing returns the error for a row that others rest on and that is missing, and records it. What takes rows as they are stored gets no error.
func (q *Q) Missing(s Scope, table, id string) error {
	if err := q.attestation().noticed.add(&Altered{Table: table, ID: id, Cause: ErrMissingRow, scope: s}); !q.asStored {
		return err
	}
	return nil
}

// NotePutBack records that a row is an earlier copy, for a caller who takes it as ended.
func (q *Q) NotePutBack(s Scope, table, id string) {
	_ = q.attestation().noticed.add(&Altered{Table: table, ID: id, Cause: ErrPutBack, scope: s})
}

// NoteContradicted records that a row contradicts the sealed log, for a caller who verified it.
func (q *Q) NoteContradicted(s Scope, table, id string) {
	_ = q.attestation().noticed.add(&Altered{Table: table, ID: id, Cause: ErrContradicted, scope: s})
}

// errNoTransaction is a fault of the caller of Change or Copy.
var errNoTransaction = errors.New("pg: not in a transaction")

// Change updates the rows of a model whose table is attested, with their MACs, and returns them as they are then. where and set are SQL with
// the @names of args: maps, or structs with their fields. It is part of the caller's transaction, in which it locks the rows, and verifies them before: a change of some columns does
// not make others valid that were altered.
func Change[T any](ctx context.Context, q *Q, where, set string, args ...any) ([]T, error) {
	t, f, rows, err := lockRows[T](q.Gorm(ctx), q, where, args)
	if err != nil {
		return nil, err
	}
	before, err := q.endingsOf(ctx, f, reflect.ValueOf(rows))
	if err != nil {
		return nil, err
	}
	var valid []T
	for i, row := range rows {
		altered := q.asStored && q.attestation().check(ctx, f, reflect.ValueOf(row)) != nil
		was, err := f.state(ctx, reflect.ValueOf(row))
		if err != nil {
			return nil, err
		}
		rows[i] = *new(T)
		key, keys := f.identify(ctx, reflect.ValueOf(row))
		with := append([]any{keys}, args...)
		if err := Unchecked(q.Gorm(ctx)).Raw("update "+f.table+" set "+set+" where "+key+" returning *", with...).Take(&rows[i]).Error; err != nil {
			return nil, err
		}
		if after, err := f.state(ctx, reflect.ValueOf(rows[i])); err != nil || after != was {
			if err := errors.Join(err, t.changed(ctx, f, reflect.ValueOf(rows[i]))); err != nil {
				return nil, err
			}
		}
		if !altered {
			valid = append(valid, rows[i])
		}
	}
	after, err := q.endingsOf(ctx, f, reflect.ValueOf(rows))
	if err == nil {
		err = q.end(ctx, f, reflect.ValueOf(rows), before, after)
	}
	if err != nil {
		return nil, err
	}
	_, err = q.renew(ctx, f, reflect.ValueOf(valid))
	return rows, err
}

// lockRows returns rows of a model whose table is attested, and locks them until the transaction ends.
func lockRows[T any](tx *gorm.DB, q *Q, where string, args []any) (*txConn, attestedForm, []T, error) {
	t, ok := q.conn.(*txConn)
	if !ok {
		return nil, attestedForm{}, nil, errNoTransaction
	}
	f, err := q.parse(*new(T))
	if err != nil {
		return t, f, nil, err
	}
	var rows []T
	err = tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Where(where, args...).Order(f.columns()).Find(&rows).Error
	return t, f, rows, err
}

// renew writes the MACs of rows as they are here, in one round trip. A row that was moved since has a new MAC, which stays: it returns how many.
func (q *Q) renew(ctx context.Context, f attestedForm, rows reflect.Value) (moved int, err error) {
	b := &pgx.Batch{}
	for i := range rows.Len() {
		mac, err := q.attestation().mac(ctx, f, rows.Index(i))
		if err != nil {
			return 0, err
		}
		key, args := f.identify(ctx, rows.Index(i))
		args["mac"] = mac
		args["was"], _ = f.mac.ValueOf(ctx, rows.Index(i))
		b.Queue("update "+f.table+" set row_mac = @mac where "+key+" and row_mac is not distinct from @was::bytea", pgx.NamedArgs(args)).
			Exec(func(tag pgconn.CommandTag) error {
				moved += 1 - int(tag.RowsAffected())
				return nil
			})
	}
	return moved, q.Batch(ctx, b)
}

// renewAll renews and locks rows, until none of them is moved meanwhile, and returns their number: those that selected selects and of leaves of a page.
// A distributed server locks no rows while it reads those of several environments, and then changes no table that others refer to: such tables are first.
func (q *Q) renewAll(ctx context.Context, tables []*Table, selected func(*Table, *gorm.DB) *gorm.DB, of func(attestedForm, reflect.Value) reflect.Value) (renewed int, err error) {
	var first, last []*Table
	for _, t := range tables {
		if t.Placed == ByEnvironment {
			last = append(last, t)
		} else {
			first = append(first, t)
		}
	}
	for _, t := range append(first, last...) {
		f := formOf(t)
		for moved := 1; moved > 0; {
			moved = 0
			err := q.pages(ctx, f, func(tx *gorm.DB) *gorm.DB { return selected(t, tx) }, func(rows reflect.Value) error {
				rows = of(f, rows)
				n, err := q.renew(ctx, f, rows)
				moved += n
				renewed += rows.Len() - n
				return err
			})
			if err != nil {
				return renewed, err
			}
		}
	}
	return renewed, nil
}

// parse returns the form of a model, whose table must be attested.
func (q *Q) parse(model any) (attestedForm, error) {
	stmt := &gorm.Statement{DB: q.db}
	if err := stmt.Parse(model); err != nil {
		return attestedForm{}, err
	}
	f, ok := formOfModel(stmt.Schema)
	if !ok {
		return f, fmt.Errorf("pg: %s is not declared with a MAC", stmt.Schema.Table)
	}
	return f, nil
}

// rowsPage is how many rows of an attested table are read at a time.
const rowsPage = 1000

// Renewal says which MACs are replaced by those of the active master key.
type Renewal struct {
	Scope *Scope // of the rows; nil for all
	Key   []byte // the id of the master key that made them; nil for all
	// Unverified takes the rows as they are stored: the key is lost, or a person compared them.
	Unverified bool
}

// RenewMACs replaces MACs and locks the rows until the transaction ends. Unless they are taken unverified, a row that does not match its MAC is
// returned as Altered. The transaction must not have read rows of several environments before.
func RenewMACs(ctx context.Context, q *Q, r Renewal) error {
	_, err := q.renewAll(ctx, AttestedTables(), func(t *Table, tx *gorm.DB) *gorm.DB {
		if r.Scope != nil {
			tx = tx.Where(t.Of, map[string]any{"tenant": r.Scope.Tenant, "environment": r.Scope.Environment})
		}
		if r.Key != nil {
			tx = tx.Where("substring(row_mac from 1 for ?) = ?", len(r.Key), r.Key)
		}
		if r.Unverified {
			tx = Unchecked(tx)
		}
		return tx
	}, func(_ attestedForm, rows reflect.Value) reflect.Value { return rows })
	return err
}

// RenewLargeMACs replaces the MACs of a key in the large tables, a page at a time while rows move, so that RenewMACs finds few.
func RenewLargeMACs(ctx context.Context, s *Store, key []byte) error {
	for _, t := range AttestedTables() {
		if t.Placed != ByEnvironment {
			continue
		}
		f := formOf(t)
		err := s.pages(ctx, f, func(tx *gorm.DB) *gorm.DB { return tx.Where("substring(row_mac from 1 for ?) = ?", len(key), key) },
			func(rows reflect.Value) error {
				return s.Write(ctx, func(q *Q) error {
					_, err := q.renew(ctx, f, rows)
					return err
				})
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// pages calls do for the rows of an attested table that a condition selects, a page at a time.
func (q *Q) pages(ctx context.Context, f attestedForm, selected func(*gorm.DB) *gorm.DB, do func(rows reflect.Value) error) error {
	var after string // the rows of the page before; empty for none
	var last map[string]any
	for {
		rows := reflect.ValueOf(f.declared.NewRows())
		tx := selected(q.Gorm(ctx).Order(f.columns()).Limit(rowsPage))
		if after != "" {
			tx = tx.Where(after, last)
		}
		if err := tx.Find(rows.Interface()).Error; err != nil {
			return err
		}
		if err := do(rows.Elem()); err != nil {
			return err
		}
		n := rows.Elem().Len()
		if n < rowsPage {
			return nil
		}
		_, last = f.identify(ctx, rows.Elem().Index(n-1))
		after = "(" + f.columns() + ") > (@key_" + strings.ReplaceAll(f.columns(), ", ", ", @key_") + ")"
	}
}

// ReadPages calls do for the rows of an attested table that a condition selects, a page at a time, also for those that do not match their MAC, which
// it returns.
func ReadPages[T any](ctx context.Context, q *Q, do func(rows []T) error, where string, args ...any) (altered []*Altered, err error) {
	f, err := q.parse(*new(T))
	if err != nil {
		return nil, err
	}
	return altered, q.pages(ctx, f, func(tx *gorm.DB) *gorm.DB { return Unchecked(tx).Where(where, args...) }, func(rows reflect.Value) error {
		for i := range rows.Len() {
			if a := q.attestation().compare(ctx, f, rows.Index(i)); a != nil {
				altered = append(altered, a)
			}
		}
		return do(rows.Interface().([]T))
	})
}

// AlteredIn returns the rows of a scope that do not match their MAC, of those tables that are small (Everywhere).
func AlteredIn(ctx context.Context, q *Q, s Scope) ([]*Altered, error) {
	var out []*Altered
	for _, t := range AttestedTables() {
		if t.Placed != Everywhere {
			continue
		}
		f, rows := formOf(t), reflect.ValueOf(t.NewRows())
		of := map[string]any{"tenant": s.Tenant, "environment": s.Environment}
		if err := Unchecked(q.Gorm(ctx)).Where(t.Of, of).Find(rows.Interface()).Error; err != nil {
			return nil, err
		}
		for i := range rows.Elem().Len() {
			if a := q.attestation().compare(ctx, f, rows.Elem().Index(i)); a != nil {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// maxNoticed is how many altered rows a process remembers until TakeAltered.
const maxNoticed = 1000

// noticed remembers which rows were refused, each once.
type noticed struct {
	mu   sync.Mutex
	rows map[string]*Altered // by table and id
}

// add remembers a row and returns it as an error.
func (n *noticed) add(a *Altered) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rows == nil {
		n.rows = map[string]*Altered{}
	}
	if len(n.rows) < maxNoticed {
		n.rows[a.Table+" "+a.ID] = a
	}
	return a
}

// TakeAltered returns the rows that were refused since it was called last, each once.
func (s *Store) TakeAltered() []*Altered {
	n := &s.attestation().noticed
	n.mu.Lock()
	defer n.mu.Unlock()
	out := slices.Collect(maps.Values(n.rows))
	n.rows = nil
	return out
}
