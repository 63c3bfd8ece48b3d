package siem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/siem"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	_ "github.com/countersign-dev/countersign/internal/testing/tables" // the rows of all tables are checked
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// log writes n entries and seals them.
func log(t *testing.T, w *fixture.World, n int) {
	t.Helper()
	require.NoError(t, w.Store.Write(t.Context(), func(q *pg.Q) error {
		for range n {
			if err := events.Append(t.Context(), q, events.Entry{Scope: w.Scope, At: noon, Actor: "credential:crd_1", Data: events.AuditExportedData{Entries: 1}}); err != nil {
				return err
			}
		}
		return nil
	}))
	_, err := (&audit.Sealer{Store: w.Store, Clock: clock.NewFake(noon)}).SealAll(t.Context())
	require.NoError(t, err)
}

// numbers returns the number of each exported entry.
func numbers(t *testing.T, out string) (all []int64) {
	t.Helper()
	for line := range strings.Lines(out) {
		var event struct {
			Metadata struct {
				Sequence int64 `json:"sequence"`
			} `json:"metadata"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		all = append(all, event.Metadata.Sequence)
	}
	return all
}

// An export that is killed after any batch goes on from the stored position: it misses nothing, keeps the order, and repeats one batch at most.
func TestExportGoesOnFromTheStoredPosition(t *testing.T) {
	t.Parallel()
	w := fixture.New(t, testenv.Store(t), noon)
	log(t, w, 1200)
	killed := errors.New("killed before the position was stored")
	var out bytes.Buffer
	var position, kills int64
	x := siem.Export{Source: siem.Source{Tenant: w.Scope.Tenant, Environment: w.Scope.Environment}, Store: w.Store, Format: siem.FormatOCSF, Out: &out}
	for {
		x.After = position
		stored := 0
		x.Written = func(number int64) error {
			if stored++; stored == 2 && kills < 2 {
				kills++
				return killed
			}
			position = number
			return nil
		}
		if _, err := x.Run(t.Context()); !errors.Is(err, killed) {
			require.NoError(t, err)
			break
		}
	}
	var total int64
	require.NoError(t, w.Store.QueryRow(t.Context(), "select count(*) from audit_chain where environment_id = $1", w.Scope.Environment).Scan(&total))
	require.Positive(t, kills)
	seen := map[int64]int{}
	for _, n := range numbers(t, out.String()) {
		seen[n]++
		require.True(t, n == 1 || seen[n-1] > 0, "entry %d came before its predecessor", n)
		require.LessOrEqual(t, seen[n], 2)
	}
	require.Len(t, seen, int(total))
	require.Equal(t, total, position)
}

func TestExportFollowsUntilItIsEnded(t *testing.T) {
	t.Parallel()
	w := fixture.New(t, testenv.Store(t), noon)
	log(t, w, 3)
	ctx, end := context.WithCancel(t.Context())
	var out bytes.Buffer
	reached := make(chan int64, 100)
	x := siem.Export{Source: siem.Source{Tenant: w.Scope.Tenant, Environment: w.Scope.Environment}, Store: w.Store, Format: siem.FormatOCSF, Follow: true, Out: &out,
		Written: func(number int64) error { reached <- number; return nil }}
	ended := make(chan error, 1)
	go func() {
		_, err := x.Run(ctx)
		ended <- err
	}()
	before := <-reached
	log(t, w, 2)
	require.Equal(t, before+2, <-reached)
	end()
	require.NoError(t, <-ended)
	require.Len(t, numbers(t, out.String()), int(before+2))
}
