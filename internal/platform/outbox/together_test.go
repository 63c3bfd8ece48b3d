package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// batches are the rows that a lane handled together and alone, by ref.
type batches struct {
	mu       sync.Mutex
	together [][]string
	alone    []string
	fail     error // of a batch with the row "bad", and of that row
	limits   map[time.Time]bool
}

// limited remembers the time limit of a handler.
func (h *batches) limited(ctx context.Context) {
	limit, _ := ctx.Deadline()
	h.limits[limit] = true
}

func (h *batches) one(ctx context.Context, row models.Outbox) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limited(ctx)
	h.alone = append(h.alone, row.Ref)
	if row.Ref == "bad" {
		return h.fail
	}
	return nil
}

func (h *batches) several(ctx context.Context, rows []models.Outbox) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limited(ctx)
	var refs []string
	for _, r := range rows {
		if refs = append(refs, r.Ref); r.Ref == "bad" {
			err = h.fail
		}
	}
	h.together = append(h.together, refs)
	return err
}

func setupTogether(t *testing.T, fail error) (*bundle, *batches) {
	t.Helper()
	h := &batches{fail: fail, limits: map[time.Time]bool{}}
	b := setup(t, h.one)
	b.relay.Lanes[0].Together, b.relay.Lanes[0].Workers = h.several, 1
	return b, h
}

func TestRelayHandlesRowsTogether(t *testing.T) {
	t.Parallel()
	b, h := setupTogether(t, nil)
	const rows = 150
	for i := range rows {
		b.add(t, fmt.Sprintf("%03d", i), now.Add(time.Duration(i)*time.Microsecond))
	}
	b.clock.Advance(time.Second)
	b.run(t)
	for range rows {
		require.NoError(t, b.next(t))
	}
	b.stop()
	require.Zero(t, b.left(t))
	require.Empty(t, h.alone)
	require.Equal(t, []int{64, 64, 22}, []int{len(h.together[0]), len(h.together[1]), len(h.together[2])})
}

// A row whose work cannot be done delays no other, whether it fails or takes too long.
func TestRelayHandlesRowsOfAFailedBatchAlone(t *testing.T) {
	t.Parallel()
	b, h := setupTogether(t, errors.New("a row that cannot be handled"))
	for _, ref := range []string{"a", "bad", "c"} {
		b.add(t, ref, now)
	}
	b.run(t)
	require.Equal(t, 1, countErrors(b.next(t), b.next(t), b.next(t)))
	b.stop()
	require.Equal(t, 1, b.left(t))
	require.ElementsMatch(t, []string{"a", "bad", "c"}, h.alone)
	require.Len(t, h.limits, 1, "the reservations of all end together")
}

func TestRelayDelaysABatchThatTookTooLong(t *testing.T) {
	t.Parallel()
	b, h := setupTogether(t, fmt.Errorf("statement: %w", context.DeadlineExceeded))
	b.add(t, "a", now)
	b.add(t, "bad", now)
	b.run(t)
	require.Equal(t, 2, countErrors(b.next(t), b.next(t)))
	b.stop()
	require.Equal(t, 2, b.left(t))
	require.Empty(t, h.alone, "one after the other they would take as long as a handler may, each")
}
