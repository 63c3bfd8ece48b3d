package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/countersign-dev/countersign/internal/platform/ids"
)

// statement is one SQL statement as the service sent it.
type statement struct {
	sql  string
	args []any
}

// transaction lists what one request sent, in order, including begin and
// commit if it had them.
type transaction []statement

// recorder is a pgx tracer that records the statements of marked contexts.
type recorder struct {
	mu   sync.Mutex
	sent transaction
}

// recording is the context key that marks a request to record.
type recording struct{}

// TraceQueryStart records the statement if its context is marked. Arguments
// are copied, because the service reuses their memory.
func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if ctx.Value(recording{}) != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := statement{ofItsVersion.ReplaceAllString(data.SQL, "version >= $1"), slices.Clone(data.Args)}
		for i, arg := range s.args {
			switch v := arg.(type) {
			case *string:
				if v != nil {
					s.args[i] = *v
				}
			case []byte:
				s.args[i] = bytes.Clone(v)
			case pgtype.TextValuer: // the address of a text, whose nil is null
				if text, err := v.TextValue(); err == nil && text.Valid {
					s.args[i] = text.String
				}
			case driver.Valuer:
				if plain, err := v.Value(); err == nil {
					s.args[i] = plain
				}
			case pgtype.BytesValuer:
				if raw, err := v.BytesValue(); err == nil {
					s.args[i] = bytes.Clone(raw)
				}
			}
		}
		r.sent = append(r.sent, s)
	}
	return ctx
}

// TraceBatchStart implements pgx.BatchTracer.
func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery records a statement of a batch.
func (r *recorder) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	r.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: data.SQL, Args: data.Args})
}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// record returns the statements that do sends over connections that the
// recorder traces.
func (r *recorder) record(ctx context.Context, do func(ctx context.Context) error) (transaction, error) {
	r.mu.Lock()
	r.sent = nil
	r.mu.Unlock()
	err := do(context.WithValue(ctx, recording{}, true))
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent, err
}

// twice records a request until two in a row sent the same statements. Now
// and then a request sends more, for example to record a change of state.
func (r *recorder) twice(ctx context.Context, request func(ctx context.Context) error) (replay, error) {
	last, err := r.record(ctx, request)
	for range 10 {
		if err != nil {
			return replay{}, err
		}
		var next transaction
		if next, err = r.record(ctx, request); err != nil {
			return replay{}, err
		}
		if last.like(next) {
			return newReplay(last, next), nil
		}
		last = next
	}
	return replay{}, errors.New("no two requests in a row sent the same statements")
}

// like reports whether two transactions sent the same statements, whatever
// their arguments.
func (t transaction) like(o transaction) bool {
	return slices.EqualFunc(t, o, func(a, b statement) bool { return a.sql == b.sql && len(a.args) == len(b.args) })
}

// bare sends recorded transactions with new ids on a pool, without any code
// of the service.
type bare struct {
	pool *pgxpool.Pool
	all  []replay
}

// replay is a recorded transaction and the values in it that no two
// requests share.
type replay struct {
	transaction
	fresh map[string]func() string // by recorded value
	bytes map[string]bool          // recorded digests that differ from request to request
}

// ofItsVersion matches the condition that a row is as it was read. When the
// statement is sent again, the row has a later version: the recorded one
// changed it.
var ofItsVersion = regexp.MustCompile(`\bversion = (\$\d+)`)

// typeID matches the ids of the service, such as
// azn_01m81szqcqex8r5vg3q0zn022b.
var typeID = regexp.MustCompile(`^([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}$`)

// newReplay compares two recordings of the same request: strings and
// digests that differ are new in every request.
func newReplay(one, two transaction) replay {
	r := replay{transaction: one, fresh: map[string]func() string{}, bytes: map[string]bool{}}
	for i := range one {
		for j, arg := range one[i].args {
			r.learn(arg, two[i].args[j])
		}
	}
	return r
}

// learn notes how to replace an argument that differs between two
// recordings.
func (r *replay) learn(a, b any) {
	switch v := a.(type) {
	case string:
		if w, ok := b.(string); !ok || v == w {
			return
		}
		if m := typeID.FindStringSubmatch(v); m != nil {
			r.fresh[v] = func() string { return ids.New(m[1]) }
		} else if len(v) == 26 { // rand.Text: a nonce, a key, a frame's id
			r.fresh[v] = rand.Text
		}
	case []byte:
		if w, ok := b.([]byte); ok && string(v) != string(w) && (len(v) == 32 || len(v) == 16) { // a digest, or its beginning
			r.bytes[string(v)] = true
		}
	}
}

// again returns the transaction with new values. A value that occurs twice
// is replaced by the same new value.
func (r *replay) again() transaction {
	given := make(map[string]string, len(r.fresh))
	for old, next := range r.fresh {
		given[old] = next()
	}
	out := make(transaction, len(r.transaction))
	for i, s := range r.transaction {
		out[i] = statement{s.sql, slices.Clone(s.args)}
		for j, arg := range s.args {
			switch v := arg.(type) {
			case string:
				if w, ok := given[v]; ok {
					out[i].args[j] = w
				}
			case []byte:
				if r.bytes[string(v)] {
					w := make([]byte, len(v))
					_, _ = rand.Read(w)
					out[i].args[j] = w
				}
			}
		}
	}
	return out
}

// newBare connects with as many connections as the service has.
func newBare(ctx context.Context, url string, conns int) (*bare, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	return &bare{pool: pool}, err
}

// run sends the ith transaction's statements on one connection, each after
// the response to the previous one.
func (b *bare) run(ctx context.Context, i int) error {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for _, s := range b.all[i%len(b.all)].again() {
		rows, err := conn.Query(ctx, s.sql, s.args...)
		if err == nil {
			rows.Close()
			err = rows.Err()
		}
		if err != nil {
			return errors.Join(err, rollback(ctx, conn))
		}
	}
	return nil
}

// rollback ends a transaction that an error left open.
func rollback(ctx context.Context, conn *pgxpool.Conn) error {
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := conn.Exec(ctx, "rollback")
	return err
}

// count is the number of rows of a table.
func (b *bare) count(ctx context.Context, table string) (n int, err error) {
	err = b.pool.QueryRow(ctx, "select count(*) from "+pgx.Identifier{table}.Sanitize()).Scan(&n)
	return n, err
}

// shape lists the first words of the recorded statements, for the report.
func (b *bare) shape() string {
	if len(b.all) == 0 {
		return "nothing"
	}
	words := make([]string, len(b.all[0].transaction))
	for i, s := range b.all[0].transaction {
		words[i], _, _ = strings.Cut(strings.TrimSpace(s.sql), " ")
	}
	return strings.Join(words, ", ")
}
