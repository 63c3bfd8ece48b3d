package localtime

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WholeDays returns the days of the whole-day events (VEVENT) of an iCalendar file (RFC 5545), in order and each once, at most limit of them. Events with
// times of day and cancelled ones are left out. An event that repeats is an error, and so is a file without a whole-day event: to take fewer days than
// the file means would be worse.
func WholeDays(file string, limit int) ([]Date, error) {
	lines := unfolded(file)
	if !utf8.ValidString(strings.Join(lines, "")) { // lines may be folded inside of a character
		return nil, fmt.Errorf("the file is not UTF-8")
	}
	if len(lines) == 0 || !strings.EqualFold(lines[0], "BEGIN:VCALENDAR") {
		return nil, fmt.Errorf("the file is not an iCalendar file: it must begin with BEGIN:VCALENDAR")
	}
	days := map[Date]bool{}
	var within []string // the components around a line, the innermost last
	var event *wholeDay
	for _, line := range lines {
		name, value := property(line)
		switch {
		case name == "BEGIN":
			within = append(within, strings.ToUpper(value))
			if within[len(within)-1] != "VEVENT" {
				continue
			}
			if event != nil {
				return nil, fmt.Errorf("the file is damaged: an event begins inside of another")
			}
			event = &wholeDay{}
		case name == "END":
			if len(within) == 0 || within[len(within)-1] != strings.ToUpper(value) {
				return nil, fmt.Errorf("the file is damaged: END:%s ends nothing that is open", value)
			}
			within = within[:len(within)-1]
			if !strings.EqualFold(value, "VEVENT") {
				continue
			}
			if err := event.addTo(days, limit); err != nil {
				return nil, err
			}
			event = nil
		case event != nil && within[len(within)-1] == "VEVENT": // an alarm inside of an event has properties of its own
			event.set(name, value)
		}
	}
	if len(within) > 0 {
		return nil, fmt.Errorf("the file is damaged: %s is not ended", within[len(within)-1])
	}
	if len(days) == 0 {
		return nil, fmt.Errorf("the file has no whole-day event; times of day are no holidays")
	}
	out := make([]Date, 0, len(days))
	for d := range days {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Date) int { return a.midnight().Compare(b.midnight()) })
	return out, nil
}

// maxNamed is how many characters of an event's name an error repeats.
const maxNamed = 60

// wholeDay has the properties of an event that decide about its days.
type wholeDay struct {
	start, end, length, name    string
	whole, repeating, cancelled bool
}

func (e *wholeDay) set(name, value string) {
	switch name {
	case "DTSTART":
		e.start, e.whole = value, !strings.ContainsAny(value, "Tt") // which a date with a time of day has
	case "DTEND":
		e.end = value
	case "DURATION":
		e.length = value
	case "SUMMARY":
		e.name = string([]rune(value)[:min(len([]rune(value)), maxNamed)])
	case "RRULE", "RDATE":
		e.repeating = true
	case "STATUS":
		e.cancelled = strings.EqualFold(value, "CANCELLED")
	}
}

// addTo adds the days of the event. Its end is the day after the last.
func (e *wholeDay) addTo(days map[Date]bool, limit int) error {
	if !e.whole || e.cancelled {
		return nil
	}
	first, err := basicDate(e.start)
	if err != nil {
		return fmt.Errorf("the event %q begins at %w", e.name, err)
	}
	if e.repeating {
		return fmt.Errorf("the event %q on %s repeats (RRULE or RDATE); export each of its days as an event", e.name, first)
	}
	end := first.AddDays(1)
	switch {
	case e.end != "":
		if end, err = basicDate(e.end); err != nil {
			return fmt.Errorf("the event %q ends at %w", e.name, err)
		}
	case e.length != "":
		n, err := daysOf(e.length)
		if err != nil {
			return fmt.Errorf("the event %q on %s has %w", e.name, first, err)
		}
		end = first.AddDays(n)
	}
	if end == first { // some programs write the day itself
		end = first.AddDays(1)
	}
	if end.midnight().Before(first.midnight()) {
		return fmt.Errorf("the event %q on %s ends before it begins", e.name, first)
	}
	for d := first; d != end; d = d.AddDays(1) {
		if days[d] = true; len(days) > limit {
			return fmt.Errorf("the file has more than %d whole days; leave out past years", limit)
		}
	}
	return nil
}

// wholeLength is a duration in weeks or days.
var wholeLength = regexp.MustCompile(`^\+?P(\d{1,4})([WD])$`)

func daysOf(text string) (int, error) {
	found := wholeLength.FindStringSubmatch(strings.ToUpper(text))
	if found == nil {
		return 0, fmt.Errorf("the duration %q, which is not a number of days such as P2D", text)
	}
	n, err := strconv.Atoi(found[1])
	if found[2] == "W" {
		n *= 7
	}
	return n, err
}

// basicDate reads a date of the form YYYYMMDD.
func basicDate(text string) (Date, error) {
	if len(text) != len("20060102") {
		return Date{}, fmt.Errorf("%q, which is not a date such as 20261224", text)
	}
	d, err := ParseDate(text[:4] + "-" + text[4:6] + "-" + text[6:])
	if err != nil {
		return Date{}, fmt.Errorf("%q, which is not a date such as 20261224", text)
	}
	return d, nil
}

// property splits a line into the name of its property, in upper case, and its value. Parameters are left out.
func property(line string) (name, value string) {
	quoted := false
	at := strings.IndexFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ':' && !quoted
	})
	if at < 0 {
		return "", ""
	}
	name, _, _ = strings.Cut(strings.ToUpper(line[:at]), ";")
	return name, strings.TrimSpace(line[at+1:])
}

// unfolded returns the lines of a file that are not empty. A line that begins with a space or a tab continues the previous line.
func unfolded(file string) []string {
	var out []string
	file = strings.TrimPrefix(file, "\ufeff")
	for line := range strings.SplitSeq(strings.ReplaceAll(file, "\r\n", "\n"), "\n") {
		switch {
		case line == "":
		case (line[0] == ' ' || line[0] == '\t') && len(out) > 0:
			out[len(out)-1] += line[1:]
		default:
			out = append(out, line)
		}
	}
	return out
}
