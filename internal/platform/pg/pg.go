// Package pg is the kit over Postgres: the pool, transactions, notifications, pages, errors and migrations. It has no rule and
// reads no clock: times are arguments. The SQL of a record is in the rows.go of the record's package, as functions over a *Q that return
// rows of package models. Every lookup takes the Scope (tenant and environment) first and names it in its WHERE clause, even if it looks up
// a unique key.
//
// # Running a query
//
// Every statement is run by a method of Q, on the pool or inside one transaction (Write and Read):
//
//   - q.Gorm begins a GORM statement: reading rows into models, inserting a model, lists with optional conditions.
//   - q.Exec, q.Query and q.QueryRow run SQL with $1 placeholders: conditional updates, claims and the hot paths of
//     authorize and evidence, where the statement carries the meaning or the mapping costs too much.
//   - q.Batch runs several statements in one round trip, q.Transaction as one transaction.
//
// GORM and SQL use the same connection, and so the same transaction and the same order: a Q has one conn, which is either
// the pool (poolConn) or a transaction (txConn). A transaction sends BEGIN with its first statement and
// COMMIT by itself; q.Transaction on the pool sends both with its statements.
//
// A few records that several rooms read have their SQL here: the lists of sessions and the rows of a subject.
package pg

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// Scope is the tenant and environment that a query may see.
type Scope struct {
	Tenant      string
	Environment string
}

// Store is the database. Queries on a Store itself, rather than on the Q of Write or Read, run on the pool.
type Store struct {
	*Q
	pool  *pgxpool.Pool
	sql   *sql.DB
	waker *waker
	// forget replaces the connections, whose statements a migration has made stale.
	forget func()
	stop   context.CancelFunc
	// direct makes connections that no pooler shares: their session listens for notifications.
	direct    *pgx.ConnConfig
	directURL string // Options.DirectURL
}

// Options configures Open.
type Options struct {
	MaxConns int32 // connections in the pool; default 16
	// DirectURL leads to the server itself if the database URL leads to a pooler of transactions, such as PgBouncer: to listen
	// for notifications and to migrate. Empty: the database URL leads to the server.
	DirectURL string
	// StatementTimeout ends a statement that runs longer, and a transaction that is idle for longer; default 10 s.
	StatementTimeout time.Duration
	// Standby may serve lists of records.
	Standby StandbyOptions
	// Keys make and check the MACs of rows that decide (Table). Without them such rows can be neither written nor read.
	Keys *keyring.Keyring
	// Record appends what a transaction changed of rows that decide to the log, before it ends.
	Record Record
	// Tracer traces every statement; nil disables tracing.
	Tracer pgx.QueryTracer
}

// Record appends the states of changed rows to the log.
type Record func(ctx context.Context, q *Q, rows []Row) error

// Open connects to the database and verifies that it responds. It does not migrate it.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = 10 * time.Second
	}
	cfg, direct, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	follow := followPrimary(cfg, direct)
	forget := forgetPlans(cfg, o)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	follow(pool)
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(cfg.ConnConfig, err)
	}
	verify := func(ctx context.Context) error { return verifyPooler(ctx, pool, direct, o.StatementTimeout) }
	if o.DirectURL == "" {
		verify = func(ctx context.Context) error {
			return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return verifyServer(ctx, c.Conn(), o.StatementTimeout) })
		}
	}
	if err := verify(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	// database/sql has no idle connections of its own: pgxpool has them.
	db.SetMaxIdleConns(0)
	db.SetMaxOpenConns(int(o.MaxConns))
	conn := poolConn{pool: pool, sql: db, forget: func() { forget(pool) }}
	schema.RegisterSerializer(nestedName, nested{})
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         false,
		Logger:                 logger.Discard,
		// GORM fills created_at and updated_at by itself. The zero time makes a column that a caller forgot visible.
		NowFunc: func() time.Time { return time.Time{} },
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	if err := g.Use(&attestation{keys: o.Keys, record: o.Record}); err != nil {
		pool.Close()
		return nil, err
	}
	var from *standby
	if o.Standby.URL != "" {
		if from, err = openStandby(ctx, o); err != nil {
			pool.Close()
			return nil, err
		}
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{Q: &Q{db: g, conn: conn, standby: from}, pool: pool, sql: db, forget: conn.forget, waker: newWaker(), stop: stop, direct: direct, directURL: o.DirectURL}
	if err := s.readBridge(ctx); err != nil {
		s.Close()
		return nil, err
	}
	go s.waker.run(background, s)
	go s.followBridge(background)
	if from != nil {
		go from.follow(background, s)
	}
	return s, nil
}

// Close closes the connections.
func (s *Store) Close() {
	s.stop()
	if s.standby != nil {
		s.standby.close()
	}
	_ = s.sql.Close()
	s.pool.Close()
}

// Time returns the time of the database, which is the same for all replicas.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	var t time.Time
	err := s.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&t)
	return t.UTC(), err
}

// Ping verifies that the database responds.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// Pool returns the connection pool, for its figures.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// InScope is the condition that every lookup in a scope has.
const InScope = "tenant_id = ? and environment_id = ?"
