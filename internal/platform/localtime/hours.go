package localtime

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// dayNames are the names of the days in lines of working hours, in the order of ranges.
var dayNames = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// Hours are working hours of one day of the week, or of several in a row.
type Hours struct {
	first, last int // of dayNames
	span        Span
}

// ParseHours reads working hours such as "mon-fri 09:00-17:00" or "sat 10:00-12:00". They may end at 24:00, and not on the next day. String returns their
// canonical form.
func ParseHours(text string) (Hours, error) {
	fault := func(rule string) (Hours, error) {
		return Hours{}, fmt.Errorf("%q %s; write a day or a range of days with its hours, such as mon-fri 09:00-17:00", text, rule)
	}
	parts := strings.Fields(strings.ToLower(text))
	if len(parts) != 2 {
		return fault("is not working hours")
	}
	from, to, _ := strings.Cut(parts[0], "-")
	if !strings.Contains(parts[0], "-") {
		to = from
	}
	h := Hours{first: slices.Index(dayNames, from), last: slices.Index(dayNames, to)}
	if h.first < 0 || h.last < 0 {
		return fault("has a day that is none of " + strings.Join(dayNames, ", "))
	}
	if h.last < h.first {
		return fault("has days in the wrong order: the week begins with mon")
	}
	begin, end, _ := strings.Cut(parts[1], "-")
	var err error
	if h.span.From, err = ParseClock(begin); err != nil {
		return fault("begins at no time of day")
	}
	if h.span.Until = EndOfDay; end != EndOfDay.String() {
		if h.span.Until, err = ParseClock(end); err != nil {
			return fault("ends at no time of day")
		}
	}
	if h.span.Until <= h.span.From {
		return fault("ends before it begins: hours past midnight are two lines")
	}
	return h, nil
}

// String returns the canonical form, such as mon-fri 09:00-17:00.
func (h Hours) String() string {
	days := dayNames[h.first]
	if h.last > h.first {
		days += "-" + dayNames[h.last]
	}
	return days + " " + h.span.From.String() + "-" + h.span.Until.String()
}

// WeekOf returns the spans of each weekday. Hours of one day that overlap are an error.
func WeekOf(all []Hours) (week [7][]Span, err error) {
	for _, h := range all {
		for i := h.first; i <= h.last; i++ {
			weekday := (i + 1) % 7 // of package time, which begins with Sunday
			if slices.ContainsFunc(week[weekday], func(s Span) bool { return h.span.From < s.Until && s.From < h.span.Until }) {
				return week, fmt.Errorf("the hours of %s overlap: %s has hours that an earlier line has", time.Weekday(weekday), h)
			}
			week[weekday] = append(week[weekday], h.span)
		}
	}
	for i := range week {
		slices.SortFunc(week[i], func(a, b Span) int { return int(a.From - b.From) })
	}
	return week, nil
}
