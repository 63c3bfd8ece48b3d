// Package wire holds the formats of times on the wire (DESIGN section 4, Formats): strings are RFC 3339 in UTC with
// milliseconds and Z, numbers are Unix seconds. It knows no other shape.
package apitime

import (
	"math"
	"time"
)

const layout = "2006-01-02T15:04:05.000Z"

// Time writes t as RFC 3339, UTC, milliseconds.
func Time(t time.Time) string { return t.UTC().Format(layout) }

// OptionalTime is Time for what may be missing; nil stays nil.
func OptionalTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := Time(*t)
	return &s
}

// milliseconds is the number from which a Unix time is read as milliseconds: as seconds it would be the year 5138.
const milliseconds = 1e11

// Unix reads a number of seconds, fractions allowed; from 1e11 on it is read as milliseconds. Resolution is the microsecond.
func Unix(v float64) time.Time {
	if math.Abs(v) >= milliseconds {
		v /= 1000
	}
	whole, frac := math.Modf(v)
	return time.Unix(int64(whole), int64(math.Round(frac*1e6))*1000).UTC()
}
