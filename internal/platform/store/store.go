// Package store is the only package that talks to Postgres. It returns rows of package models, has no rules of the domain
// and reads no clock: times are arguments. Every lookup takes the Scope (tenant and environment) first and names it in its
// WHERE clause, even if it looks up a unique key.
//
// # Running a query
//
// Every statement is run by a method of Q, on the pool or inside one transaction (Write and Read):
//
//   - q.gorm begins a GORM statement: reading rows into models, inserting a model, lists with optional conditions.
//   - q.exec, q.query and q.queryRow run SQL with $1 placeholders: conditional updates, claims and the hot paths of
//     authorize and evidence, where the statement carries the meaning or the mapping costs too much.
//   - q.batch runs several statements in one round trip.
//   - q.atCommit runs a statement in the round trip of the commit.
//
// GORM and SQL use the same connection, and so the same transaction and the same order: a Q has one conn, which is either
// the pool (poolConn) or a transaction (txConn). A transaction sends its BEGIN with its first statement and its COMMIT with
// the last, so that a transaction of one statement costs two round trips and not three.
//
// The queries are grouped by aggregate: q.Holds().Resolve resolves a hold. An aggregate is a Q under another name; one made
// inside a transaction runs inside it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
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
	conn := poolConn{pool: pool, sql: db}
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), &gorm.Config{
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
	s := &Store{Q: &Q{db: g, conn: conn}, pool: pool, sql: db, waker: newWaker(), stop: stop}
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

const ofScope = "tenant_id = ? and environment_id = ?"
