package recovery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/models"
)

// order ranks the statuses of a recovery.
var order = map[models.RecoveryStatus]int{
	models.RecoveryPending: 0, models.RecoveryCoolingDown: 1, models.RecoveryReady: 2, models.RecoveryExpired: 3, models.RecoveryCompleted: 3,
}

// Whatever the times of the steps, a recovery only moves forward, one status at a time, never early, and ends.
func TestTransitionsAreOrderedAndNeverEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begun := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		r := models.Recovery{
			Status: models.RecoveryPending, CreatedAt: begun,
			ReadyAt:   begun.Add(time.Duration(rapid.Int64Range(1, 1000).Draw(t, "cool-down"))),
			ExpiresAt: begun.Add(time.Duration(rapid.Int64Range(1001, 2000).Draw(t, "life"))),
		}
		now := begun
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 700).Draw(t, "wait")))
			for to, ok := nextStatus(r, now); ok; to, ok = nextStatus(r, now) {
				require.Equal(t, order[r.Status]+1, order[to])
				require.False(t, to == models.RecoveryReady && now.Before(r.ReadyAt))
				require.False(t, to == models.RecoveryExpired && now.Before(r.ExpiresAt))
				r.Status = to
			}
			require.Equal(t, Effective(r, now), r.Status, "the effective status is the one that the transitions lead to")
			if !Over(r.Status) {
				require.True(t, nextMoveAt(r).After(now), "there is a time of the next transition")
			}
		}
		_, ok := nextStatus(models.Recovery{Status: models.RecoveryCompleted}, now.Add(time.Hour))
		require.False(t, ok, "a completed recovery never expires")
	})
}

// The effective status before the workflow advances the recovery is the status after it.
func TestEffectiveIsIndependentOfTheTimer(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, stored := range []models.RecoveryStatus{models.RecoveryPending, models.RecoveryCoolingDown} {
		r := models.Recovery{Status: stored, ReadyAt: begun.Add(time.Hour), ExpiresAt: begun.Add(2 * time.Hour)}
		require.Equal(t, stored, Effective(r, begun.Add(time.Hour-1)))
		require.Equal(t, models.RecoveryReady, Effective(r, begun.Add(time.Hour)))
		require.Equal(t, models.RecoveryReady, Effective(r, begun.Add(2*time.Hour-1)))
		require.Equal(t, models.RecoveryExpired, Effective(r, begun.Add(2*time.Hour)))
	}
}
