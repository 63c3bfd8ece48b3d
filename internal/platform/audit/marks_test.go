package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// An environment that is always busy has few marks, and what they say is little older than asked for.
func TestMarksAreFewAndFollowTheLog(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var marks []mark
	for second := int64(1); second < 3*3600; second++ {
		now := start.Add(time.Duration(second) * time.Second)
		marks, _ = add(marks, mark{At: now, Top: second, Links: second - 1})
		require.LessOrEqual(t, len(marks), 20)
		for _, age := range []time.Duration{openFor, lateFor} {
			wanted := second - int64(age/time.Second)
			got := below(marks, now.Add(-age))
			require.LessOrEqual(t, got, max(wanted, 0))
			require.Greater(t, got, wanted-int64(age/time.Second)/2-60)
			require.Equal(t, max(got-1, 0), sealedUpTo(marks, got))
		}
	}
	last := marks[len(marks)-1].At
	marks, _ = add(marks, mark{At: start.Add(time.Hour), Top: 20_000})
	require.True(t, marks[len(marks)-1].At.Before(last), "the clock was set back")
	marks, added := add(marks, marks[len(marks)-1])
	require.False(t, added)
	require.NotEmpty(t, marks)
}

// Marks of an earlier version do not count links.
func TestLinksAreKnownOfNewMarks(t *testing.T) {
	t.Parallel()
	marks, err := marksOf(store.AuditHead{Marks: models.JSON(`[{"at": "2026-03-01T12:00:00Z", "top": 5}, {"at": "2026-03-01T12:00:05Z", "top": 9, "links": 7}]`)})
	require.NoError(t, err)
	for number, links := range map[int64]int64{4: 0, 5: 0, 8: 0, 9: 7, 100: 7} {
		require.Equal(t, links, sealedUpTo(marks, number))
	}
}
