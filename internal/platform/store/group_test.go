package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// batches counts the batches that a store sends, and has the statements that it sends by themselves.
type batches struct {
	sent  atomic.Int64
	mu    sync.Mutex
	alone []string
}

// TraceQueryStart implements pgx.QueryTracer.
func (b *batches) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alone = append(b.alone, d.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (b *batches) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (b *batches) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	b.sent.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (b *batches) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (b *batches) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// held is a store whose only round trip waits for a lock, so that statements queue until it is released.
type held struct {
	st      *store.Store
	sent    batches
	release func()
	callers sync.WaitGroup
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{}
	var err error
	h.st, err = store.Open(t.Context(), testenv.Database(t), store.Options{Tracer: &h.sent})
	require.NoError(t, err)
	t.Cleanup(h.st.Close)
	store.LimitGroup(h.st, 1, time.Hour)
	conn, err := h.st.Pool().Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "select pg_advisory_lock(1)")
	require.NoError(t, err)
	h.release = sync.OnceFunc(func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_advisory_unlock(1)")
		require.NoError(t, err)
		conn.Release()
		h.callers.Wait()
	})
	t.Cleanup(h.release)
	h.callers.Go(func() { _, _ = store.RunGrouped(t.Context(), h.st, "select 1 from pg_advisory_xact_lock_shared(1)") })
	h.waits(t, 0, 1)
	return h
}

// waits until so many statements are queued and so many round trips are under way.
func (h *held) waits(t *testing.T, queued, underWay int) {
	t.Helper()
	require.Eventually(t, func() bool {
		q, u := store.Grouped(h.st)
		return q == queued && u == underWay
	}, 10*time.Second, time.Millisecond)
}

// queue runs statements, which queue, in their order.
func (h *held) queue(t *testing.T, statements ...string) (found []int, errs []error) {
	t.Helper()
	found, errs = make([]int, len(statements)), make([]error, len(statements))
	for i, s := range statements {
		before, _ := store.Grouped(h.st)
		h.callers.Go(func() { found[i], errs[i] = store.RunGrouped(t.Context(), h.st, s) })
		h.waits(t, before+1, 1)
	}
	return found, errs
}

func TestStatementsThatQueueAreSentTogether(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	found, errs := h.queue(t, "select 1", "select 2", "select 3", "select 4", "select 5", "select 6", "select 7")
	h.release()
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, found)
	require.Equal(t, make([]error, 7), errs)
	require.EqualValues(t, 1, h.sent.sent.Load(), "batches")
	h.waits(t, 0, 0)
}

// A statement that fails, or finds nothing, changes nothing for the others of its transaction.
func TestGroupedStatementsFailAlone(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	_, err := h.st.Pool().Exec(t.Context(), "create table numbers (n int primary key)")
	require.NoError(t, err)
	insert := func(n int) string { return fmt.Sprintf("insert into numbers values (%d) returning n", n) }
	found, errs := h.queue(t, insert(1), insert(2), insert(1), "select 1 / 0", "select 1 where false", insert(3), "select n from numbers where n = 9")
	h.release()
	require.True(t, (errs[0] == nil) != (errs[2] == nil), "the same key twice: %v and %v", errs[0], errs[2])
	require.ErrorContains(t, errs[3], "division by zero")
	require.ErrorIs(t, errs[4], sql.ErrNoRows)
	require.ErrorIs(t, errs[6], sql.ErrNoRows)
	require.NoError(t, errs[1])
	require.NoError(t, errs[5])
	require.Equal(t, [2]int{2, 3}, [2]int{found[1], found[5]})
	var stored int
	require.NoError(t, h.st.Pool().QueryRow(t.Context(), "select count(*) from numbers").Scan(&stored))
	require.Equal(t, 3, stored)
	h.waits(t, 0, 0)
}

// A request that Postgres refuses runs by itself, the others together once more.
func TestRefusedStatementsLeaveTheirGroup(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	found, errs := h.queue(t, "select 1", "select 2", "select 1 / 0", "select 4", "select 5")
	h.release()
	require.ErrorContains(t, errs[2], "division by zero")
	require.Equal(t, []int{1, 2, 0, 4, 5}, found)
	require.EqualValues(t, 2, h.sent.sent.Load(), "batches")
	require.Contains(t, h.sent.alone, "select 1 / 0")
	require.NotContains(t, h.sent.alone, "select 4")
}

