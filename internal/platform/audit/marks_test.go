package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		require.LessOrEqual(t, len(marks), 30)
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

// A number is closed by the transaction id of a mark that was made later, and not by that of its own, nor while one is open that had an id.
func TestNumbersAreClosedByALaterMark(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration, top, next int64) mark { return mark{At: now.Add(-d), Top: top, Next: next} }
	marks := []mark{ago(time.Minute, 10, 110), ago(13*time.Second, 20, 120), ago(2*time.Second, 30, 130), ago(time.Second, 40, 140), ago(0, 50, 150)}
	for name, c := range map[string]struct {
		oldest int64
		after  time.Duration
		want   int64
	}{
		"nothing is known":                   {0, markEvery, 0},
		"one is open since before the marks": {119, markEvery, 0},
		"since the second":                   {120, markEvery, 10},
		"since the third":                    {139, markEvery, 20},
		"since the fourth":                   {140, markEvery, 30},
		"none is open":                       {150, markEvery, 30},
		"none, and much later":               {150, openFor, 20},
		"one, and much later":                {129, openFor, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, closed(marks, HeadRow{Now: now, Oldest: c.oldest}, c.after))
		})
	}
}

// The links of the newest mark up to a number are known to seal no event above it.
func TestLinksAreKnownOfMarks(t *testing.T) {
	t.Parallel()
	marks, err := marksOf(HeadRow{Marks: models.JSON(`[{"at": "2026-03-01T12:00:00Z", "top": 5, "links": 3}, {"at": "2026-03-01T12:00:05Z", "top": 9, "links": 7}]`)})
	require.NoError(t, err)
	for number, links := range map[int64]int64{4: 0, 5: 3, 8: 3, 9: 7, 100: 7} {
		require.Equal(t, links, sealedUpTo(marks, number))
	}
}
