package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/loadgen"
)

// mostWAL is the target of a decision, in bytes. Proof, event and
// audit chain are included.
const mostWAL = 9000

// Written has the records of one relation in the log for each decision, without images of whole pages: how many of those
// there are depends on the time since the last checkpoint, and not on the decision.
type Written struct {
	Relation
	Amount
}

// Relation is a table or an index, or the kind of a record that belongs to neither, such as a commit.
type Relation struct {
	Name  string `json:"relation"`
	Table string `json:"table"` // of an index; otherwise the relation
}

// Amount is a size in bytes and a number of records.
type Amount struct {
	Bytes   float64 `json:"bytes"`
	Records float64 `json:"records"`
}

// plus returns the sum.
func (a Amount) plus(b Amount) Amount { return Amount{a.Bytes + b.Bytes, a.Records + b.Records} }

// written makes decisions, waits until their events are sealed, and reads from the server's log how many bytes they wrote, by relation.
// What other databases of the server wrote, such as Temporal's, is not counted.
func written(ctx context.Context, b *bench) error {
	ask, err := b.decisions(ctx)
	if err != nil {
		return err
	}
	work := func(context.Context, int) error { return b.allowed(ask.next()) }
	loadgen.Closed(ctx, clients, 2*time.Second, work)
	if _, err := b.settle(ctx, "authorizations"); err != nil {
		return err
	}
	from, err := b.sealed(ctx)
	if err != nil {
		return err
	}
	x := b.measure(ctx, "wal", "authorize, allow and proof", fmt.Sprintf("%d clients", clients), func() loadgen.Result {
		return loadgen.Closed(ctx, clients, b.Lasts, work)
	})
	if x.Failed > 0 || x.Done == 0 {
		return fmt.Errorf("%d of %d decisions failed", x.Failed, x.Done+x.Failed)
	}
	to, err := b.sealed(ctx)
	if err != nil {
		return err
	}
	// Names are read at the end: an index that was built meanwhile has a new file.
	var t WALTally
	if err := onDatabase(ctx, b.rig.DatabaseURL(), t.describe(ctx)); err != nil {
		return err
	}
	if err := b.rig.Data.DumpWAL(ctx, from, to, &t); err != nil {
		return fmt.Errorf("pg_waldump: %w: %s", err, t.last)
	}
	b.report.Written = t.Each(x.Done)
	var all float64
	for _, w := range b.report.Written {
		all += w.Bytes
	}
	b.report.under("WAL of a decision, audit chain included, without images of whole pages", all, mostWAL, "B")
	return nil
}

// sealWithin bounds how long the sealer takes for the events of a load.
const sealWithin = 2 * time.Minute

// sealed waits until every event is in the audit chain, and returns the position of the log. Sealing is part of the cost of a
// decision, and goes on for seconds after a load.
func (b *bench) sealed(ctx context.Context) (position string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sealWithin)
	defer cancel()
	for waiting := true; waiting; {
		err = onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `select exists (select from events e where not exists (select from audit_chain c where c.event_id = e.id)),
				pg_current_wal_flush_lsn()::text`).Scan(&waiting, &position)
		})
		if err != nil {
			return "", fmt.Errorf("events are not sealed: %w", err)
		}
		if waiting { // the sealer works in rounds of a second
			select { // an ended context ends the next query
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return position, nil
}

// WALTally adds up the output of pg_waldump, which is written to it.
type WALTally struct {
	Database string              // oid of the database that counts
	Names    map[string]Relation // its relations, by the number of their file
	found    map[Relation]Amount
	ours     map[string]bool                // transactions that wrote to the database
	others   map[string]map[Relation]Amount // records that name no relation, by transaction
	rest     []byte                         // the beginning of a line
	last     string                         // line that is no record
}

// describe reads the names of the relations. A partition counts as its table.
func (t *WALTally) describe(ctx context.Context) func(conn *pgx.Conn) error {
	return func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, "select oid::text from pg_database where datname = current_database()").Scan(&t.Database); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, `select pg_relation_filenode(c.oid)::text, coalesce(h.inhparent, c.oid)::regclass::text,
				coalesce(x.indrelid, t.oid, h.inhparent, c.oid)::regclass::text
			from pg_class c left join pg_inherits h on h.inhrelid = c.oid left join pg_class t on t.reltoastrelid = c.oid
				left join pg_index x on x.indexrelid = coalesce(h.inhparent, c.oid)
			where pg_relation_filenode(c.oid) is not null`)
		if err != nil {
			return err
		}
		t.Names = map[string]Relation{}
		var file string
		var r Relation
		_, err = pgx.ForEachRow(rows, []any{&file, &r.Name, &r.Table}, func() error {
			t.Names[file] = r
			return nil
		})
		return err
	}
}

