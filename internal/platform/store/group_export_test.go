package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// RunGrouped runs a statement together with those of other callers and returns its number.
func RunGrouped(ctx context.Context, st *Store, query string, args ...any) (n int, err error) {
	err = st.grouped(ctx, st.groups.writes, &grouped{query: query, args: args, scan: func(row pgx.Row) error { return row.Scan(&n) }})
	return n, err
}

// RunGroupedWith is like RunGrouped, with a statement behind. It returns the numbers of both.
func RunGroupedWith(ctx context.Context, st *Store, query, behind string) (found []int, err error) {
	g := grouped{query: query, scan: func(row pgx.Row) error {
		var n int
		err := row.Scan(&n)
		found = []int{n}
		return err
	}}
	b := pgx.Batch{}
	b.Queue(behind).Query(func(rows pgx.Rows) error {
		more, err := pgx.CollectRows(rows, pgx.RowTo[int])
		found = append(found, more...)
		return err
	})
	g.behind = b.QueuedQueries
	err = st.grouped(ctx, st.groups.writes, &g)
	return found, err
}

// Grouped returns how many statements are queued and how many round trips are under way.
func Grouped(st *Store) (queued, underWay int) {
	g := st.groups.writes
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue), g.underWay
}

// LimitGroup sets how many round trips may be under way, and how long a statement queues before it runs by itself.
func LimitGroup(st *Store, roundTrips int, patience time.Duration) {
	st.groups.writes.most, st.groups.writes.patience = roundTrips, patience
}

// OccupyReads makes facts that are read together queue until release is called.
func OccupyReads(st *Store) (release func()) {
	g := st.groups.reads
	g.most, g.patience = 0, time.Hour
	return func() {
		g.mu.Lock()
		g.underWay++ // the round trip that ends
		g.mu.Unlock()
		g.leave()
	}
}

// QueuedReads returns how many statements that read facts are queued.
func QueuedReads(st *Store) int {
	g := st.groups.reads
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}
