package rules

import (
	"regexp"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
)

// maxWindow is the longest window: values of requests are stored as long. maxDays is the most calendar days: a day may have more than 24 hours.
const (
	maxWindow = 30 * 24 * time.Hour
	maxDays   = 29
)

// windowForm says how a window is written, for messages.
const windowForm = `a number of minutes, hours or days up to 30 days, such as "15m", "36h" or "30d", or one of calendar days up to 29 in a time zone, such as "1d@Europe/Berlin"`

// The forms of a window: a length, and calendar days in a zone, of which the last is the day that it is.
var (
	window       = regexp.MustCompile(`^([1-9][0-9]{0,4})([mhd])$`)
	calendarDays = regexp.MustCompile(`^([1-9][0-9]?)d@(\S{1,64})$`)
)

// The units of a window, each with its name.
var windowUnits = map[string]struct {
	length time.Duration
	name   string
}{"m": {time.Minute, "minute"}, "h": {time.Hour, "hour"}, "d": {24 * time.Hour, "day"}}

// spanOf returns the length of a window up to now, such as 90m; zero for a text that is none.
func spanOf(text string) time.Duration {
	m := window.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most five digits
	if span := time.Duration(n) * windowUnits[m[2]].length; span <= maxWindow {
		return span
	}
	return 0
}

// daysOf returns the number of calendar days of a window and their zone; false for a text that is none.
func daysOf(text string) (n int, zone *time.Location, ok bool) {
	m := calendarDays.FindStringSubmatch(text)
	if m == nil {
		return 0, nil, false
	}
	n, _ = strconv.Atoi(m[1]) // at most two digits
	zone, err := localtime.Zone(m[2])
	return n, zone, err == nil && n <= maxDays
}

// isWindow reports whether a text is a window.
func isWindow(text string) bool {
	_, _, calendar := daysOf(text)
	return calendar || spanOf(text) > 0
}

// sinceOf returns when a window that ends at a time began.
func sinceOf(text string, at time.Time) time.Time {
	if n, zone, ok := daysOf(text); ok {
		return localtime.Begin(localtime.DateOf(at, zone).AddDays(1-n), 0, zone).UTC()
	}
	return at.Add(-spanOf(text))
}

// windowWords is a window as a person reads it.
func windowWords(text string) string {
	var unit, zone string
	m := window.FindStringSubmatch(text)
	if m != nil {
		unit = windowUnits[m[2]].name
	} else if m = calendarDays.FindStringSubmatch(text); m != nil {
		unit, zone = "calendar day", " in "+m[2]
	} else {
		return text
	}
	if m[1] != "1" {
		unit += "s"
	}
	return m[1] + " " + unit + zone
}
