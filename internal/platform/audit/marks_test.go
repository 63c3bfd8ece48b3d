package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An environment that is always busy has few marks, and what they say is little older than asked for.
func TestMarksAreFewAndFollowTheLog(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var marks []mark
	for second := int64(1); second < 3*3600; second++ {
		now := start.Add(time.Duration(second) * time.Second)
		marks, _ = add(marks, mark{now, second})
		require.LessOrEqual(t, len(marks), 20)
		for _, age := range []time.Duration{openFor, lateFor} {
			wanted := second - int64(age/time.Second)
			got := below(marks, now.Add(-age))
			require.LessOrEqual(t, got, max(wanted, 0))
			require.Greater(t, got, wanted-int64(age/time.Second)/2-60)
		}
	}
	last := marks[len(marks)-1].At
	marks, _ = add(marks, mark{start.Add(time.Hour), 20_000})
	require.True(t, marks[len(marks)-1].At.Before(last), "the clock was set back")
	marks, added := add(marks, marks[len(marks)-1])
	require.False(t, added)
	require.NotEmpty(t, marks)
}
