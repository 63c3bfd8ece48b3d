package apitime_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
)

// Whatever number a client sends becomes a time that the API can print and read again.
func TestUnixIsAlwaysPrintable(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "1970-01-01T00:00:00.000Z", 1795253400.25: "2026-11-21T09:30:00.250Z", 1795253400250: "2026-11-21T09:30:00.250Z", -0.5: "1969-12-31T23:59:59.500Z",
		-1e15: "0001-01-01T00:00:00.000Z", 1e15: "9999-12-31T23:59:59.000Z", 1e308: "9999-12-31T23:59:59.000Z", -math.MaxFloat64: "0001-01-01T00:00:00.000Z",
		253402300799999: "9999-12-31T23:59:59.000Z", 5e-324: "1970-01-01T00:00:00.000Z", math.Inf(1): "9999-12-31T23:59:59.000Z",
	} {
		text := apitime.Time(apitime.Unix(v))
		require.Equal(t, want, text, v)
		_, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
	}
}
func TestParseAcceptsWhatCanBeWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-21T09:30:00Z":                "2026-11-21T09:30:00.000Z",
		"2026-11-21T09:30:00.123456789Z":      "2026-11-21T09:30:00.123Z",
		"2026-11-21T11:30:00+02:00":           "2026-11-21T09:30:00.000Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999Z",
		"9999-12-31T23:59:59+23:59":           "9999-12-31T00:00:59.000Z",
		"0000-12-31T23:59:59-00:01":           "0001-01-01T00:00:59.000Z",
		"2024-02-29T00:00:00Z":                "2024-02-29T00:00:00.000Z",
		"1969-12-31T23:59:59.999999999-00:00": "1969-12-31T23:59:59.999Z",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			at, err := apitime.Parse(text)
			require.NoError(t, err)
			require.Equal(t, want, apitime.Time(at))
			require.Equal(t, time.UTC, at.Location())
		})
	}
}

func TestParseRefusesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"year 10000 in UTC":        "9999-12-31T23:59:59-00:01",
		"year 0 in UTC":            "0001-01-01T00:00:00+00:01",
		"year 0":                   "0000-06-01T00:00:00Z",
		"a year of five digits":    "10000-01-01T00:00:00Z",
		"a signed year":            "+2026-01-01T00:00:00Z",
		"a leap second":            "2016-12-31T23:59:60Z",
		"an offset of a day":       "2026-11-21T09:30:00+24:00",
		"an offset of 60 minutes":  "2026-11-21T09:30:00+01:60",
		"an offset without colon":  "2026-11-21T09:30:00+0100",
		"lower case t":             "2026-11-21t09:30:00Z",
		"lower case z":             "2026-11-21T09:30:00z",
		"a comma":                  "2026-11-21T09:30:00,5Z",
		"an hour of one digit":     "2026-11-21T9:30:00Z",
		"hour 24":                  "2026-11-21T24:00:00Z",
		"a day that is none":       "2026-02-29T00:00:00Z",
		"no offset":                "2026-11-21T09:30:00",
		"a space":                  "2026-11-21 09:30:00Z",
		"a space at the end":       "2026-11-21T09:30:00Z ",
		"infinity of the database": "infinity",
		"minus infinity":           "-infinity",
		"now of the database":      "now",
		"full-width digits":        "２０２６-11-21T09:30:00Z",
		"a number":                 "1795253400",
		"nothing":                  "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := apitime.Parse(text)
			require.ErrorContains(t, err, "must be an RFC 3339 time")
			require.Error(t, apitime.Format(text))
		})
	}
}

// Whatever is accepted can be written, and what is written is accepted and stays as it is.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z", "2026-11-21T09:30:00,5Z", "2026-11-21t9:30:60z", "-infinity"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := apitime.Parse(text)
		if err != nil {
			return
		}
		_, err = at.MarshalText()
		require.NoError(t, err)
		again, err := apitime.Parse(apitime.Time(at))
		require.NoError(t, err)
		require.Equal(t, apitime.Time(at), apitime.Time(again))
	})
}