// walRecord is a line of pg_waldump: the resource manager, the length without images of pages, the transaction, what was done, and the rest,
// which names the first page.
var (
	walRecord = regexp.MustCompile(`^rmgr: (\S+) +len \(rec/tot\): +(\d+)/ *\d+, tx: +(\d+), .* desc: (\S+)(.*)`)
	walPage   = regexp.MustCompile(`blkref #0: rel \d+/(\d+)/(\d+)`)
)

// Write implements io.Writer. A pipe cuts the text anywhere: the end of a
// line may come with the next call.
func (t *WALTally) Write(p []byte) (int, error) {
	all := append(t.rest, p...)
	for {
		line, rest, whole := bytes.Cut(all, []byte("\n"))
		if !whole {
			t.rest = bytes.Clone(all)
			return len(p), nil
		}
		t.add(string(line))
		all = rest
	}
}

// add counts a line, unless it is of a different database.
func (t *WALTally) add(line string) {
	r := walRecord.FindStringSubmatch(line)
	if r == nil {
		t.last = line
		return
	}
	if t.found == nil {
		t.found, t.ours, t.others = map[Relation]Amount{}, map[string]bool{}, map[string]map[Relation]Amount{}
	}
	manager, tx, what := r[1], r[3], r[4]
	size, _ := strconv.ParseFloat(r[2], 64) // the expression has digits only
	once := Amount{Bytes: size, Records: 1}
	page := walPage.FindStringSubmatch(r[5])
	switch {
	// A commit, or the group of transactions that lock a row together. Those of checkpoints have no transaction.
	case page == nil && tx != "0":
		if t.others[tx] == nil {
			t.others[tx] = map[Relation]Amount{}
		}
		name := strings.ToLower(manager + " " + what)
		of := Relation{Name: name, Table: name}
		t.others[tx][of] = t.others[tx][of].plus(once)
	case page != nil && page[1] == t.Database:
		t.ours[tx] = t.ours[tx] || tx != "0" // vacuum writes without a transaction
		of := t.Names[page[2]]
		if what == "LOCK" {
			of.Name = "lock of " + of.Name
		}
		t.found[of] = t.found[of].plus(once)
	}
}

// Each returns the records of one of a number of decisions, the relation with the most bytes
// first. Records of transactions that wrote to other databases only are left out.
func (t *WALTally) Each(decisions int) []Written {
	all := maps.Clone(t.found)
	for tx := range t.ours {
		for of, amount := range t.others[tx] {
			all[of] = all[of].plus(amount)
		}
	}
	var out []Written
	n := float64(decisions)
	for of, amount := range all {
		out = append(out, Written{of, Amount{amount.Bytes / n, amount.Records / n}})
	}
	slices.SortFunc(out, func(a, b Written) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name)) })
	return out
}

// leastWritten is the number of bytes below which relations are added up in the table.
const leastWritten = 1

// writeWritten writes the table of the bytes of a decision by relation, if they were measured.
func (r *Report) writeWritten(b *strings.Builder) {
	if len(r.Written) == 0 {
		return
	}
	b.WriteString("\n| relation | of | bytes of WAL a decision | records |\n|---|---|---:|---:|\n")
	var rest, all Amount
	for _, w := range r.Written {
		all = all.plus(w.Amount)
		if w.Bytes < leastWritten {
			rest = rest.plus(w.Amount)
			continue
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %.0f | %.2f |\n", w.Name, w.Table, w.Bytes, w.Records)
	}
	fmt.Fprintf(b, "| others | | %.0f | %.2f |\n| **all** | | **%.0f** | %.2f |\n", rest.Bytes, rest.Records, all.Bytes, all.Records)
}
