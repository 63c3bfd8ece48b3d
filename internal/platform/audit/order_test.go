package audit_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// order returns the subjects of the sealed entries, in the order of the log.
func (b *bundle) order() (subjects []string) {
	b.t.Helper()
	rows, err := audit.EntriesAfter(b.t.Context(), b.st.Q, map[string]int64{b.scope.Environment: 0}, 1000)
	require.NoError(b.t, err)
	for _, r := range rows {
		subjects = append(subjects, *r.Event.Subject)
	}
	return subjects
}

func (b *bundle) append(q *pg.Q, i int) {
	b.t.Helper()
	require.NoError(b.t, events.Append(b.t.Context(), q, b.entry(i)))
}

// open holds a transaction open that has written entry i, while f runs.
func (b *bundle) open(i int, f func()) {
	b.t.Helper()
	require.NoError(b.t, b.st.Write(b.t.Context(), func(q *pg.Q) error {
		b.append(q, i)
		f()
		return nil
	}))
}

func TestALateCommitIsSealedLate(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(b *bundle){
		"within seconds":            func(*bundle) {},
		"after half a minute":       func(b *bundle) { b.pass(30 * time.Second) },
		"after five minutes":        func(b *bundle) { b.pass(5 * time.Minute) },
		"after hours without entry": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.log(1)
			want := []string{"user-0", "user-2", "user-1", "user-3"}
			b.open(1, func() {
				if meanwhile == nil { // the number of the open entry is the highest
					b.pass(3 * time.Hour)
					want = []string{"user-0", "user-1", "user-3"}
					return
				}
				b.append(b.st.Q, 2)
				b.seal()
				meanwhile(b)
				require.True(t, b.verify(nil).Intact())
			})
			_, err := b.sealer.SealLate(t.Context())
			require.NoError(t, err)
			b.append(b.st.Q, 3)
			b.seal()
			require.Equal(t, want, b.order())
			r := b.verify(nil)
			require.True(t, r.Intact(), "%v", r.Findings)
			require.Zero(t, r.Waiting)
		})
	}
}

// What is behind every open transaction is not read again, within seconds; what is not behind all of them is.
func TestOnlyTheEndOfTheLogIsReadAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	// follow lets a second pass and writes an entry, sealed with late ones every ten seconds.
	follow := func() audit.HeadRow {
		b.age(time.Second)
		b.append(b.st.Q, n)
		seal := b.sealer.SealAll
		if n++; n%10 == 0 {
			seal = b.sealer.SealLate
		}
		_, err := seal(t.Context())
		require.NoError(t, err)
		h, err := audit.HeadOf(t.Context(), b.st.Q, b.scope)
		require.NoError(t, err)
		return h
	}
	b.log(1)
	// Transactions of other tests on the same server count, too.
	require.Eventually(t, func() bool { h := follow(); return h.Settled >= h.Top-3 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { h := follow(); return h.Late >= h.Top-20 && h.Late > 0 }, time.Minute, time.Millisecond)
	b.open(n, func() {
		n++
		var own int64
		require.NoError(t, b.st.Pool().QueryRow(t.Context(), "select max(seq) from events").Scan(&own)) // the open one has the next
		for range 5 {
			h := follow()
			require.LessOrEqual(t, h.Settled, own)
			require.LessOrEqual(t, h.Late, own)
		}
	})
	follow()
	require.Len(t, b.order(), n+1)
	require.True(t, b.verify(nil).Intact())
}

// What a transaction wrote that began after another had ended is behind what that wrote, whenever the two are sealed.
func TestAConsequenceIsSealedBehindItsCause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.open(0, func() {
		b.append(b.st.Q, 1)
		b.seal()
	})
	b.append(b.st.Q, 2)
	b.seal()
	require.Equal(t, []string{"user-1", "user-0", "user-2"}, b.order())
}

// Transactions of up to half a minute, some of which end while sealers read different parts of the log at once.
func TestEventsAreSealedOnceHoweverFarIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.log(1)
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- a test
	type transaction struct {
		end  chan struct{}
		last int // the step that it ends in
	}
	var open []transaction
	var writers sync.WaitGroup
	const steps, every = 60, 3 * time.Second
	for step := 1; step <= steps; step++ {
		written, x := make(chan struct{}), transaction{make(chan struct{}), step + random.IntN(int(30*time.Second/every))}
		writers.Go(func() {
			b.open(step, func() { close(written); <-x.end })
		})
		<-written
		open = append(open, x)
		var sealers errgroup.Group
		for _, seal := range []func(context.Context) (int, error){b.sealer.SealAll, b.sealer.SealAll, b.sealer.SealLate}[:1+step%3] {
			sealers.Go(func() error {
				_, err := seal(t.Context())
				return err
			})
		}
		open = slices.DeleteFunc(open, func(x transaction) bool {
			if over := x.last <= step || step == steps; over {
				close(x.end)
				return true
			}
			return false
		})
		require.NoError(t, sealers.Wait())
		b.age(every)
	}
	writers.Wait()
	_, err := b.sealer.SealLate(t.Context())
	require.NoError(t, err)
	require.Len(t, b.order(), steps+1)
	r := b.verify(nil)
	require.True(t, r.Intact(), "%v", r.Findings)
	require.Zero(t, r.Waiting)
}

// An event that was written longer ago than any transaction lasts was not written by the service.
func TestAnEventOfAVeryLongTransactionIsReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.open(0, func() {
		b.append(b.st.Q, 1)
		b.seal()
		b.pass(time.Hour)
	})
	_, err := b.sealer.SealLate(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"user-1"}, b.order())
	r := b.verify(nil)
	require.Len(t, r.Findings, 1)
	require.Equal(t, audit.Inserted, r.Findings[0].Kind)
}

func TestABacklogIsSealedInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	require.NoError(t, b.st.Write(t.Context(), func(q *pg.Q) error {
		for i := range 4500 { // more than two batches
			b.append(q, i)
			want = append(want, b.entry(i).Subject)
		}
		return nil
	}))
	last, err := b.sealer.SealNow(t.Context(), b.scope.Environment)
	require.NoError(t, err)
	require.EqualValues(t, len(want), last)
	var got []string
	for at := int64(0); ; {
		rows, err := audit.EntriesAfter(t.Context(), b.st.Q, map[string]int64{b.scope.Environment: at}, 1000)
		require.NoError(t, err)
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			got, at = append(got, *r.Event.Subject), r.Position
		}
	}
	require.Equal(t, want, got)
	require.True(t, b.verify(nil).Intact())
}
