package localtime_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
)

// changeDays has, for each zone, dates near which its clocks change: at midnight, by half an hour, by a whole day, twice a year, into the
// day before, and never.
var changeDays = map[string][]string{
	"Europe/Berlin":       {"2026-03-29", "2026-10-25"},
	"America/New_York":    {"2026-03-08", "2026-11-01"},
	"America/Santiago":    {"2026-04-05", "2026-09-06"},
	"America/St_Johns":    {"2011-03-13", "2011-11-06", "2026-03-08", "2026-11-01"},
	"America/Havana":      {"2026-03-08", "2026-11-01"},
	"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
	"Pacific/Apia":        {"2011-09-24", "2011-12-30"},
	"Asia/Tehran":         {"2022-03-22", "2022-09-22"},
	"Africa/Cairo":        {"2026-04-24", "2026-10-30"},
	"Asia/Beirut":         {"2026-03-29", "2026-10-25"},
	"America/Asuncion":    {"2024-03-24", "2024-10-06"},
	"Atlantic/Azores":     {"2026-03-29", "2026-10-25"},
	"Africa/Casablanca":   {"2026-02-15", "2026-03-22"},
	"Asia/Kathmandu":      {"2026-06-01"},
}

// eachChange runs a test for a day before and two days after each change, minute by minute.
func eachChange(t *testing.T, run func(t *testing.T, zone *time.Location, minutes []time.Time)) {
	t.Helper()
	for name, days := range changeDays {
		for _, text := range days {
			t.Run(name+" "+text, func(t *testing.T) {
				t.Parallel()
				zone, err := localtime.Zone(name)
				require.NoError(t, err)
				on, err := time.Parse(time.DateOnly, text)
				require.NoError(t, err)
				var minutes []time.Time
				for at := on.Add(-36 * time.Hour); at.Before(on.Add(60 * time.Hour)); at = at.Add(time.Minute) {
					minutes = append(minutes, at.In(zone))
				}
				run(t, zone, minutes)
			})
		}
	}
}

// shown is the time of day that clocks show, in minutes.
func shown(at time.Time) localtime.Clock { return localtime.Clock(at.Hour()*60 + at.Minute()) }

func clock(t *testing.T, text string) localtime.Clock {
	t.Helper()
	c, err := localtime.ParseClock(text)
	require.NoError(t, err)
	require.Equal(t, text, c.String())
	return c
}

// A part of the day ends in the first minute whose reading is not in it, whatever the clocks did in between.
func TestPartOfTheDayFollowsTheClockOnNightsOfAChange(t *testing.T) {
	t.Parallel()
	eachChange(t, func(t *testing.T, zone *time.Location, minutes []time.Time) {
		for _, hours := range [][2]string{
			{"22:00", "00:00"}, {"22:00", "07:00"}, {"23:30", "02:30"}, {"00:00", "00:30"}, {"02:15", "02:45"}, {"23:00", "23:59"}, {"01:30", "03:00"}, {"12:00", "11:59"},
		} {
			s := localtime.Span{From: clock(t, hours[0]), Until: clock(t, hours[1])}
			free := time.Time{} // the next minute outside the part
			for i := len(minutes) - 1; i >= 0; i-- {
				at := minutes[i]
				inside := (shown(at)-s.From+localtime.EndOfDay)%localtime.EndOfDay < (s.Until-s.From+localtime.EndOfDay)%localtime.EndOfDay
				require.Equal(t, inside, s.Contains(at, zone), "%v %v", hours, at)
				if !inside {
					free = at
				}
				if !free.IsZero() {
					require.True(t, free.Equal(s.End(at, zone)), "%v: %v ends at %v, not at %v", hours, at, free, s.End(at, zone))
				}
			}
		}
	})
}

// A time of day begins in the first minute that shows it, or a later one of its date.
func TestTimeOfDayBeginsOnNightsOfAChange(t *testing.T) {
	t.Parallel()
	eachChange(t, func(t *testing.T, zone *time.Location, minutes []time.Time) {
		first, last := localtime.DateOf(minutes[0], zone), localtime.DateOf(minutes[len(minutes)-1], zone)
		for date := first.AddDays(1); date != last; date = date.AddDays(1) {
			for _, c := range []localtime.Clock{0, 1, 30, 150, 23*60 + 30, localtime.EndOfDay - 1} {
				for _, at := range minutes {
					if d := localtime.DateOf(at, zone); d.String() > date.String() || (d == date && shown(at) >= c) {
						require.True(t, at.Equal(localtime.Begin(date, c, zone)), "%v %v: %v", date, c, localtime.Begin(date, c, zone))
						break
					}
				}
			}
		}
	})
}

