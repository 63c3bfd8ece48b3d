package evaluation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPowerForecastsWhenThereAreEnoughDecisions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	day := func(ago int, n int64) DayCount {
		return DayCount{Day: now.AddDate(0, 0, -ago).Truncate(24 * time.Hour), Count: n}
	}
	in := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	for name, c := range map[string]struct {
		needed          int64
		recent, counted []DayCount
		have            int64
		perDay, margin  float64
		enough          *time.Time
	}{
		"no decisions":               {50, nil, nil, 0, 0, 1, nil},
		"decisions before its start": {50, []DayCount{day(3, 70), day(2, 70)}, nil, 0, 10, 1, in(5 * 24 * time.Hour)},
		"some":                       {200, []DayCount{day(2, 70), day(1, 70)}, []DayCount{day(2, 30), day(1, 70)}, 100, 10, 0.098, in(10 * 24 * time.Hour)},
		"enough":                     {50, []DayCount{day(1, 140)}, []DayCount{day(1, 140)}, 140, 10, 0.083, nil},
		"too slow":                   {1_000_000, []DayCount{day(1, 1)}, []DayCount{day(1, 1)}, 1, 1.0 / 14, 0.98, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := powerOf(c.needed, c.recent, c.counted, now)
			require.Equal(t, c.have, p.Have)
			require.InDelta(t, c.perDay, p.PerDay, 1e-9)
			require.InDelta(t, c.margin, p.Margin, 0.001)
			if c.enough == nil {
				require.Nil(t, p.Enough)
				return
			}
			require.WithinDuration(t, *c.enough, *p.Enough, time.Second)
		})
	}
	p := powerOf(50, nil, []DayCount{day(2, 3), day(1, 4)}, now)
	require.EqualValues(t, 7, p.Days[1].Count, "days are counted up")
}
