// Package apitime formats and parses times as the API does: strings are RFC 3339, written in UTC with milliseconds and Z, numbers
// are Unix seconds. Every time that a caller gives is parsed here, so that the API can write every time that it has accepted.
package apitime

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
)

const layout = "2006-01-02T15:04:05.000Z"

// The years that a time may have in UTC. RFC 3339 has four digits for a year, and many programs have no year 0.
const (
	firstYear = 1
	lastYear  = 9999
)

// errForm says that a text is no time that Parse accepts.
var errForm = errors.New("must be an RFC 3339 time of the years 1 to 9999 in UTC, such as 2026-11-21T09:30:00.000Z")

// form is the form of an RFC 3339 time. Package time accepts more: a comma, an hour of one digit, an offset of 60 minutes.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Parse parses an RFC 3339 time and returns it in UTC. It accepts capital T and Z only, no leap second, and no offset that would
// move the time out of the years 1 to 9999.
func Parse(text string) (time.Time, error) {
	if !form.MatchString(text) {
		return time.Time{}, errForm
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errForm
	}
	if t = t.UTC(); t.Year() < firstYear || t.Year() > lastYear {
		return time.Time{}, errForm
	}
	return t, nil
}

// Format is Parse as the check of the JSON Schema format date-time. Values that are not strings pass.
func Format(value any) error {
	if text, ok := value.(string); ok {
		_, err := Parse(text)
		return err
	}
	return nil
}

// Time formats t as RFC 3339 in UTC with milliseconds, truncated: 2026-03-01T09:00:00.000Z.
func Time(t time.Time) string { return t.UTC().Format(layout) }

// OptionalTime formats t like Time; nil stays nil, which JSON shows as null.
func OptionalTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := Time(*t)
	return &s
}

// Instant is a time in a body. That of a request is truncated to the milliseconds of responses.
type Instant time.Time

// MarshalJSON writes what Time does.
func (i Instant) MarshalJSON() ([]byte, error) { return []byte(`"` + Time(time.Time(i)) + `"`), nil }

// UnmarshalJSON accepts what Parse does.
func (i *Instant) UnmarshalJSON(raw []byte) error {
	t, err := Parse(strings.Trim(string(raw), `"`))
	*i = Instant(t.Truncate(time.Millisecond))
	return err
}

// Time returns the time; nil for nil.
func (i *Instant) Time() *time.Time { return (*time.Time)(i) }

// milliseconds is the number from which a Unix time is read as milliseconds. In seconds it would be in the year 5138.
const milliseconds = 1e11

// The range of Unix seconds that Time can print and a database can store: the years 1 to 9999.
const (
	earliest = -62135596800
	latest   = 253402300799
)

// Unix converts Unix seconds, with fractions, to a time in UTC rounded to the microsecond. A number of 1e11 or more is read as
// milliseconds. A number beyond the years 1 to 9999 becomes the nearest time in them: clients measure with clocks of their own.
func Unix(v float64) time.Time {
	if math.Abs(v) >= milliseconds {
		v /= 1000
	}
	v = min(max(v, earliest), latest)
	whole, frac := math.Modf(v)
	return time.Unix(int64(whole), int64(math.Round(frac*1e6))*1000).UTC()
}
