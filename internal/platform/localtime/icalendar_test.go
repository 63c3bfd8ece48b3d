package localtime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
)

// file returns an iCalendar file with events.
func file(events ...string) string {
	out := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Holidays\r\n"
	for _, e := range events {
		out += "BEGIN:VEVENT\r\nUID:1\r\n" + e + "\r\nEND:VEVENT\r\n"
	}
	return out + "END:VCALENDAR\r\n"
}

func TestWholeDaysOfAnICalendarFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		days []string
	}{
		"in order, each once": {
			file("DTSTART;VALUE=DATE:20270101", "DTSTART;VALUE=DATE:20261225\r\nDTEND;VALUE=DATE:20261226", "DTSTART;VALUE=DATE:20270101"),
			[]string{"2026-12-25", "2027-01-01"},
		},
		"over the end of a year": {file("DTSTART;VALUE=DATE:20261231\r\nDTEND;VALUE=DATE:20270102"), []string{"2026-12-31", "2027-01-01"}},
		"a duration":             {file("DTSTART;VALUE=DATE:20280228\r\nDURATION:P3D"), []string{"2028-02-28", "2028-02-29", "2028-03-01"}},
		"a week":                 {file("DTSTART;VALUE=DATE:20260101\r\nDURATION:P1W"), []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06", "2026-01-07"}},
		"an end that is the day": {file("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261224"), []string{"2026-12-24"}},
		"no times of day, nothing cancelled": {
			file("DTSTART;TZID=Europe/Berlin:20261224T090000", "DTSTART:20261225T090000Z\r\nRRULE:FREQ=DAILY", "STATUS:CANCELLED\r\nDTSTART;VALUE=DATE:20261226", "DTSTART:20261227"),
			[]string{"2026-12-27"},
		},
		"folded in a character, with an alarm, LF and a mark of byte order": {
			"\ufeffbegin:vcalendar\nBEGIN:VEVENT\nSUMMARY:Karneval in K\xc3\n \xb6ln\nDTSTART;X-A=\"a:b\";VALUE=D\n ATE:2027\n\t0208\nBEGIN:VALARM\nDTSTART:20270101\nEND:VALARM\nEND:VEVENT\nBEGIN:VTODO\nDTSTART:20270303\nEND:VTODO\nEND:VCALENDAR",
			[]string{"2027-02-08"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			days, err := localtime.WholeDays(c.file, 10)
			require.NoError(t, err)
			var texts []string
			for _, d := range days {
				texts = append(texts, d.String())
			}
			require.Equal(t, c.days, texts)
		})
	}
}

func TestICalendarFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, fault string }{
		"nothing":             {"", "must begin with BEGIN:VCALENDAR"},
		"a page":              {"<html>", "must begin with BEGIN:VCALENDAR"},
		"no event":            {file(), "no whole-day event"},
		"times of day only":   {file("DTSTART:20261224T090000Z"), "no whole-day event"},
		"repeats":             {file("SUMMARY:Christmas\r\nDTSTART;VALUE=DATE:20201225\r\nRRULE:FREQ=YEARLY"), `"Christmas" on 2020-12-25 repeats`},
		"repeats by dates":    {file("DTSTART;VALUE=DATE:20201225\r\nRDATE;VALUE=DATE:20211225"), "repeats"},
		"no date":             {file("DTSTART;VALUE=DATE:20261301"), "not a date such as 20261224"},
		"a long date":         {file("DTSTART;VALUE=DATE:2026-12-24"), "not a date such as 20261224"},
		"an end without date": {file("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:x"), "ends at"},
		"ends before it":      {file("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261201"), "ends before it begins"},
		"hours":               {file("DTSTART;VALUE=DATE:20261224\r\nDURATION:PT36H"), "not a number of days"},
		"too many":            {file("DTSTART;VALUE=DATE:20261224\r\nDURATION:P11D"), "more than 10 whole days"},
		"without an end":      {strings.TrimSuffix(file(), "END:VCALENDAR\r\n"), "VCALENDAR is not ended"},
		"an end of nothing":   {file() + "END:VCALENDAR", "ends nothing"},
		"crossed":             {"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\nEND:VEVENT", "ends nothing"},
		"an event in another": {file("BEGIN:VEVENT\r\nEND:VEVENT\r\nBEGIN:VEVENT"), "inside of another"},
		"not UTF-8":           {file("SUMMARY:\xff\xfe\r\nDTSTART:20261224"), "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := localtime.WholeDays(c.file, 10)
			require.ErrorContains(t, err, c.fault)
		})
	}
}

func FuzzWholeDays(f *testing.F) {
	f.Add(file("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261227"))
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nBEGIN:VEVENT\nEND:VEVENT")
	f.Fuzz(func(t *testing.T, text string) {
		days, err := localtime.WholeDays(text, 50)
		require.Equal(t, err == nil, len(days) > 0)
		require.LessOrEqual(t, len(days), 50)
	})
}
