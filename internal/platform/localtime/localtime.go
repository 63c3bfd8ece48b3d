// Package localtime computes with times of day in a time zone: when a part of the day ends, when a local day or a time of day begins, and
// how much working time lies between two instants.
//
// A time is inside a part of the day if the clocks of the zone show a time in it. So an hour that clocks repeat counts twice, one that they
// skip does not count, and a part that begins or ends in a skipped hour begins or ends at the change. The package has no clock and no
// state but its cache of zones.
package localtime

import (
	"fmt"
	"iter"
	"time"
)

// Clock is a time of day in minutes after midnight: 0 to 1439, and 1440 for the end of a day.
type Clock int

// EndOfDay is 24:00.
const EndOfDay Clock = 24 * 60

// ParseClock reads a time of day, 00:00 to 23:59. String returns its canonical form: 7:00 is read as well and is written 07:00.
func ParseClock(text string) (Clock, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 22:00", text)
	}
	return Clock(t.Hour()*60 + t.Minute()), nil
}

// String returns HH:MM.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// offset is the time of day as the time since midnight of a day without changes.
func (c Clock) offset() time.Duration { return time.Duration(c) * time.Minute }

// Span is a part of the day from From to before Until. It goes on past midnight if Until is not after From; if they are equal, it is
// the whole day.
type Span struct{ From, Until Clock }

// Contains reports whether the clocks of a zone show a time of the part at an instant.
func (s Span) Contains(at time.Time, zone *time.Location) bool {
	local := at.In(zone)
	shown := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
	from, until := s.From.offset(), s.Until.offset()
	if from < until {
		return from <= shown && shown < until
	}
	return from <= shown || shown < until
}

// End returns the first instant, at or after a given one, that is not inside the part; the zero time if the part is the whole day.
func (s Span) End(at time.Time, zone *time.Location) time.Time {
	if s.From == s.Until%EndOfDay {
		return time.Time{}
	}
	for p := range periods(at, zone) {
		if !s.Contains(p.begin, zone) {
			return p.begin
		}
		local := p.wall(p.begin)
		end := midnight(local).Add(s.Until.offset())
		if !end.After(local) {
			end = end.Add(day)
		}
		if at := p.instant(end); p.contains(at) {
			return at
		}
	}
	return time.Time{} // not reached: the last period has no end
}

// Begin returns the first instant at which the clocks of a zone show a time of day or a later one on a date. That is the change if they
// skip the time, and the first of two if they repeat it.
func Begin(date Date, clock Clock, zone *time.Location) time.Time {
	wall := date.midnight().Add(clock.offset())
	for p := range periods(wall.Add(-day), zone) { // no zone differs by a day from UTC
		switch at := p.instant(wall); {
		case at.Before(p.begin):
			return p.begin
		case p.contains(at):
			return at
		}
	}
	return wall // not reached: the last period has no end
}

// Date is a day of the Gregorian calendar.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date that is shown in a zone at an instant.
func DateOf(at time.Time, zone *time.Location) Date {
	year, month, d := at.In(zone).Date()
	return Date{year, month, d}
}

// ParseDate reads a date of the form YYYY-MM-DD.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a date such as 2026-12-24", text)
	}
	return DateOf(t, time.UTC), nil
}

// String returns YYYY-MM-DD.
func (d Date) String() string { return d.midnight().Format(time.DateOnly) }

// AddDays returns the date some days later, or earlier if n is negative.
func (d Date) AddDays(n int) Date { return DateOf(d.midnight().AddDate(0, 0, n), time.UTC) }

// midnight is the date's reading 00:00, as a time in UTC.
func (d Date) midnight() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

const day = 24 * time.Hour

// period is a time in which a zone keeps one offset from UTC, so that arithmetic inside it is plain. A wall time is the date and time that
// clocks show, as a time in UTC.
type period struct {
	begin, end time.Time // end is zero in the last period
	offset     time.Duration
}

// periods returns the periods of a zone from an instant on. The first begins with the instant.
func periods(from time.Time, zone *time.Location) iter.Seq[period] {
	return func(yield func(period) bool) {
		for begin := from.In(zone); ; {
			_, seconds := begin.Zone()
			_, end := begin.ZoneBounds()
			if !yield(period{begin, end, time.Duration(seconds) * time.Second}) || end.IsZero() {
				return
			}
			begin = end
		}
	}
}

func (p period) wall(at time.Time) time.Time { return at.UTC().Add(p.offset) }

func (p period) instant(wall time.Time) time.Time { return wall.Add(-p.offset).In(p.begin.Location()) }

func (p period) contains(at time.Time) bool {
	return !at.Before(p.begin) && (p.end.IsZero() || at.Before(p.end))
}

// midnight is the midnight before a wall time.
func midnight(wall time.Time) time.Time { return DateOf(wall, time.UTC).midnight() }
