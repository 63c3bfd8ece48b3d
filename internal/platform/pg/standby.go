package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// StandbyOptions configure a standby of the database, from which lists of records are read that may be a little old.
type StandbyOptions struct {
	URL string // empty: there is none
	// MaxAge is how old a list may be; default 5 s. Beyond it the primary is read.
	MaxAge time.Duration
	// Changed is called when the standby begins or ceases to be read, and when the reason changes; it must not wait. Nil ignores that.
	Changed func(used bool, reason error)
}

const (
	// standbyConns is the largest number of connections to the standby.
	standbyConns = 8
	// standbyEvery is the interval at which the positions of the primary and of the standby are compared.
	standbyEvery = 200 * time.Millisecond
	// standbyWithin bounds a comparison.
	standbyWithin = 2 * time.Second
	// standbyTicks is how many positions of the primary are remembered, at least some minutes.
	standbyTicks = 1024
)

// Reasons not to read a standby.
var (
	errNotCompared = errors.New("it was not compared with the primary yet")
	errPromoted    = errors.New("it was promoted: it replays the log of no server")
	errOtherServer = errors.New("it is a standby of a different server: name a standby of the server in COUNTERSIGN_DATABASE_URL")
)

// standby is a pool of connections to a standby, and how old its data is.
//
// The age is an upper bound that needs neither equal clocks nor a connection between the servers: the standby has everything
// that the primary had committed at the latest moment at which the primary's log ended no later than the standby's replay.
type standby struct {
	o    StandbyOptions
	conn poolConn

	mu    sync.Mutex
	ticks []tick
	asOf  time.Time // the standby has everything that was committed until then
	err   error     // why it is not read, apart from its age
	said  *string   // the reason as last reported, empty if it is read; nil before the first report

	reads atomic.Int64
}

// tick is the end of the primary's log at a time.
type tick struct {
	at  time.Time
	lsn int64
}

// openStandby prepares the pool. It makes no connection: the service starts without its standby.
func openStandby(ctx context.Context, o Options) (*standby, error) {
	s := &standby{o: o.Standby, err: errNotCompared}
	if s.o.MaxAge == 0 {
		s.o.MaxAge = 5 * time.Second
	}
	cfg, err := pgxpool.ParseConfig(s.o.URL)
	if err != nil {
		return nil, fmt.Errorf("the standby: %w", errURL)
	}
	cfg.MaxConns = standbyConns
	session(cfg.ConnConfig, o)
	limit(cfg.ConnConfig, o.StatementTimeout)
	cfg.ConnConfig.ConnectTimeout = standbyWithin
	cfg.BeforeClose = freeAtOnce
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	db.SetMaxIdleConns(0)
	db.SetMaxOpenConns(standbyConns)
	s.conn = poolConn{pool: pool, sql: db, forget: pool.Reset}
	return s, nil
}

func (s *standby) close() {
	_ = s.conn.sql.Close()
	s.conn.pool.Close()
}

