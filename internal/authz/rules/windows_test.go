package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1m": time.Minute, "15m": 15 * time.Minute, "90m": 90 * time.Minute, "1h": time.Hour, "36h": 36 * time.Hour, "24h": 24 * time.Hour,
		"1d": 24 * time.Hour, "14d": 14 * 24 * time.Hour, "30d": maxWindow, "720h": maxWindow, "43200m": maxWindow,
		"": 0, "0m": 0, "01h": 0, "31d": 0, "721h": 0, "43201m": 0, "1.5h": 0, "-1h": 0, "1h ": 0, "1h30m": 0, "1w": 0, "1s": 0, "h": 0, "99999999999999999999d": 0, "١h": 0,
	} {
		require.Equal(t, want, spanOf(text), "%q", text)
	}
	for text, want := range map[string]bool{
		"1d@Europe/Berlin": true, "29d@Asia/Kolkata": true, "1d@UTC": true, "30d@Europe/Berlin": false, "0d@UTC": false, "1h@UTC": false, "1d@Nowhere": false, "1d@Local": false,
		"1d@": false, "1d @UTC": false,
	} {
		require.Equal(t, want, isWindow(text), "%q", text)
	}
	for text, want := range map[string]string{"1d@Europe/Berlin": "1 calendar day in Europe/Berlin", "7d@UTC": "7 calendar days in UTC", "1h": "1 hour", "24h": "24 hours", "15m": "15 minutes", "1d": "1 day", "30d": "30 days"} {
		require.Equal(t, want, windowWords(text))
	}
}

// Calendar days begin at midnight in their zone, whatever clocks and years do in between.
func TestCalendarDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ window, at, since string }{
		{"1d@Europe/Berlin", "2026-06-10T21:59:00Z", "2026-06-09T22:00:00Z"},
		{"1d@Europe/Berlin", "2026-06-10T22:00:00Z", "2026-06-10T22:00:00Z"},
		{"1d@Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z"}, // clocks skip an hour
		{"2d@Europe/Berlin", "2026-03-30T12:00:00Z", "2026-03-28T23:00:00Z"},
		{"2d@Europe/Berlin", "2026-10-26T12:00:00Z", "2026-10-24T22:00:00Z"}, // clocks repeat an hour
		{"1d@Asia/Kolkata", "2026-06-10T18:29:00Z", "2026-06-09T18:30:00Z"},
		{"7d@Asia/Kolkata", "2027-01-03T12:00:00Z", "2026-12-27T18:30:00Z"},
		{"1d@Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z"}, // clocks skip midnight
		{"36h", "2026-03-30T12:00:00Z", "2026-03-29T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		require.NoError(t, err)
		require.Equal(t, c.since, sinceOf(c.window, at).Format(time.RFC3339), "%s at %s", c.window, c.at)
	}
}

// A window that a rule may have begins before it ends, at most 30 days earlier, and is shown in words.
func FuzzWindow(f *testing.F) {
	for _, seed := range []string{"15m", "30d", "1d@Europe/Berlin", "29d@Pacific/Apia", "1d@America/Havana", "2d@Asia/Beirut", "1d@Etc/GMT+12", "29d@Pacific/Kiritimati", "1d@Local", "1d@../UTC", "0d@UTC"} {
		f.Add(seed, int64(1774735200))
		f.Add(seed, int64(1325246400))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		at := time.Unix(unix%253402300800, 0).UTC()
		if !isWindow(text) {
			return
		}
		since := sinceOf(text, at)
		require.False(t, since.After(at), "%q at %s", text, at)
		require.LessOrEqual(t, at.Sub(since), maxWindow+24*time.Hour, "%q at %s", text, at)
		require.NotEqual(t, text, windowWords(text))
	})
}
