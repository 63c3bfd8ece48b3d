package pg

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/models"
)

// The domains separate these digests from every other use of SHA-256, and from each other.
const (
	madeDomain  = "countersign/record/1"
	stateDomain = "countersign/row/1"
)

const digestPrefix = "sha256:"

// sumModulus is 2^256.
var sumModulus = new(big.Int).Lsh(big.NewInt(1), 8*sha256.Size)

// digestOf returns SHA-256 over parts with their lengths, so that no two lists of parts have the same bytes.
func digestOf(parts [][]byte) string {
	h := sha256.New()
	canonical.WriteParts(h, parts...)
	return digestPrefix + hex.EncodeToString(h.Sum(nil))
}

// MadeDecision is Made of a decision and its proof, which may be nil.
func MadeDecision(a models.Authorization, p *models.Proof) (string, error) {
	if p == nil {
		return RecordDigest(a)
	}
	return RecordDigest(a, p)
}

// MadeHold is Made of a hold, its steps and what it requires of teams. The due time of a hold with steps moves with them: it is covered as it was
// when the hold was opened, which follows from columns that never change. Who approves a later step and when it escalates is fixed when it opens, and
// another entry says so.
func MadeHold(h models.Hold, steps []models.HoldStep, teams []models.HoldTeam) (string, error) {
	for _, s := range steps {
		if s.Step == 0 && h.EndsAt != nil {
			due := StepDue(s, h.OpenedAt, *h.EndsAt, nil)
			if h.WorkingHours && s.DueAt != nil {
				due = *s.DueAt // the calendar of then is not known, and the time of the first step never changes
			}
			h.DueAt = HoldDue(s, due, *h.EndsAt)
		}
	}
	rows := []any{h}
	for _, t := range slices.SortedFunc(slices.Values(teams), func(a, b models.HoldTeam) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), strings.Compare(a.Team, b.Team))
	}) {
		if t.Step > 0 {
			t.Person, t.FallbackReason = nil, nil
		}
		if t.EscalateAfter != nil {
			t.EscalateAt = nil
		}
		rows = append(rows, t)
	}
	for _, s := range slices.SortedFunc(slices.Values(steps), func(a, b models.HoldStep) int { return cmp.Compare(a.Step, b.Step) }) {
		rows = append(rows, s)
	}
	return RecordDigest(rows...)
}

// HoldDue returns when a hold expires unless its open step is approved, whose time is over at due. It ends at the latest at end.
func HoldDue(s models.HoldStep, due, end time.Time) time.Time {
	if s.TimeoutTeam == nil {
		return due
	}
	return end
}

// StepDue returns when the time of a step is over that was opened at a time. With a calendar it counts working time.
func StepDue(s models.HoldStep, opened, end time.Time, c *localtime.Calendar) time.Time {
	due := c.After(opened, time.Duration(s.WithinSeconds)*time.Second)
	if s.WithinSeconds == 0 || due.After(end) {
		return end
	}
	return due
}

// RecordDigest returns SHA-256 over the columns of rows of decisions that never change (Table.Fixed). Entries of the log contain it, so that an
// audit can compare the stored rows with the log. It is computed for every decision: documents are hashed as they are written, hence the type
// json of their columns.
func RecordDigest(rows ...any) (string, error) {
	parts := [][]byte{[]byte(madeDomain)}
	for _, row := range rows {
		v := reflect.Indirect(reflect.ValueOf(row))
		f, err := madeForm(v.Type())
		if err != nil {
			return "", err
		}
		parts = append(parts, []byte(f.table))
		for _, field := range f.fields {
			value, _ := field.ValueOf(context.Background(), v)
			document, ok := value.(models.JSON)
			if !ok {
				if document, err = encodeColumn(value); err != nil {
					return "", fmt.Errorf("%s.%s: %w", f.table, field.DBName, err)
				}
			}
			parts = append(parts, document)
		}
		added, err := addedParts(context.Background(), f.added, v)
		if err != nil {
			return "", fmt.Errorf("%s.%w", f.table, err)
		}
		parts = append(parts, added...)
	}
	return digestOf(parts), nil
}

// made is how the rows of a table are encoded for Made.
type made struct {
	table  string
	fields []*schema.Field
	added  []*schema.Field
}

var (
	madeForms sync.Map // reflect.Type -> made
	schemas   sync.Map // of GORM
)

func madeForm(model reflect.Type) (made, error) {
	if known, ok := madeForms.Load(model); ok {
		return known.(made), nil
	}
	s, err := schema.Parse(reflect.New(model).Interface(), &schemas, schema.NamingStrategy{})
	if err != nil {
		return made{}, err
	}
	declared := TableOf(s.Table)
	if declared == nil || !declared.OwnEntries {
		return made{}, fmt.Errorf("pg: %s is not declared with entries of its own", s.Table)
	}
	f := made{table: s.Table, fields: fieldsOf(s, declared.Fixed), added: fieldsOf(s, declared.Added)}
	madeForms.Store(model, f)
	return f, nil
}

// Row is the state of a row of a table whose changes are entries of the log (Table.Recorded).
type Row struct {
	Scope   Scope
	Table   string
	ID      string
	Subject string // the uid, of a row that has one
	Digest  string // of the columns that decide; empty if the row was deleted
}

