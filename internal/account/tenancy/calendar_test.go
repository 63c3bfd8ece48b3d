package tenancy_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// icalendar returns a file with whole-day events in base64.
func icalendar(dates ...string) string {
	out := "BEGIN:VCALENDAR\r\n"
	for _, d := range dates {
		out += "BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:" + d + "\r\nEND:VEVENT\r\n"
	}
	return base64.StdEncoding.EncodeToString([]byte(out + "END:VCALENDAR\r\n"))
}

func TestCalendarOfAnEnvironment(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example"}}, "cli:tenant create")
	require.NoError(t, err)
	scope := storetest.Scope(made.Live)
	stored := func() models.Environment {
		t.Helper()
		env, err := tenancy.GetEnvironment(t.Context(), st.Q, scope)
		require.NoError(t, err)
		require.NoError(t, pg.Verify(t.Context(), st.Q, env))
		return env
	}
	require.Nil(t, tenancy.Calendar(stored().Settings))
	change := func(in tenancy.Settings) models.Environment {
		t.Helper()
		_, err := svc.UpdateSettings(t.Context(), scope, in, "test", "")
		require.NoError(t, err)
		return stored()
	}

	env := change(tenancy.Settings{"working_zone": "Europe/Berlin", "working_hours": []string{"Mon-Fri 9:00-17:00"}, "holidays_file": icalendar("20270101", "20261224")})
	require.Equal(t, models.Strings{"mon-fri 09:00-17:00"}, env.WorkingHours)
	require.Equal(t, models.Strings{"2026-12-24", "2027-01-01"}, env.Holidays, "the whole days of the file, as dates")
	calendar := tenancy.Calendar(env.Settings)
	require.Equal(t, time.Date(2026, 12, 25, 9, 0, 0, 0, time.UTC), calendar.After(time.Date(2026, 12, 23, 15, 0, 0, 0, time.UTC), 2*time.Hour),
		"the 23rd ends at 17:00 in Berlin, and the 24th is free")
	env = change(tenancy.Settings{"holidays": []string{}})
	require.Empty(t, env.Holidays)
	require.NotNil(t, tenancy.Calendar(env.Settings))
	require.Nil(t, tenancy.Calendar(change(tenancy.Settings{"working_hours": []string{}}).Settings), "without working hours there is none")
}

func TestCalendarsThatAreRefused(t *testing.T) {
	t.Parallel()
	var many, year []string
	for i := range tenancy.MaxHolidays + 1 {
		day := time.Date(2026, 1, 1+2*i, 0, 0, 0, 0, time.UTC)
		many, year = append(many, day.Format(time.DateOnly)), append(year, time.Date(2026, 1, i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	zone, hours := "Europe/Berlin", []string{"mon-fri 09:00-17:00"}
	for name, c := range map[string]struct {
		in    tenancy.Settings
		field string
		rule  string
	}{
		"an unknown zone":      {tenancy.Settings{"working_zone": "Berlin"}, "working_zone", "no name of the IANA time zone database"},
		"the server's zone":    {tenancy.Settings{"working_zone": "Local"}, "working_zone", "no name of the IANA time zone database"},
		"hours without a zone": {tenancy.Settings{"working_hours": hours}, "working_zone", "working_zone is empty, and working_hours are given"},
		"no hours":             {tenancy.Settings{"working_zone": zone, "working_hours": []string{"always"}}, "working_hours", "is not working hours"},
		"hours at once":        {tenancy.Settings{"working_zone": zone, "working_hours": []string{"mon 09:00-17:00", "mon-tue 16:00-18:00"}}, "working_hours", "overlap"},
		"no date":              {tenancy.Settings{"holidays": []string{"24.12.2026"}}, "holidays", "not a date such as 2026-12-24"},
		"too many days":        {tenancy.Settings{"holidays": many}, "holidays", "the limit is 400"},
		"a year of holidays":   {tenancy.Settings{"working_zone": zone, "working_hours": hours, "holidays": year[:390]}, "holidays", "no working minute for 366 days"},
		"a file that is none":  {tenancy.Settings{"holidays_file": "eA=="}, "holidays_file", "must begin with BEGIN:VCALENDAR"},
		"not base64":           {tenancy.Settings{"holidays_file": "BEGIN:VCALENDAR"}, "holidays_file", "not base64"},
		"a file and days":      {tenancy.Settings{"holidays_file": icalendar("20261224"), "holidays": []string{}}, "holidays_file", "give one of the two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.in.Check(models.Environment{})
			p := problem.As(err)
			require.NotNil(t, p)
			require.Len(t, p.Fields, 1)
			require.Equal(t, c.field, fmt.Sprint(p.Fields[0].Loc[1]))
			require.Contains(t, p.Fields[0].Msg, c.rule)
		})
	}
}

// A configuration file may have the calendar file: it is compared by its days.
func TestCanonicalHolidaysOfAFile(t *testing.T) {
	t.Parallel()
	require.Equal(t, tenancy.Settings{"holidays": []any{"2026-12-24"}, "working_hours": []any{"sat 09:00-12:00"}},
		tenancy.Canonical(tenancy.Settings{"holidays_file": icalendar("20261224"), "working_hours": []any{"SAT 9:00-12:00"}}))
}
