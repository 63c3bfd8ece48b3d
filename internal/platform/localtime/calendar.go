package localtime

import (
	"iter"
	"slices"
	"time"
)

// horizon is how far ahead a calendar looks for working time. One without any in so long a time has none.
const horizon = 3 * 366 * day

// Calendar is working time in a zone. The spans of a weekday are in order, do not overlap and do not go past midnight (Until is at most
// EndOfDay); Check says which are not. A calendar does not change after it is made.
type Calendar struct {
	Zone     *time.Location
	Week     [7][]Span // by time.Weekday
	Holidays map[Date]bool
}

// gap is the longest time without working time that a calendar may have.
const gap = 366 * day

// Check reports whether the calendar's spans are as they must be, and whether there is working time in every 366 days.
func (c Calendar) Check() bool {
	works := false
	for _, spans := range c.Week {
		for i, s := range spans {
			if s.From < 0 || s.From >= s.Until || s.Until > EndOfDay || (i > 0 && s.From < spans[i-1].Until) {
				return false
			}
			works = true
		}
	}
	return works && c.Zone != nil && c.withoutGap()
}

// withoutGap reports whether working time follows on each holiday in time. Weeks repeat, so that only holidays make a gap.
func (c Calendar) withoutGap() bool {
	for date := range c.Holidays {
		if c.Holidays[date.AddDays(-1)] {
			continue // the first of several in a row has the longest wait
		}
		from := Begin(date, 0, c.Zone)
		if next, ok := c.Next(from); !ok || next.Sub(from) > gap {
			return false
		}
	}
	return true
}

// After returns when a time that begins at an instant is over: with a calendar after as much working time, and without one, or if it has not as much
// in three years, after as much time of all hours. What ends then ends early and not never.
func (c *Calendar) After(at time.Time, length time.Duration) time.Time {
	if c != nil {
		if end, ok := c.Add(at, length); ok {
			return end.In(at.Location())
		}
	}
	return at.Add(length)
}

// Half returns the middle between two instants: when half of the working time between them has passed, or without a calendar half of all time.
func (c *Calendar) Half(from, until time.Time) time.Time {
	if c != nil {
		if end, ok := c.Add(from, c.Between(from, until)/2); ok && end.After(from) {
			return end.In(from.Location())
		}
	}
	return from.Add(until.Sub(from) / 2)
}

// Works reports whether an instant is working time.
func (c Calendar) Works(at time.Time) bool {
	date := DateOf(at, c.Zone)
	return !c.Holidays[date] && slices.ContainsFunc(c.Week[at.In(c.Zone).Weekday()], func(s Span) bool { return s.Contains(at, c.Zone) })
}

// Next returns the first instant of working time at or after a given one; false if there is none within three years.
func (c Calendar) Next(at time.Time) (time.Time, bool) {
	for begin := range c.working(at, at.Add(horizon)) {
		return begin, true
	}
	return time.Time{}, false
}

// Add returns the instant at which a duration of working time has passed since an instant: the end of its last piece, so that a working day
// from 09:00 ends at 17:00 and not at 09:00 the next day. It returns false if there is not as much within three years.
func (c Calendar) Add(at time.Time, working time.Duration) (time.Time, bool) {
	if working <= 0 {
		return at, true
	}
	for begin, end := range c.working(at, at.Add(horizon)) {
		if open := end.Sub(begin); open < working {
			working -= open
			continue
		}
		return begin.Add(working), true
	}
	return time.Time{}, false
}

// Between returns how much working time there is from one instant to another; zero if the second is not later.
func (c Calendar) Between(from, until time.Time) time.Duration {
	var sum time.Duration
	for begin, end := range c.working(from, until) {
		sum += end.Sub(begin)
	}
	return sum
}

// working returns the pieces of working time between two instants, in order.
func (c Calendar) working(from, until time.Time) iter.Seq2[time.Time, time.Time] {
	return func(yield func(begin, end time.Time) bool) {
		for p := range periods(from, c.Zone) {
			for date := DateOf(p.wall(p.begin), time.UTC); ; date = date.AddDays(1) {
				at := p.instant(date.midnight())
				if !at.Before(until) || (!p.end.IsZero() && !at.Before(p.end)) {
					break
				}
				if c.Holidays[date] {
					continue
				}
				for _, s := range c.Week[date.midnight().Weekday()] {
					begin := later(at.Add(s.From.offset()), p.begin)
					end := earlier(at.Add(s.Until.offset()), until)
					if !p.end.IsZero() {
						end = earlier(end, p.end)
					}
					if begin.Before(end) && !yield(begin, end) {
						return
					}
				}
			}
			if !p.end.IsZero() && !p.end.Before(until) {
				return
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
