// Package store is the only place that speaks to Postgres: GORM for ordinary reads and writes, plain SQL where a
// statement carries the meaning (conditional updates, claims, the decision path). It holds no rules of the domain,
// makes no clock reading (times are arguments) and returns rows of package models. Every lookup takes the Scope
// (tenant and environment) first and names it in its WHERE clause, unique key or not.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Scope is the tenant and environment that a query may see.
type Scope struct {
	Tenant      string
	Environment string
}

// Q runs queries: on the pool, or inside one transaction.
type Q struct {
	db *gorm.DB
	// inside is the transaction for GORM; nil outside of one.
	inside gorm.ConnPool
	// plain runs plain statements without database/sql in between: the pool, or the transaction.
	plain plain
	// queued becomes true when work is added to the outbox; nil outside of Write.
	queued *bool
}

// plain is what the pool and a transaction have in common.
type plain interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	// send sends the statements of a batch in one round trip and runs their functions.
	send(ctx context.Context, b *pgx.Batch) error
}

// pooled is the pool: each statement by itself, a batch as one transaction.
type pooled struct{ *pgxpool.Pool }

func (p pooled) send(ctx context.Context, b *pgx.Batch) error { return p.SendBatch(ctx, b).Close() }

// Store is the database. Its own methods (through Q) run each statement by itself.
type Store struct {
	*Q
	pool  *pgxpool.Pool
	sql   *sql.DB
	waker *waker
	stop  context.CancelFunc
}

// Options bound what a process takes of the database.
type Options struct {
	MaxConns int32 // default 16
	// StatementTimeout ends a statement that runs longer, and a transaction that waits longer for its next; default 10 s.
	StatementTimeout time.Duration
	// Tracer is told of every statement; nil is nobody.
	Tracer pgx.QueryTracer
}

// Open connects and checks that the database answers.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's error repeats the URL, password and all.
		return nil, errors.New("the database URL cannot be read: want postgres://user:password@host:port/name")
	}
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = 10 * time.Second
	}
	cfg.MaxConns = o.MaxConns
	cfg.ConnConfig.RuntimeParams["application_name"] = "countersign"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(o.StatementTimeout.Milliseconds())
	// A process that is stopped in its tracks must not hold its locks.
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(o.StatementTimeout.Milliseconds())
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.ConnConfig.Tracer = o.Tracer
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("the database at %s:%d does not answer: %w", cfg.ConnConfig.Host, cfg.ConnConfig.Port, err)
	}
	db := stdlib.OpenDBFromPool(pool)
	// database/sql keeps no idle connections of its own: the pool underneath does.
	db.SetMaxIdleConns(0)
	db.SetMaxOpenConns(int(o.MaxConns))
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: steady{db, pool}}), &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         false,
		Logger:                 logger.Discard,
		// Create asks for the time whether it needs it or not; a column that was forgotten stays at zero and shows.
		NowFunc: func() time.Time { return time.Time{} },
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{Q: &Q{db: g, plain: pooled{pool}}, pool: pool, sql: db, waker: newWaker(), stop: stop}
	go s.waker.run(background, s)
	return s, nil
}

// Close lets the connections go.
func (s *Store) Close() {
	s.stop()
	_ = s.sql.Close()
	s.pool.Close()
}

// Time is the database's time, by which all replicas go.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	var t time.Time
	err := s.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&t)
	return t.UTC(), err
}

// Ping asks whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// Pool gives the connection pool, for LISTEN and for figures.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// queue notes that the outbox has more.
func (q *Q) queue() {
	if q.queued != nil {
		*q.queued = true
	}
}

// with returns a fresh GORM session: a kept *gorm.DB accumulates conditions.
func (q *Q) with(ctx context.Context) *gorm.DB {
	session := q.db.WithContext(ctx)
	if q.inside != nil {
		session.Statement.ConnPool = q.inside
	}
	return session
}

// exec runs a plain statement ($1 placeholders) and returns the rows it changed.
func (q *Q) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.plain.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// queryRow runs a plain statement ($1 placeholders) that answers one row; Scan says sql.ErrNoRows where there is none. What
// it scans into must be of the column's own type: []string for texts, not models.Strings.
func (q *Q) queryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return q.plain.QueryRow(ctx, query, args...)
}

// last runs a plain statement whose answer nobody needs: inside a transaction it is sent with what comes next, at the end
// the commit, and its error is that of the next.
func (q *Q) last(ctx context.Context, query string, args ...any) error {
	if t, ok := q.plain.(*transaction); ok {
		t.queued = append(t.queued, &pgx.QueuedQuery{SQL: query, Arguments: args})
		return nil
	}
	_, err := q.exec(ctx, query, args...)
	return err
}

// Notify tells other processes that listen on the channel; inside a transaction it is sent at the commit.
func (q *Q) Notify(ctx context.Context, channel, payload string) error {
	_, err := q.exec(ctx, "select pg_notify($1, $2)", channel, payload)
	return err
}

// Listen hands every notification of the channels to f until ctx ends, reconnecting as needed. After each connection it
// calls f with an empty channel: whatever was cached may be stale.
func (s *Store) Listen(ctx context.Context, channels []string, f func(channel, payload string)) {
	for ctx.Err() == nil {
		_ = s.listenOnce(ctx, channels, f)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, channels []string, f func(channel, payload string)) error {
	// A connection of its own: a listener must not take one from the pool for ever.
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, c := range channels {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{c}.Sanitize()); err != nil {
			return err
		}
	}
	f("", "")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		f(n.Channel, n.Payload)
	}
}
