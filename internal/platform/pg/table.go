package pg

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// Table declares a table once, in the package of its record. Distribution, MACs, the comparison with the log, erasure, export, retention, the
// search for values of a master key and docs/tables.md follow from the declarations and from nothing else.
//
// Each column is in one of Fixed, Moves, Added, Logged and Free: a column decides unless it is declared free.
type Table struct {
	Name string
	// Key are the columns of the primary key without environment_id, unless that is the whole key.
	Key []string
	// Placed says where the rows are; Why, if they are on the coordinator alone.
	Placed Placement
	Why    string
	// Refers are the tables that foreign keys name.
	Refers []string
	// Of is the condition of the rows that decide for an environment, with @tenant and @environment. Required of a table with row_mac.
	Of string

	// Fixed are columns that never change. Moves are columns that Change changes. The row's MAC covers both, in this order: a column that
	// is inserted into it makes the MACs that exist invalid.
	Fixed, Moves []string
	// Added are further columns, which were added after version 1.0. The MAC and the digest of the log cover each by its name if it has a
	// value other than its default (the tag "default" of the model), so that rows of before keep theirs.
	Added []string
	// Logged are columns that a conditional UPDATE changes without renewing the MAC. An entry of the log says each change, and what ends
	// the row leaves an ending (Ends).
	Logged []string
	// MAC are the columns of the MAC in its order, of a table whose MACs version 1.0 makes otherwise than described above.
	MAC []string
	// Bridged says that version 1.0 writes the rows without a MAC, and changes them without renewing it: they are believed until countersign migrate
	// --finish.
	Bridged bool
	// Free are the columns that decide nothing, each with the reason; "*" stands for all that are not named.
	Free Reasons

	// OwnEntries says that entries of the record's own say each change, which internal/platform/audit compares with the row. Otherwise each
	// change of a row with a MAC is an entry records.changed, unless Unlogged says why not.
	OwnEntries bool
	Unlogged   string
	// Numbered are columns whose values one server hands out, each with what relies on it.
	Numbered Reasons

	// Ends says which states of a row never come again.
	Ends *Ends

	Sealed   []Sealed
	Subject  *OfSubject
	Exported *Export
	Retained *Retention

	row   reflect.Type // the model; nil if only SQL reads the table
	model func() *schema.Schema
}

// Reasons are reasons by column.
type Reasons map[string]string

// Placement says where the rows of a table are on a Postgres that is distributed over several servers.
type Placement string

// Placements.
const (
	// ByEnvironment: each row is on the server of its environment. Every key contains environment_id. For what grows with use.
	ByEnvironment Placement = "environment"
	// Everywhere: every server has a copy. The table is small and written rarely.
	Everywhere Placement = "everywhere"
	// OnCoordinator: only the server that statements are sent to has the table.
	OnCoordinator Placement = "coordinator"
)

// The usual conditions of Table.Of.
const (
	OfEnvironment = "tenant_id = @tenant and environment_id = @environment"
	OfTenant      = "tenant_id = @tenant"
	OfPeople      = "person_id in (select id from people where tenant_id = @tenant)"
)

// Sealed is a column with values that internal/platform/keyring sealed. While is the condition under which they are needed; empty for always.
type Sealed struct{ Column, While string }

// Incident is an event after which nothing that was open for a subject may go on.
type Incident string

// The incidents.
const (
	Recovery   Incident = "recovery"
	Revocation Incident = "revocation"
	Erasure    Incident = "erasure"
	// SessionsRevoked and AccountAtRisk are security events that an identity provider reports.
	SessionsRevoked Incident = "sessions revoked"
	AccountAtRisk   Incident = "account at risk"
)

// EveryIncident are the incidents after which nothing of before may be used.
var EveryIncident = []Incident{Recovery, Revocation, Erasure}

// Deletion is how an erasure deletes the rows of a table.
type Deletion string

