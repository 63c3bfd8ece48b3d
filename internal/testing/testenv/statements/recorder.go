// Package statements checks that every statement that tests make the product send names its environment (pg.Table.Placed), so that
// a Postgres that is distributed by environment runs it on one server. The recorder collects the statements with the functions that
// send them; the check reads the plan that Postgres makes of each. Only tests may import it.
package statements

import (
	"context"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Recorder is a pgx tracer that collects the distinct statements of package pg and of the rows of records. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	known map[sending]bool   // so that a repeated statement costs no look-up of functions, and allocates nothing
	found map[Statement]bool // whether Check has seen it
}

// sending is a text with the calls that led to it.
type sending struct {
	sql   string
	calls [depth]uintptr
}

// depth is the number of calls in which the function that sends a statement is found: GORM puts two dozen between it and the driver.
const depth = 48

// Statement is one text that a function of package pg or of the rows of a record sends.
type Statement struct {
	Function string // with its package: "hold.GetHold", "pg.Store.Distribute"
	SQL      string
}

// New returns an empty recorder.
func New() *Recorder { return &Recorder{known: map[sending]bool{}, found: map[Statement]bool{}} }

// TraceQueryStart implements pgx.QueryTracer.
func (r *Recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.record(d.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *Recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (r *Recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (r *Recorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	r.record(d.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *Recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (r *Recorder) record(sql string) {
	// The tests that count allocations have a recorder too: nothing is allocated for a statement that is known.
	key := sending{sql: sql}
	n := runtime.Callers(3, key.calls[:]) // without Callers, record and the method of the tracer
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[key] {
		return
	}
	r.known[key] = true
	function := sender(key.calls[:n])
	if function == "" || !planned(sql) {
		return
	}
	// The same text may be sent by functions of which one runs over all environments and another must not.
	s := Statement{Function: function, SQL: sql}
	if _, ok := r.found[s]; !ok {
		r.found[s] = false
	}
}

// All returns every statement that was recorded.
func (r *Recorder) All() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.found))
}

// take returns the statements that it has not returned before.
func (r *Recorder) take() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh []Statement
	for s, seen := range r.found {
		if !seen {
			fresh, r.found[s] = append(fresh, s), true
		}
	}
	return fresh
}

// planned reports whether Postgres plans a statement. It has no plan of "begin", "listen" or "create table".
func planned(sql string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(sql)), " ")
	switch strings.TrimSpace(word) {
	case "select", "insert", "update", "delete", "with":
		return true
	}
	return false
}

const (
	module = "github.com/countersign-dev/countersign/"
	kit    = module + "internal/platform/pg."
)

// drivers are the packages between a function that sends a statement and its connection.
var drivers = []string{"github.com/jackc/", "gorm.io/", "database/sql.", "sync.", "slices."}

// sender returns the function that sends a statement: of those in package pg and in the rows of records (rows*.go) the one furthest from the
// driver, before other code calls in. It is empty for a statement of a test, which may use the pool as it likes.
func sender(calls []uintptr) string {
	calls = slices.Clone(calls) // it must not make the caller's memory escape
	frames := runtime.CallersFrames(calls)
	name := ""
	for {
		f, more := frames.Next()
		switch {
		case sends(f):
			name = f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		case !slices.ContainsFunc(drivers, func(p string) bool { return strings.HasPrefix(f.Function, p) }):
			return short(name)
		}
		if !more {
			return short(name)
		}
	}
}

// sends reports whether a function is one of those whose statements are checked.
func sends(f runtime.Frame) bool {
	file := filepath.Base(f.File)
	if !strings.HasPrefix(f.Function, module) || strings.HasSuffix(file, "_test.go") {
		return false
	}
	return strings.HasPrefix(f.Function, kit) || strings.HasPrefix(file, "rows")
}

// short removes what the compiler adds to a function's name: "pg.(*Store).Write.func1" is pg.Store.Write.
func short(name string) string {
	name, _, _ = strings.Cut(name, ".func")
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}
