package forms

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Window parses two times of datetime-local fields as UTC. A fault is a message for the user.
func Window(since, until string) (from, to *time.Time, fault string) {
	read := func(name, text string) *time.Time {
		if text == "" {
			return nil
		}
		t, err := Time(text)
		if err != nil {
			fault = name + " must be a date, or a date with a time."
			return nil
		}
		return &t
	}
	return read("From", since), read("Until", until), fault
}

// Time parses a time in UTC as a form sends it: a date, to the minute or to the second, with or without Z.
func Time(text string) (time.Time, error) {
	text = strings.TrimSuffix(text, "Z")
	switch len(text) {
	case len("2006-01-02"):
		text += "T00:00:00"
	case len("2006-01-02T15:04"):
		text += ":00"
	}
	return apitime.Parse(text + "Z")
}

// Read fills in what the user submitted.
func (f *Form) Read(v *shell.Visit) {
	for i := range f.Fields {
		one := &f.Fields[i]
		name := one.input()
		one.was, one.had = one.Value, one.Chosen
		switch one.Kind {
		case SomeOf:
			one.Chosen = v.All(name)
		case YesNo:
			one.Value = strconv.FormatBool(v.Form(name) == "true")
		case Picture:
			one.Value = v.Upload(name)
		case Composed:
			one.Part.Read(v)
		case OneLine, LongText, Number, Duration, Choice, Lines, Pems, Moment, ClockTime, JsonText:
			// Browsers submit line breaks as CRLF.
			one.Value = strings.ReplaceAll(v.Form(name), "\r\n", "\n")
		}
	}
}

// Input returns the name of the control: a control without a name is not submitted.
func (f Field) Input() string { return f.input() }

func (f Field) input() string {
	if f.Name == "" {
		return "body"
	}
	return f.Name
}

// body returns the values of the form as a JSON object. Values that no body can have are refused at their fields.
func (f *Form) body() (any, error) {
	out := map[string]any{}
	var faults []problem.Field
	for _, one := range f.Fields {
		if one.Local {
			continue
		}
		if one.Kind == Composed {
			list, wrong := one.Part.Values()
			faults = append(faults, wrong...)
			put(out, strings.Split(one.Name, "."), list)
			continue
		}
		value, given, err := one.value()
		if err != nil {
			faults = append(faults, problem.Field{Loc: Loc(one.Name), Msg: err.Error(), Type: "value_error"})
			continue
		}
		if one.Name == "" {
			return value, nil
		}
		if given && (!f.Partial || !one.same()) {
			put(out, strings.Split(one.Name, "."), value)
		}
	}
	if len(faults) > 0 {
		return nil, problem.InvalidFields(faults)
	}
	return out, nil
}

// same reports whether the user left the value as it was. A picture that is not uploaded again stays.
func (f Field) same() bool {
	if f.Kind == Lines || f.Kind == Pems {
		return slices.Equal(f.items(f.Value), f.items(f.was))
	}
	if f.Kind == Duration {
		now, err := show.ParseDuration(strings.TrimSpace(f.Value))
		before, _ := show.ParseDuration(f.was) // as it was written
		return err == nil && now == before
	}
	return f.Value == f.was && slices.Equal(f.Chosen, f.had) || f.Kind == Picture && f.Value == ""
}

// Loc returns the location of a field in the body, as validation errors name it; the whole body for an empty name.
func Loc(name string) []any {
	out := []any{"body"}
	if name == "" {
		return out
	}
	for part := range strings.SplitSeq(name, ".") {
		out = append(out, part)
	}
	return out
}

func put(to map[string]any, names []string, value any) {
	if len(names) == 1 {
		to[names[0]] = value
		return
	}
	inner, ok := to[names[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		to[names[0]] = inner
	}
	put(inner, names[1:], value)
}

// value returns the field as a JSON value; given is false if it is left out.
func (f Field) value() (value any, given bool, err error) {
	switch f.Kind {
	case YesNo:
		return f.Value == "true", true, nil
	case SomeOf:
		if f.AllOmitted {
			return append([]string{}, f.Chosen...), len(f.Chosen) < len(f.Options), nil
		}
		return append([]string{}, f.Chosen...), len(f.Chosen) > 0 || f.Sent, nil
	case Lines, Pems:
		list := f.items(f.Value)
		return list, len(list) > 0 || f.Sent, nil
	case OneLine, LongText, Choice, ClockTime, Picture:
		text := f.Value
		if f.Kind == OneLine {
			text = strings.TrimSpace(text)
		}
		return text, text != "" || f.Sent || f.Required, nil
	case Number, Duration, Moment, JsonText:
		return f.parsed()
	case Composed: // body reads its part
	}
	return nil, false, nil
}

// parsed returns a value that not every text is.
func (f Field) parsed() (value any, given bool, err error) {
	text := strings.TrimSpace(f.Value)
	if text == "" {
		if f.Required {
			return nil, false, errors.New(f.Label + " is missing. Fill it in.")
		}
		return nil, false, nil
	}
	switch f.Kind {
	case Number:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != n || n > 1e15 || n < -1e15 {
			return nil, false, errors.New(f.Label + " must be a number, such as 300.")
		}
		return n, true, nil
	case Duration:
		n, err := show.ParseDuration(text)
		if err != nil {
			return nil, false, errors.New(f.Label + ": write how long, such as 90 s, 15 min, 8 h or 3 days.")
		}
		return n, true, nil
	case Moment:
		t, err := Time(text)
		if err != nil {
			return nil, false, errors.New(f.Label + " must be a date and a time in UTC, such as 2026-11-21T09:30.")
		}
		return apitime.Time(t), true, nil
	default:
		if _, err := strictjson.Decode([]byte(text), strictjson.Limits{}); err != nil {
			return nil, false, errors.New(f.Label + " is not valid JSON: " + err.Error())
		}
		return json.RawMessage(text), true, nil
	}
}

// items returns the items of a text of a list.
func (f Field) items(text string) []string {
	if f.Kind == Pems {
		return Certificates(text)
	}
	return listOf(text)
}

// listOf returns the lines of a text that are not empty.
func listOf(text string) []string {
	out := []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// pemEnd ends a certificate in PEM.
const pemEnd = "-----END CERTIFICATE-----"

// Certificates returns the certificates of a text. What follows the last of them is an item too, so that it is refused and not lost.
func Certificates(text string) []string {
	out := []string{}
	for part := range strings.SplitAfterSeq(text, pemEnd) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