// Deletions.
const (
	DeletedBySubject Deletion = "by subject"  // in batches, by their subject_uid
	DeletedWithRow   Deletion = "with parent" // with the row that they refer to
	NotDeleted       Deletion = "not deleted" // emptied of personal data, or the record of the erasure itself
)

// OfSubject says what becomes of the rows of a table that refers to a subject.
type OfSubject struct {
	// Ends are the incidents that end the open rows at once, in their own transaction (internal/subject.Void). Stays says why nothing of
	// before can be used after the others.
	Ends   []Incident
	Stays  string
	Erased Deletion
	// By selects the rows of a batch if the table has no index by its subject, which every decision would have to maintain: the subject is
	// $1, the environment $2, the most rows $3. Empty for those with its subject_uid.
	By string
}

// Export says which part of a subject's export has the rows of a table.
type Export struct {
	Section string // if it is not the name of the table
	// Columns are those exported: @ marks a time, # bytes. Those without a meaning outside of the service are left out.
	Columns string
	// From selects the rows, with the subject's uid as $1 and its environment as $2; empty for those with its subject_uid.
	From  string
	Order string
	// Not is the reason why the table is not exported; all else is empty then.
	Not string
}

// Retention says which rows of a table end with a class of data.
type Retention struct {
	Class string
	// Where is the condition of a row r that is older than $1 and not needed any more.
	Where string
	// Empties are assignments that remove the personal part of a row that stays, at $3; if empty, the row is deleted.
	Empties string
}

var declared = struct {
	sync.Mutex
	tables map[string]*Table
	order  []*Table // nil if a table was declared since
}{tables: map[string]*Table{}}

// Declare declares the table of a model. It panics if the table is declared already.
func Declare[T any](t Table) *Table {
	t.row = reflect.TypeFor[T]()
	return DeclareSQL(t)
}

// DeclareSQL declares a table that no model describes: SQL alone reads and writes it.
func DeclareSQL(t Table) *Table {
	t.model = sync.OnceValue(func() *schema.Schema {
		s, err := schema.Parse(reflect.New(t.row).Interface(), &sync.Map{}, schema.NamingStrategy{})
		if err != nil || s.Table != t.Name {
			panic("pg: the declaration of " + t.Name + " does not fit its model")
		}
		return s
	})
	declared.Lock()
	defer declared.Unlock()
	if declared.tables[t.Name] != nil {
		panic("pg: " + t.Name + " is declared twice")
	}
	declared.tables[t.Name], declared.order = &t, nil
	return &t
}

// Tables returns the declared tables, each after those that it refers to, otherwise in the order of their names.
func Tables() []*Table {
	declared.Lock()
	defer declared.Unlock()
	if declared.order != nil {
		return declared.order
	}
	done := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		t := declared.tables[name]
		if t == nil || done[name] { // of a package that this program does not have
			return
		}
		done[name] = true
		for _, other := range t.Refers {
			add(other)
		}
		declared.order = append(declared.order, t)
	}
	for _, name := range slices.Sorted(maps.Keys(declared.tables)) {
		add(name)
	}
	return declared.order
}

// TableOf returns the declaration of a table; nil if no package of this program has one.
func TableOf(name string) *Table {
	declared.Lock()
	defer declared.Unlock()
	return declared.tables[name]
}

// TablesPlaced returns the names of the tables of a placement, each after those that it refers to.
func TablesPlaced(p Placement) (names []string) {
	for _, t := range Tables() {
		if t.Placed == p {
			names = append(names, t.Name)
		}
	}
	return names
}

// AttestedTables returns the tables whose rows carry a MAC.
func AttestedTables() (out []*Table) {
	for _, t := range Tables() {
		if t.Attested() {
			out = append(out, t)
		}
	}
	return out
}

// Attested reports whether the rows of the table carry a MAC.
func (t *Table) Attested() bool { return t.Of != "" }

// Recorded reports whether each change of a row is an entry records.changed.
func (t *Table) Recorded() bool { return t.Attested() && !t.OwnEntries && t.Unlogged == "" }

