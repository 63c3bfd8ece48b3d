package tenancy

import (
	"encoding/base64"
	"fmt"
	"maps"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxHolidays is how many days without work an environment has at most: about thirty years of public holidays.
const MaxHolidays = 400

// holidaysFile is a change of holidays by an iCalendar file in base64, whose whole days replace them. It is no setting: the days are.
const holidaysFile = "holidays_file"

// Calendar returns the calendar of an environment; nil if it has none.
func Calendar(of models.Settings) *localtime.Calendar {
	c, err := calendarOf(of)
	if err != nil {
		return nil // checked when it was stored, by the time zones of that version
	}
	return c
}

// calendarOf is Calendar of settings that may be wrong.
func calendarOf(of models.Settings) (*localtime.Calendar, error) {
	refuse := func(field, rule string, at ...any) error {
		return problem.Invalid(append([]any{"body", field}, at...), rule, "value_error")
	}
	c := &localtime.Calendar{Holidays: map[localtime.Date]bool{}}
	var err error
	if of.WorkingZone != "" {
		if c.Zone, err = localtime.Zone(of.WorkingZone); err != nil {
			return nil, refuse("working_zone", fmt.Sprintf("working_zone is %q, which is no name of the IANA time zone database, such as Europe/Berlin.", of.WorkingZone))
		}
	}
	for i, text := range of.Holidays {
		date, err := localtime.ParseDate(text)
		if err != nil {
			return nil, refuse("holidays", "holidays: "+err.Error()+".", i)
		}
		c.Holidays[date] = true
	}
	if len(of.WorkingHours) == 0 {
		return nil, nil
	}
	if c.Zone == nil {
		return nil, refuse("working_zone", "working_zone is empty, and working_hours are given: name the time zone of the hours, such as Europe/Berlin.")
	}
	hours := make([]localtime.Hours, len(of.WorkingHours))
	for i, text := range of.WorkingHours {
		if hours[i], err = localtime.ParseHours(text); err != nil {
			return nil, refuse("working_hours", "working_hours: "+err.Error()+".", i)
		}
	}
	if c.Week, err = localtime.WeekOf(hours); err != nil {
		return nil, refuse("working_hours", "working_hours: "+err.Error()+".")
	}
	if !c.Check() {
		return nil, refuse("holidays", "holidays leave no working minute for 366 days. Remove some, or add working_hours on other days.")
	}
	return c, nil
}

// checkCalendar checks the calendar if in gives a part of it.
func (in Settings) checkCalendar(env *models.Environment) error {
	if !in.has("working_zone") && !in.has("working_hours") && !in.has("holidays") {
		return nil
	}
	if len(env.Holidays) > MaxHolidays {
		return problem.Invalid([]any{"body", "holidays"}, fmt.Sprintf("holidays has %d days; the limit is %d. Leave out past years.", len(env.Holidays), MaxHolidays), "too_long")
	}
	_, err := calendarOf(env.Settings)
	return err
}

// withHolidays returns the change with the days of its iCalendar file as holidays.
func (in Settings) withHolidays() (Settings, error) {
	given, is := in[holidaysFile]
	if !is {
		return in, nil
	}
	refuse := func(rule string) (Settings, error) {
		return in, problem.Invalid([]any{"body", holidaysFile}, "holidays_file: "+rule+".", "value_error")
	}
	if in.has("holidays") {
		return refuse("it replaces holidays; give one of the two")
	}
	text, _ := given.(string)
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return refuse("it is not base64 (RFC 4648, section 4)")
	}
	days, err := localtime.WholeDays(string(file), MaxHolidays)
	if err != nil {
		return refuse(err.Error())
	}
	dates := make([]any, len(days))
	for i, d := range days {
		dates[i] = d.String()
	}
	out := maps.Clone(in)
	delete(out, holidaysFile)
	out["holidays"] = dates
	return out, nil
}

// hoursForm and dateForm are the canonical forms of an item of working_hours and of holidays.
func hoursForm(text string) (string, error) {
	h, err := localtime.ParseHours(text)
	return h.String(), err
}

func dateForm(text string) (string, error) {
	d, err := localtime.ParseDate(text)
	return d.String(), err
}