// What is sent behind a statement is received by its own request, also if the statement finds no row.
func TestStatementsBehindOthersAreReceivedInOrder(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	first := []string{"select 1", "select 2 where false", "select 3 / 0", "select 4"}
	found, errs := make([][]int, len(first)), make([]error, len(first))
	for i, s := range first {
		h.callers.Go(func() {
			found[i], errs[i] = store.RunGroupedWith(t.Context(), h.st, s, fmt.Sprintf("select generate_series(10, 10 + %d)", i))
		})
		h.waits(t, i+1, 1)
	}
	h.release()
	require.ErrorIs(t, errs[1], sql.ErrNoRows)
	require.ErrorContains(t, errs[2], "division by zero")
	require.NoError(t, errs[0])
	require.NoError(t, errs[3])
	require.Equal(t, []int{1, 10}, found[0])
	require.Equal(t, []int{4, 10, 11, 12, 13}, found[3])
	require.EqualValues(t, 3, h.sent.sent.Load(), "batches: all, without the one that was refused, and that one apart")
}

// A request that ends while it is queued leaves the queue, and its statement is not sent.
func TestQueuedStatementsEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := store.RunGrouped(ctx, h.st, "select 1")
		gone <- err
	}()
	h.waits(t, 1, 1)
	found, errs := h.queue(t, "select 2")
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	h.waits(t, 1, 1)
	h.release()
	require.Equal(t, []int{2}, found)
	require.Equal(t, []error{nil}, errs)
	h.waits(t, 0, 0)
}

// A round trip that hangs does not stop the statements that queue behind it.
func TestQueuedStatementsDoNotWaitForOneThatHangs(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	store.LimitGroup(h.st, 1, time.Millisecond)
	n, err := store.RunGrouped(t.Context(), h.st, "select 7")
	require.NoError(t, err)
	require.Equal(t, 7, n)
	h.waits(t, 0, 1)
}

// Every caller receives the result of its own statement, whichever fail and whichever requests end meanwhile.
func TestGroupsServeManyAtOnce(t *testing.T) {
	t.Parallel()
	st := testenv.Store(t)
	var callers sync.WaitGroup
	for c := range 24 {
		random := rand.New(rand.NewPCG(1, uint64(c))) // #nosec G404 -- a test
		callers.Go(func() {
			for i := range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				want := 1000*c + i
				switch random.IntN(12) {
				case 0:
					_, err := store.RunGrouped(ctx, st, "select $1 / 0", want)
					if err == nil || ctx.Err() != nil {
						t.Errorf("%d: no error of the division", want)
					}
				case 1:
					cancel()
					if n, err := store.RunGrouped(ctx, st, "select $1::int", want); err == nil && n != want {
						t.Errorf("%d of a request that ended is %d", want, n)
					}
				default:
					if n, err := store.RunGrouped(ctx, st, "select $1::int", want); err != nil || n != want {
						t.Errorf("%d is %d: %v", want, n, err)
					}
				}
				cancel()
			}
		})
	}
	callers.Wait()
	queued, underWay := store.Grouped(st)
	require.Zero(t, queued+underWay)
}

// A subject that is locked delays the decision about it and no other.
func TestALockedSubjectDelaysItsOwnDecisionsOnly(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	p := newDecider(t, st.Pool().Config().ConnString())
	_, err := st.Pool().Exec(t.Context(), `insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		select 'sub_2', tenant_id, environment_id, 'user-2', status, enrollment, created_at, updated_at from subjects where uid = 'sub_1'`)
	require.NoError(t, err)
	tx, err := st.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "select 1 from subjects where uid = 'sub_2' for update")
	require.NoError(t, err)

	now := time.Now()
	blocked := decision(now, 1, 0)
	blocked.Authorization.SubjectUID, blocked.Proof.SubjectUID = "sub_2", "sub_2"
	written := make(chan error, 1)
	go func() { written <- p.write(t.Context(), blocked) }()
	var others sync.WaitGroup
	for n := range 40 {
		others.Go(func() {
			if err := p.write(t.Context(), decision(now, 2, n)); err != nil {
				t.Error(err)
			}
		})
	}
	others.Wait()
	select {
	case err := <-written:
		t.Fatalf("the decision about the locked subject ended: %v", err)
	default:
	}
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-written)
}
