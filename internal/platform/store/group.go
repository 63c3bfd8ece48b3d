package store

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// groups are those of a store: the statements that read facts and those that write decisions, and likewise of frames, for which no decision
// waits. They are nil in a transaction, whose statements belong together already, and on a distributed database, where the environments of
// a transaction may be on several servers.
type groups struct{ reads, writes, frameReads, frameWrites *group }

// newGroups lets three times as many round trips read for frames, which takes Postgres three times as long and commits nothing.
func newGroups(pool *pgxpool.Pool) groups {
	n := roundTrips()
	return groups{reads: newGroup(pool, n), writes: newGroup(pool, n), frameReads: newGroup(pool, 3*n), frameWrites: newGroup(pool, n)}
}

func newGroup(pool *pgxpool.Pool, roundTrips int) *group {
	return &group{pool: pool, most: roundTrips, patience: 100 * time.Millisecond}
}

// group sends statements of concurrent requests together, in one round trip and one transaction, as the group commit of a database does.
// No request waits for others to arrive: it queues only while as many round trips are under way as may be, and the next one takes those that
// have queued. So a single request costs what it costs without a group, and the more there are, the less each of them costs.
//
// Requests do not share their failures: if a transaction fails, its statements run again, without the one that was refused or each by
// itself. Therefore a statement may only be grouped if it may run again after a transaction whose end is unknown: because it only reads, or
// because a unique key, or the version of its row, shows that it has been done. It must not wait for locks that others hold for long, since
// the others in its transaction would wait too.
type group struct {
	pool     *pgxpool.Pool
	most     int           // round trips that may be under way
	patience time.Duration // how long a request queues before it runs by itself: a connection that hangs must not stop the others

	mu       sync.Mutex
	underWay int
	queue    []*grouped // oldest first
}

// groupSize is the largest number of statements of a round trip. Four decisions fit into the memory of a connection (room).
const groupSize = 32

// roundTrips is the number of round trips of a group that may be under way: a process of two cores makes about as many decisions as one
// session of Postgres writes together.
func roundTrips() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// grouped is a statement that returns one row, with those of the same request that are sent behind it. If its transaction fails, all of them
// run again.
type grouped struct {
	query  string
	args   []any
	scan   func(pgx.Row) error
	behind []*pgx.QueuedQuery // with their callbacks, which also run if the first statement returns no row

	until   time.Time // deadline of the request
	scanned error     // what scan returned
	err     error     // of the statement, or errApart
	seat    *seat     // of a request that queues
}

// seat is where a request waits in the queue.
type seat struct {
	turn chan turn
	late *time.Timer // ends its patience
}

var seats = sync.Pool{New: func() any { return &seat{turn: make(chan turn, 1), late: time.NewTimer(time.Hour)} }}

// turn is why a request is woken.
type turn int

const (
	turnDone  turn = iota // its statement was sent
	turnLead              // it sends the next round trip
	turnApart             // it has queued for too long
)

// errApart is the error of a statement whose transaction failed: it is to run by itself.
var errApart = errors.New("store: the transaction of a group failed")

// grouped runs a statement in a group, or by itself if the group is nil.
func (q *Q) grouped(ctx context.Context, g *group, s *grouped) error {
	s.err = errApart
	if g != nil {
		if err := g.run(ctx, q, s); err != nil {
			return err
		}
	}
	if errors.Is(s.err, errApart) {
		return q.apart(ctx, s)
	}
	return s.err
}

// apart runs the statements of one request.
func (q *Q) apart(ctx context.Context, s *grouped) error {
	if len(s.behind) == 0 {
		return s.scan(q.queryRow(ctx, s.query, s.args...))
	}
	b := &pgx.Batch{}
	s.queue(b)
	b.QueuedQueries[0].QueryRow(s.scan)
	return q.batch(ctx, b)
}

// queue adds the statements to a batch. Those behind are copied, because pgx keeps in them how they were prepared on the connection.
func (s *grouped) queue(b *pgx.Batch) {
	b.Queue(s.query, s.args...)
	for _, l := range s.behind {
		b.Queue(l.SQL, l.Arguments...).Fn = l.Fn
	}
}

