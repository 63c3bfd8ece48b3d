package localtime_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
)

// lines returns the week of lines of working hours.
func lines(t *testing.T, texts ...string) [7][]localtime.Span {
	t.Helper()
	hours := make([]localtime.Hours, len(texts))
	for i, text := range texts {
		var err error
		hours[i], err = localtime.ParseHours(text)
		require.NoError(t, err)
	}
	week, err := localtime.WeekOf(hours)
	require.NoError(t, err)
	return week
}

func date(t *testing.T, text string) localtime.Date {
	t.Helper()
	d, err := localtime.ParseDate(text)
	require.NoError(t, err)
	return d
}

func TestWorkingHoursAreRead(t *testing.T) {
	t.Parallel()
	for given, stored := range map[string]string{
		"mon 09:00-17:00":         "mon 09:00-17:00",
		"  MON-Fri   9:00-17:30 ": "mon-fri 09:00-17:30",
		"sat-sun 00:00-24:00":     "sat-sun 00:00-24:00",
		"wed-wed 08:00-08:01":     "wed 08:00-08:01",
	} {
		h, err := localtime.ParseHours(given)
		require.NoError(t, err, given)
		require.Equal(t, stored, h.String())
		again, err := localtime.ParseHours(stored)
		require.NoError(t, err)
		require.Equal(t, h, again)
	}
	for given, fault := range map[string]string{
		"":                        "is not working hours",
		"mon":                     "is not working hours",
		"mon 09:00 17:00":         "is not working hours",
		"monday 09:00-17:00":      "none of mon",
		"- 09:00-17:00":           "none of mon",
		"mon- 09:00-17:00":        "none of mon",
		"mon-tue-wed 09:00-17:00": "none of mon",
		"fri-mon 09:00-17:00":     "wrong order",
		"mon 09:00-25:00":         "ends at no time",
		"mon 24:00-24:00":         "begins at no time",
		"mon 22:00-06:00":         "past midnight",
		"mon 09:00-09:00":         "ends before it begins",
		"mon 09:00":               "ends at no time",
	} {
		_, err := localtime.ParseHours(given)
		require.ErrorContains(t, err, fault, given)
	}
}

func TestWorkingHoursOfADayDoNotOverlap(t *testing.T) {
	t.Parallel()
	week := lines(t, "mon 14:00-18:00", "mon-fri 09:00-12:00", "sun 10:00-11:00")
	require.Equal(t, []localtime.Span{{From: 540, Until: 720}, {From: 840, Until: 1080}}, week[time.Monday])
	require.Equal(t, []localtime.Span{{From: 600, Until: 660}}, week[time.Sunday])
	require.Empty(t, week[time.Saturday])
	morning, err := localtime.ParseHours("mon-fri 09:00-12:00")
	require.NoError(t, err)
	noon, err := localtime.ParseHours("wed 11:59-13:00")
	require.NoError(t, err)
	_, err = localtime.WeekOf([]localtime.Hours{morning, noon})
	require.ErrorContains(t, err, "the hours of Wednesday overlap")
}

// A calendar whose holidays leave no working time for 366 days is refused, whenever they begin.
func TestCalendarNeedsWorkingTimeInEvery366Days(t *testing.T) {
	t.Parallel()
	mondays := lines(t, "mon 09:00-17:00")
	without := func(from string, days int) localtime.Calendar {
		c := localtime.Calendar{Zone: time.UTC, Week: mondays, Holidays: map[localtime.Date]bool{}}
		for i := range days {
			c.Holidays[date(t, from).AddDays(i)] = true
		}
		return c
	}
	for name, c := range map[string]struct {
		calendar localtime.Calendar
		accepted bool
	}{
		"without holidays":        {without("2026-01-05", 0), true},
		"a year and no more":      {without("2026-01-05", 360), true},
		"more than a year":        {without("2026-01-05", 372), false},
		"a year in a far century": {without("2126-01-07", 372), false},
	} {
		require.Equal(t, c.accepted, c.calendar.Check(), name)
	}
}

// Each minute of a year is asked whether it is working time, and every due time of the calendar is the one that counting minutes gives: over changes
// of clocks, in zones of half hours, over the end of a year and holidays in a row.
func TestTimesCountWorkingMinutesOverAYear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := localtime.Zone(name)
			require.NoError(t, err)
			calendar := localtime.Calendar{
				Zone: zone, Week: lines(t, "mon-thu 09:00-12:30", "mon-fri 13:15-17:00", "sat 22:00-24:00", "sun 00:00-03:00"),
				Holidays: map[localtime.Date]bool{},
			}
			for _, text := range []string{"2026-10-03", "2026-12-24", "2026-12-25", "2026-12-26", "2026-12-31", "2027-01-01", "2027-04-04"} {
				calendar.Holidays[date(t, text)] = true
			}
			require.True(t, calendar.Check())

			begin := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
			const minutes = 300 * 24 * 60
			ends := make([]time.Time, 0, minutes/4) // of each working minute, in order
			worked := make([]int, minutes)          // working minutes before each minute
			for i := range minutes {
				at := begin.Add(time.Duration(i) * time.Minute)
				worked[i] = len(ends)
				local := at.In(zone)
				works := false
				for _, s := range calendar.Week[local.Weekday()] {
					shown := localtime.Clock(local.Hour()*60 + local.Minute())
					works = works || shown >= s.From && shown < s.Until
				}
				if works && !calendar.Holidays[localtime.DateOf(at, zone)] {
					ends = append(ends, at.Add(time.Minute))
				}
			}
			random := rand.New(rand.NewPCG(52, 1160))
			for range 3000 {
				from, length := random.IntN(minutes-1), 1+random.IntN(3*8*60)
				if last := worked[from] + length; last < len(ends) {
					at := begin.Add(time.Duration(from) * time.Minute)
					got := calendar.After(at, time.Duration(length)*time.Minute)
					require.True(t, ends[last-1].Equal(got), "%v and %d working minutes is %v, not %v", at.In(zone), length, got, ends[last-1].In(zone))
					half := calendar.Half(at, got)
					require.Equal(t, time.Duration(length)*time.Minute/2, calendar.Between(at, half), "half of %d working minutes", length)
				}
			}
		})
	}
}

// Without a calendar, or in one that has not as much time in three years, all hours count.
func TestTimesCountAllHoursWithoutACalendar(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	var none *localtime.Calendar
	require.Equal(t, at.Add(time.Hour), none.After(at, time.Hour))
	require.Equal(t, at.Add(time.Hour), none.Half(at, at.Add(2*time.Hour)))
	rare := &localtime.Calendar{Zone: time.UTC, Week: lines(t, "mon 09:00-09:01")}
	require.Equal(t, at.Add(30*24*time.Hour), rare.After(at, 30*24*time.Hour))
	require.Equal(t, at.Add(time.Minute), rare.Half(at, at.Add(2*time.Minute)), "no working time is in between")
}