// Working time is counted as it passes: a repeated hour twice, a skipped one not at all.
func TestWorkingTimeOnNightsOfAChange(t *testing.T) {
	t.Parallel()
	eachChange(t, func(t *testing.T, zone *time.Location, minutes []time.Time) {
		night := []localtime.Span{{From: 0, Until: 150}, {From: 165, Until: 400}, {From: 22 * 60, Until: localtime.EndOfDay}}
		calendar := localtime.Calendar{Zone: zone, Week: [7][]localtime.Span{night, night, nil, night, night, night, {{From: 1380, Until: localtime.EndOfDay}}}}
		calendar.Holidays = map[localtime.Date]bool{localtime.DateOf(minutes[len(minutes)-1500], zone): true}
		require.True(t, calendar.Check())
		worked := make([]time.Duration, len(minutes)+1) // before each minute
		for i, at := range minutes {
			works := false
			for _, s := range calendar.Week[at.Weekday()] {
				works = works || (shown(at) >= s.From && shown(at) < s.Until && !calendar.Holidays[localtime.DateOf(at, zone)])
			}
			require.Equal(t, works, calendar.Works(at), "%v", at)
			worked[i+1] = worked[i]
			if works {
				worked[i+1] += time.Minute
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 500 {
			i, j := random.IntN(len(minutes)), random.IntN(len(minutes))
			require.Equal(t, max(worked[j]-worked[i], 0), calendar.Between(minutes[i], minutes[j]), "%v to %v", minutes[i], minutes[j])
			if j <= i || worked[j] == worked[i] {
				continue
			}
			end, ok := calendar.Add(minutes[i], worked[j]-worked[i])
			require.True(t, ok)
			for k := i + 1; k <= j; k++ { // the first minute at which as much has passed
				if worked[k] == worked[j] {
					require.True(t, minutes[k].Equal(end), "%v + %v is %v, not %v", minutes[i], worked[j]-worked[i], minutes[k], end)
					break
				}
			}
			next, ok := calendar.Next(minutes[i])
			require.True(t, ok)
			for k := i; k <= j; k++ {
				if worked[k+1] > worked[k] {
					require.True(t, minutes[k].Equal(next), "after %v comes %v, not %v", minutes[i], minutes[k], next)
					break
				}
			}
		}
	})
}

// Deadlines count on over the end of a year, over seconds, and end with the last piece of working time.
func TestWorkingTimeOverTheEndOfAYear(t *testing.T) {
	t.Parallel()
	kolkata, err := localtime.Zone("Asia/Kolkata")
	require.NoError(t, err)
	office := []localtime.Span{{From: 9 * 60, Until: 12 * 60}, {From: 13 * 60, Until: 18 * 60}}
	calendar := localtime.Calendar{Zone: kolkata, Week: [7][]localtime.Span{1: office, 2: office, 3: office, 4: office, 5: office}}
	newYear, err := localtime.ParseDate("2027-01-01")
	require.NoError(t, err)
	calendar.Holidays = map[localtime.Date]bool{newYear: true}
	thursday := time.Date(2026, 12, 31, 17, 59, 30, 0, kolkata)
	for working, want := range map[time.Duration]time.Time{
		30 * time.Second: time.Date(2026, 12, 31, 18, 0, 0, 0, kolkata),
		31 * time.Second: time.Date(2027, 1, 4, 9, 0, 1, 0, kolkata),
		9 * time.Hour:    time.Date(2027, 1, 5, 9, 59, 30, 0, kolkata),
		0:                thursday,
	} {
		end, ok := calendar.Add(thursday, working)
		require.True(t, ok)
		require.True(t, want.Equal(end), "%v: %v", working, end)
		require.Equal(t, working, calendar.Between(thursday, end))
	}
	next, ok := calendar.Next(thursday.Add(time.Hour))
	require.True(t, ok)
	require.True(t, time.Date(2027, 1, 4, 9, 0, 0, 0, kolkata).Equal(next))
}

func TestCalendarWithoutWorkingTime(t *testing.T) {
	t.Parallel()
	for name, week := range map[string][7][]localtime.Span{
		"no day":           {},
		"past midnight":    {1: {{From: 1200, Until: 60}}},
		"overlapping":      {1: {{From: 60, Until: 120}, {From: 100, Until: 200}}},
		"longer than days": {1: {{From: 60, Until: 1441}}},
		"empty":            {1: {{From: 60, Until: 60}}},
	} {
		require.False(t, localtime.Calendar{Zone: time.UTC, Week: week}.Check(), name)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	_, ok := localtime.Calendar{Zone: time.UTC}.Next(at)
	require.False(t, ok)
	_, ok = localtime.Calendar{Zone: time.UTC}.Add(at, time.Second)
	require.False(t, ok)
}

func TestClocksAndDatesAreRead(t *testing.T) {
	t.Parallel()
	early, err := localtime.ParseClock("7:05")
	require.NoError(t, err)
	require.Equal(t, "07:05", early.String())
	require.Equal(t, "24:00", localtime.EndOfDay.String())
	for _, text := range []string{"", "24:00", "12:60", "12", "12:5", "-1:00", "12:00:00", "12:00 "} {
		_, err := localtime.ParseClock(text)
		require.Error(t, err, text)
	}
	leap, err := localtime.ParseDate("2028-02-29")
	require.NoError(t, err)
	require.Equal(t, "2028-03-01", leap.AddDays(1).String())
	for _, text := range []string{"2027-02-29", "2026-2-1", "1", "2026-12-24T00:00:00Z"} {
		_, err := localtime.ParseDate(text)
		require.Error(t, err, text)
	}
}

func TestWholeDayHasNoEnd(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []localtime.Span{{}, {From: 0, Until: localtime.EndOfDay}, {From: 600, Until: 600}} {
		require.True(t, s.Contains(at, time.UTC))
		require.True(t, s.End(at, time.UTC).IsZero())
	}
}