// Signed returns the columns that the MAC of a row covers in any case, in its order.
func (t *Table) Signed() []string {
	switch {
	case !t.Attested():
		return nil
	case t.MAC != nil:
		return t.MAC
	}
	return slices.Concat(t.Fixed, t.Moves)
}

// Compared returns the columns that audit verify compares with the log.
func (t *Table) Compared() []string {
	if !t.OwnEntries && !t.Recorded() {
		return nil
	}
	return slices.Concat(t.Fixed, t.Moves, t.Added, t.Logged)
}

// NewRow returns a pointer to a new row of the model.
func (t *Table) NewRow() any { return reflect.New(t.row).Interface() }

// NewRows returns a pointer to an empty slice of rows of the model.
func (t *Table) NewRows() any { return reflect.New(reflect.SliceOf(t.row)).Interface() }

// keyed returns the primary key of rows, with a prefix before each column.
func (t *Table) keyed(prefix string) string {
	key := t.Key
	if t.Placed == ByEnvironment && !slices.Contains(key, "environment_id") {
		key = append(slices.Clone(key), "environment_id")
	}
	return prefix + strings.Join(key, ", "+prefix)
}

// EndsAt reports whether the incident ends the open rows of the table.
func (o *OfSubject) EndsAt(i Incident) bool { return o != nil && slices.Contains(o.Ends, i) }

// SubjectTables returns the tables that refer to a subject, each before those that it refers to.
func SubjectTables() (out []*Table) {
	for _, t := range Tables() {
		if t.Subject != nil {
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out
}

// Erase returns the statement that deletes at most $3 rows of the subject $1 in the environment $2.
func (t *Table) Erase() string {
	if t.Subject.By != "" {
		return "delete from " + t.Name + " where environment_id = $2 and " + t.Subject.By
	}
	return "delete from " + t.Name + " where environment_id = $2 and (" + t.keyed("") + ") in (select " + t.keyed("") + " from " + t.Name +
		" where environment_id = $2 and subject_uid = $1 limit $3)"
}

// Expire returns the statement that removes at most $2 rows of a class of data from before $1, and returns their environments.
func (t *Table) Expire() string {
	change := "delete from " + t.Name
	if t.Retained.Empties != "" {
		change = "update " + t.Name + " set " + t.Retained.Empties
	}
	return change + " where (" + t.keyed("") + ") in (select " + t.keyed("r.") + " from " + t.Name + " r where " + t.Retained.Where +
		" limit $2) returning environment_id"
}

// ExpiredBy returns the table whose rows end with a class of data; nil if there is none.
func ExpiredBy(class string) *Table {
	for _, t := range Tables() {
		if t.Retained != nil && t.Retained.Class == class {
			return t
		}
	}
	return nil
}

// SectionName returns the name of the part of an export that has the rows; empty if they are not exported.
func (t *Table) SectionName() string {
	switch {
	case t.Exported == nil || t.Exported.Not != "":
		return ""
	case t.Exported.Section != "":
		return t.Exported.Section
	}
	return t.Name
}

// ExportedTables returns the tables with a part of a subject's export, in the order of its names.
func ExportedTables() (out []*Table) {
	for _, t := range Tables() {
		if t.SectionName() != "" {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Table) int { return strings.Compare(a.SectionName(), b.SectionName()) })
	return out
}

// Export returns the statement that selects each row of a subject as one JSON text, with times and bytes in the formats of the contract.
func (t *Table) Export() string {
	var columns []string
	for _, c := range strings.Fields(t.Exported.Columns) {
		name := strings.TrimLeft(c, "@#")
		switch c[0] {
		case '@':
			c = `to_char(` + name + ` at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ` + name
		case '#':
			c = "translate(encode(" + name + ", 'base64'), E'\\n', '') as " + name
		}
		columns = append(columns, c)
	}
	from := t.Exported.From
	if from == "" {
		from = t.Name + " where environment_id = $2 and subject_uid = $1"
	}
	return "select to_jsonb(t)::text from (select " + strings.Join(columns, ", ") + " from " + from + " order by " + t.Exported.Order + ") t"
}
