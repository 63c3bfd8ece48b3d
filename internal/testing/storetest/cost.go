package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// Cost counts the traffic of one use of the service with Postgres. Begin and commit are statements.
type Cost struct {
	Statements int
	RoundTrips int // a batch is one
}

// Meter counts the statements of a store. The store's own work in the background is not counted.
type Meter struct {
	mu   sync.Mutex
	cost Cost
	sent []string
}

// measured marks the contexts whose statements count.
type measured struct{}

// NewMeasured is New with a meter.
func NewMeasured(t testing.TB) (*pg.Store, *Meter) {
	t.Helper()
	m := &Meter{}
	st, err := pg.Open(context.WithoutCancel(t.Context()), testenv.Database(t), pg.Options{Tracer: m, Keys: testenv.Keys()})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st, m
}

// Of returns what do costs. do must use the context that it is given.
func (m *Meter) Of(ctx context.Context, do func(ctx context.Context)) Cost {
	m.mu.Lock()
	m.cost, m.sent = Cost{}, nil
	m.mu.Unlock()
	do(context.WithValue(ctx, measured{}, true))
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

// Sent returns the statements of the last use that was measured.
func (m *Meter) Sent() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

func (m *Meter) add(ctx context.Context, c Cost, sent ...string) {
	if ctx.Value(measured{}) == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.Statements += c.Statements
	m.cost.RoundTrips += c.RoundTrips
	m.sent = append(m.sent, sent...)
}

// TraceQueryStart implements pgx.QueryTracer.
func (m *Meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	m.add(ctx, Cost{Statements: 1, RoundTrips: 1}, d.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (m *Meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (m *Meter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	m.add(ctx, Cost{RoundTrips: 1})
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (m *Meter) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	m.add(ctx, Cost{Statements: 1}, d.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (m *Meter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// OneConnection returns a store of a database, of whose statements Counted knows.
func OneConnection(t testing.TB, url string) *pg.Store {
	t.Helper()
	st, err := pg.Open(context.Background(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// Counted returns a count of the statistics, which includes what the only connection has done.
func Counted(t testing.TB, st *pg.Store, query string) (n int) {
	t.Helper()
	Exec(t, st, "select pg_stat_force_next_flush()")
	require.NoError(t, st.Pool().QueryRow(context.Background(), query).Scan(&n))
	return n
}
