// Package apitime formats and parses times as the API does: strings are RFC 3339 in UTC with milliseconds and Z, numbers are
// Unix seconds. It may not accept any other form.
package apitime

import (
	"math"
	"time"
)

const layout = "2006-01-02T15:04:05.000Z"

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