// follow compares the standby with the primary until ctx ends.
func (s *standby) follow(ctx context.Context, primary *Store) {
	ticker := time.NewTicker(standbyEvery)
	defer ticker.Stop()
	for {
		s.compare(ctx, primary)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// compare reads both positions and reports a change.
func (s *standby) compare(ctx context.Context, primary *Store) {
	ctx, cancel := context.WithTimeout(ctx, standbyWithin)
	defer cancel()
	// Before the position is read: what was committed until then is before it.
	at := time.Now()
	var end int64
	// A commit is visible once its record is flushed.
	known := primary.pool.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint").Scan(&end) == nil
	replayed, err := s.replayed(ctx, primary)

	s.mu.Lock()
	defer s.mu.Unlock()
	if known {
		s.remember(tick{at, end})
	}
	if s.err = err; err == nil {
		s.advance(replayed)
	}
	s.report(s.unusable())
}

// report calls Changed if the reason not to read the standby is a different one than before.
func (s *standby) report(reason error) {
	text := ""
	if reason != nil {
		text = reason.Error()
	}
	if s.said != nil && *s.said == text || s.o.Changed == nil {
		return
	}
	s.said = &text
	s.o.Changed(reason == nil, reason)
}

// remember adds a position of the primary. After a failover the log may end earlier: what was remembered is of a log that is gone.
func (s *standby) remember(t tick) {
	if n := len(s.ticks); n > 0 && t.lsn < s.ticks[n-1].lsn {
		s.ticks = nil
	}
	if len(s.ticks) == standbyTicks {
		s.ticks = s.ticks[1:]
	}
	s.ticks = append(s.ticks, t)
}

// advance moves asOf to the latest moment of which the standby has everything.
func (s *standby) advance(replayed int64) {
	for i, t := range s.ticks {
		if t.lsn > replayed {
			s.ticks = s.ticks[i:]
			return
		}
		if t.at.After(s.asOf) {
			s.asOf = t.at
		}
	}
}

// replayed returns the end of the log that the standby has replayed, or why the standby must not be read.
func (s *standby) replayed(ctx context.Context, primary *Store) (lsn int64, err error) {
	var recovering bool
	err = s.conn.QueryRow(ctx, "select pg_is_in_recovery(), coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::bigint").Scan(&recovering, &lsn)
	if err != nil {
		return 0, fmt.Errorf("it does not respond: %w", err)
	}
	if !recovering {
		return 0, errPromoted
	}
	s.mu.Lock()
	known := s.err == nil
	s.mu.Unlock()
	if known {
		return lsn, nil
	}
	here, err := server(ctx, primary.Q)
	if err != nil {
		return 0, err
	}
	there, err := server(ctx, s.q(primary.Q))
	if err == nil && here != "" && there != "" && here != there {
		err = errOtherServer
	}
	return lsn, err
}

// server returns the system identifier of the server, or "" if the role may not read it. It asks for the privilege first,
// because a refused statement would end the transaction.
func server(ctx context.Context, q *Q) (string, error) {
	var may bool
	if err := q.QueryRow(ctx, "select has_function_privilege('pg_control_system()', 'execute')").Scan(&may); err != nil || !may {
		return "", err
	}
	var id string
	err := q.QueryRow(ctx, "select system_identifier::text from pg_control_system()").Scan(&id)
	return id, err
}

// unusable returns why the standby is not read; nil if it is. The caller has the lock.
func (s *standby) unusable() error {
	if s.err != nil {
		return s.err
	}
	if age := time.Since(s.asOf); age > s.o.MaxAge {
		return fmt.Errorf("its data is older than %s", s.o.MaxAge)
	}
	return nil
}

func (s *standby) q(primary *Q) *Q {
	return &Q{db: primary.db, conn: s.conn}
}

// serve reports whether the standby may serve a read, and records in a how old it may be.
func (s *standby) serve(a *Aged) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unusable() != nil {
		return false
	}
	s.reads.Add(1)
	a.add(s.asOf)
	return true
}

// StandbyFigures are the state of the standby for metrics.
type StandbyFigures struct {
	Used  bool
	Age   time.Duration // at most; since the start of the process if nothing was compared
	Reads int64         // statements and transactions
}

// Standby returns the state of the standby, and false if there is none.
func (s *Store) Standby() (StandbyFigures, bool) {
	b := s.standby
	if b == nil {
		return StandbyFigures{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := StandbyFigures{Used: b.unusable() == nil, Reads: b.reads.Load()}
	if !b.asOf.IsZero() {
		f.Age = time.Since(b.asOf)
	}
	return f, true
}

type agedKey struct{}

// Aged records whether reads of one request came from the standby.
type Aged struct {
	mu   sync.Mutex
	asOf time.Time // of the oldest
}

// MayBeOld lets the lists that are read with the returned context come from the standby.
func MayBeOld(ctx context.Context) (context.Context, *Aged) {
	a := &Aged{}
	return context.WithValue(ctx, agedKey{}, a), a
}

func (a *Aged) add(asOf time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asOf.IsZero() || asOf.Before(a.asOf) {
		a.asOf = asOf
	}
}

// Age returns how old the data of the request is at most, and false if nothing came from the standby.
func (a *Aged) Age() (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asOf.IsZero() {
		return 0, false
	}
	return max(0, time.Since(a.asOf)), true
}

// Old returns queries on the standby if ctx permits old data, and q otherwise. Only reads that lists and reports are made of ask
// for it: what is cached, compared with a request, or read again after a write, never does.
func (q *Q) Old(ctx context.Context) *Q {
	a, asked := ctx.Value(agedKey{}).(*Aged)
	if !asked || q.standby == nil || !q.standby.serve(a) {
		return q
	}
	return q.standby.q(q)
}

// ReadOld is Read on the standby if ctx permits old data.
func (s *Store) ReadOld(ctx context.Context, f func(q *Q) error) error {
	a, asked := ctx.Value(agedKey{}).(*Aged)
	if !asked || s.standby == nil || !s.standby.serve(a) {
		return s.Read(ctx, f)
	}
	return readOnly(s.transactOn(ctx, s.standby.conn.sql, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, rollingBack(f)))
}

// transactOn runs f in a transaction of a pool.
func (s *Store) transactOn(ctx context.Context, pool *sql.DB, o pgx.TxOptions, f func(q *Q) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	pgxConn, err := unwrap(conn)
	if err != nil {
		return err
	}
	t := &txConn{pgx: pgxConn, sql: conn, options: o}
	defer rollBack(ctx, t.pgx)
	if err := f(&Q{db: s.db, conn: t}); err != nil {
		return err
	}
	return t.commit(ctx)
}