// receive reads what the statements return.
func (s *grouped) receive(results pgx.BatchResults) error {
	found := s.scan(results.QueryRow())
	if found != nil && !errors.Is(found, pgx.ErrNoRows) {
		return found
	}
	for _, b := range s.behind {
		if err := b.Fn(results); err != nil {
			return err
		}
	}
	return found
}

// run has a statement sent. It returns an error if the request ended before.
func (g *group) run(ctx context.Context, q *Q, s *grouped) error {
	var limited bool
	if s.until, limited = ctx.Deadline(); !limited {
		s.until = time.Unix(math.MaxInt32, 0)
	}
	if t, err := g.wait(ctx, s); err != nil || t != turnLead {
		return err
	}
	members := g.take(s)
	defer func() {
		g.leave()
		for _, m := range members[1:] {
			m.seat.turn <- turnDone
		}
	}()
	if len(members) > 1 {
		g.send(ctx, members)
	} else {
		s.err = q.apart(ctx, s)
	}
	return nil
}

// wait returns at once if a round trip may begin. Otherwise it queues a request until its turn, until it ends, or until it has queued for too
// long.
func (g *group) wait(ctx context.Context, s *grouped) (turn, error) {
	s.seat, _ = seats.Get().(*seat)
	defer seats.Put(s.seat)
	if g.begins(s) {
		return turnLead, nil
	}
	s.seat.late.Reset(g.patience)
	defer s.seat.late.Stop()
	select {
	case t := <-s.seat.turn:
		return t, nil
	case <-s.seat.late.C:
		if g.withdraw(s) {
			return turnApart, nil
		}
		return <-s.seat.turn, nil // it was taken meanwhile: until its round trip ends, its arguments are in use
	case <-ctx.Done():
		if !g.withdraw(s) && <-s.seat.turn == turnLead {
			g.leave()
		}
		return turnDone, ctx.Err()
	}
}

// begins begins a round trip. If as many are under way as may be, it queues the request and returns false.
func (g *group) begins(s *grouped) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.underWay < g.most {
		g.underWay++
		return true
	}
	g.queue = append(g.queue, s)
	return false
}

// withdraw returns false if the request is not in the queue any more.
func (g *group) withdraw(s *grouped) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, s)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	return i >= 0
}

// take returns the statements of a round trip: that of the request that sends it, and the oldest of the queue.
func (g *group) take(first *grouped) []*grouped {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), groupSize-1)
	members := append(append(make([]*grouped, 0, n+1), first), g.queue[:n]...)
	g.queue = slices.Delete(g.queue, 0, n)
	return members
}

// leave ends a round trip. The oldest request of the queue sends the next one.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.underWay--
		return
	}
	next := g.queue[0]
	g.queue = slices.Delete(g.queue, 0, 1)
	next.seat.turn <- turnLead
}

// send runs the statements as one transaction, and again without the first one that fails: requests that are refused cost the others
// little. Only if it was committed do they have another error than errApart.
func (g *group) send(ctx context.Context, members []*grouped) {
	refused, err := g.sendBatch(ctx, members)
	if refused != nil && len(members) > 2 {
		members = slices.DeleteFunc(slices.Clone(members), func(m *grouped) bool { return m == refused })
		_, err = g.sendBatch(ctx, members)
	}
	if err != nil {
		return
	}
	for _, m := range members {
		m.err = m.scanned
	}
}

// sendBatch sends a batch with the context of the request that leads it, but not beyond the deadline of any other. If a statement failed, and
// not its connection, it is returned with the error.
func (g *group) sendBatch(ctx context.Context, members []*grouped) (refused *grouped, err error) {
	if until := earliest(members); until.Before(members[0].until) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	conn, err := g.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	r := roomOf(conn.Conn())
	r.restore(conn.Conn())
	defer r.restore(conn.Conn())
	b := pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(members))}
	for _, m := range members {
		m.queue(&b)
	}
	results := conn.SendBatch(ctx, &b)
	for _, m := range members {
		if m.scanned = m.receive(results); m.scanned != nil && !errors.Is(m.scanned, pgx.ErrNoRows) { // no row concerns no other
			_ = results.Close()
			if !conn.Conn().IsClosed() {
				refused = m
			}
			return refused, m.scanned
		}
	}
	return nil, results.Close()
}

// earliest returns the earliest deadline.
func earliest(members []*grouped) time.Time {
	return slices.MinFunc(members, func(a, b *grouped) int { return a.until.Compare(b.until) }).until
}