// change is a row that a transaction changed. The environments that it decides for are looked up at the end, unless it was deleted.
type change struct {
	row    Row
	where  string
	args   map[string]any
	scopes []Scope
}

// state returns the state of a row, without its scope if it has none of its own.
func (f attestedForm) state(ctx context.Context, row reflect.Value) (Row, error) {
	parts, err := f.parts(ctx, row)
	out := Row{Scope: f.scopeOf(ctx, row), Table: f.table, ID: f.id(ctx, row), Digest: digestOf(append([][]byte{[]byte(stateDomain), []byte(f.table)}, parts...))}
	if f.subject != nil {
		value, _ := f.subject.ValueOf(ctx, row)
		out.Subject = fmt.Sprint(value)
	}
	return out, err
}

// changed remembers that the transaction changed a row.
func (t *txConn) changed(ctx context.Context, f attestedForm, row reflect.Value) error {
	if !f.isRecorded(row) {
		return nil
	}
	c := change{}
	c.where, c.args = f.identify(ctx, row)
	var err error
	if c.row, err = f.state(ctx, row); err == nil {
		t.changes = append(t.changes, c)
	}
	return err
}

// Remove deletes the rows of a model whose table is attested, also altered ones, and returns them. Like Change it is part of the caller's
// transaction.
func Remove[T any](ctx context.Context, q *Q, where string, args ...any) ([]T, error) {
	t, f, rows, err := lockRows[T](Unchecked(q.Gorm(ctx)), q, where, args)
	if err != nil {
		return nil, err
	}
	ended, err := q.endingsOf(ctx, f, reflect.ValueOf(rows))
	if err == nil {
		err = q.end(ctx, f, reflect.ValueOf(rows), ended, nil)
	}
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		v := reflect.ValueOf(row)
		key, keys := f.identify(ctx, v)
		if f.isRecorded(v) {
			c := change{where: key, args: keys}
			if c.row, err = f.state(ctx, v); err != nil {
				return nil, err
			}
			c.row.Digest = ""
			if c.scopes, err = scopesOf(ctx, q, f.table, c.row.Scope, key, keys); err != nil {
				return nil, err
			}
			t.changes = append(t.changes, c)
		}
		if err := q.Gorm(ctx).Exec("delete from "+f.table+" where "+key, keys).Error; err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// record appends what the transaction changed to the log (Options.Record): the last state of each row, in each environment that it decides for.
func (q *Q) record(ctx context.Context) error {
	changes, record := q.conn.(*txConn).changes, q.attestation().record
	if len(changes) == 0 || record == nil {
		return nil
	}
	var rows []Row
	last := map[Row]int{} // by all but the digest
	for _, c := range changes {
		scopes := c.scopes
		if scopes == nil {
			var err error
			if scopes, err = scopesOf(ctx, q, c.row.Table, c.row.Scope, c.where, c.args); err != nil {
				return err
			}
		}
		for _, c.row.Scope = range scopes {
			key := c.row
			key.Digest = ""
			if i, again := last[key]; again {
				rows[i] = c.row
				continue
			}
			last[key] = len(rows)
			rows = append(rows, c.row)
		}
	}
	return record(ctx, q, rows)
}

// States returns the states of rows of an attested table.
func States[T any](ctx context.Context, q *Q, rows []T) ([]Row, error) {
	f, err := q.parse(*new(T))
	if err != nil {
		return nil, err
	}
	out := make([]Row, len(rows))
	for i, row := range rows {
		if out[i], err = f.state(ctx, reflect.ValueOf(row)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AddToSetDigest returns the sum of the digests of a set of rows of an attested table, modulo 2^256, after rows were added and removed. Who can store no row
// with a valid MAC has no other set with the same sum.
func AddToSetDigest[T any](ctx context.Context, q *Q, sum []byte, added, removed []T) ([]byte, error) {
	total := new(big.Int).SetBytes(sum)
	for _, part := range []struct {
		rows  []T
		apply func(x, y *big.Int) *big.Int
	}{{added, total.Add}, {removed, total.Sub}} {
		states, err := States(ctx, q, part.rows)
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			digest, _ := new(big.Int).SetString(strings.TrimPrefix(s.Digest, digestPrefix), 16)
			part.apply(total, digest)
		}
	}
	return total.Mod(total, sumModulus).FillBytes(make([]byte, sha256.Size)), nil
}

// RecordedRows calls do for the state of each row of a scope whose changes are entries of the log, and that belongs to no subject.
func RecordedRows(ctx context.Context, q *Q, s Scope, do func(Row)) error {
	for _, t := range AttestedTables() {
		f := formOf(t)
		if !t.Recorded() && t.Unlogged != comparedElsewhere || f.subject != nil {
			continue
		}
		err := q.pages(ctx, f, func(tx *gorm.DB) *gorm.DB {
			return Unchecked(tx).Where(t.Of, map[string]any{"tenant": s.Tenant, "environment": s.Environment})
		}, func(rows reflect.Value) error {
			for i := range rows.Len() {
				if !f.isRecorded(rows.Index(i)) {
					continue
				}
				row, err := f.state(ctx, rows.Index(i))
				if err != nil {
					return err
				}
				row.Scope = s
				do(row)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
