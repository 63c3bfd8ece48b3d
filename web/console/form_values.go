package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// read fills in what the user submitted.
func (f *form) read(v *visit) {
	for i := range f.Fields {
		one := &f.Fields[i]
		name := one.input()
		one.was, one.had = one.Value, one.Chosen
		switch one.Kind {
		case someOf:
			one.Chosen = v.all(name)
		case yesNo:
			one.Value = strconv.FormatBool(v.form(name) == "true")
		case picture:
			one.Value = v.upload(name)
		case ruleList:
			one.readRules(v)
		case oneLine, longText, number, duration, choice, lines, pems, moment, clockTime, jsonText:
			// Browsers submit line breaks as CRLF.
			one.Value = strings.ReplaceAll(v.form(name), "\r\n", "\n")
		}
	}
}

// Input returns the name of the control: a control without a name is not submitted.
func (f field) Input() string { return f.input() }

func (f field) input() string {
	if f.Name == "" {
		return "body"
	}
	return f.Name
}

// all returns the values of a field that is submitted several times.
func (v *visit) all(name string) []string {
	return request.FormOf(v.Ctx).Values(name)
}

// upload returns an uploaded file in base64; empty if there is none.
func (v *visit) upload(name string) string {
	return base64.StdEncoding.EncodeToString(request.FormOf(v.Ctx).File(name))
}

// body returns the values of the form as a JSON object. Values that no body can have are refused at their fields.
func (f *form) body() (any, error) {
	out := map[string]any{}
	var faults []problem.Field
	for _, one := range f.Fields {
		if one.Local {
			continue
		}
		if one.Kind == ruleList {
			list, wrong := one.ruleValues()
			faults = append(faults, wrong...)
			put(out, strings.Split(one.Name, "."), list)
			continue
		}
		value, given, err := one.value()
		if err != nil {
			faults = append(faults, problem.Field{Loc: loc(one.Name), Msg: err.Error(), Type: "value_error"})
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
func (f field) same() bool {
	if f.Kind == lines || f.Kind == pems {
		return slices.Equal(f.items(f.Value), f.items(f.was))
	}
	if f.Kind == duration {
		now, err := seconds(strings.TrimSpace(f.Value))
		before, _ := seconds(f.was) // as it was written
		return err == nil && now == before
	}
	return f.Value == f.was && slices.Equal(f.Chosen, f.had) || f.Kind == picture && f.Value == ""
}

func loc(name string) []any {
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
func (f field) value() (value any, given bool, err error) {
	switch f.Kind {
	case yesNo:
		return f.Value == "true", true, nil
	case someOf:
		if f.AllOmitted {
			return append([]string{}, f.Chosen...), len(f.Chosen) < len(f.Options), nil
		}
		return append([]string{}, f.Chosen...), len(f.Chosen) > 0 || f.Sent, nil
	case lines, pems:
		list := f.items(f.Value)
		return list, len(list) > 0 || f.Sent, nil
	case oneLine, longText, choice, clockTime, picture:
		text := f.Value
		if f.Kind == oneLine {
			text = strings.TrimSpace(text)
		}
		return text, text != "" || f.Sent || f.Required, nil
	case number, duration, moment, jsonText:
		return f.parsed()
	case ruleList: // body reads its rules
	}
	return nil, false, nil
}

// parsed returns a value that not every text is.
func (f field) parsed() (value any, given bool, err error) {
	text := strings.TrimSpace(f.Value)
	if text == "" {
		if f.Required {
			return nil, false, errors.New(f.Label + " is missing. Fill it in.")
		}
		return nil, false, nil
	}
	switch f.Kind {
	case number:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != n || n > 1e15 || n < -1e15 {
			return nil, false, errors.New(f.Label + " must be a number, such as 300.")
		}
		return n, true, nil
	case duration:
		n, err := seconds(text)
		if err != nil {
			return nil, false, errors.New(f.Label + ": write how long, such as 90 s, 15 min, 8 h or 3 days.")
		}
		return n, true, nil
	case moment:
		t, err := formTime(text)
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

// units are the units of a duration, largest first.
var units = []struct {
	name    string
	seconds int
}{{"days", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}

// durationText writes a number of seconds in the largest unit that divides it.
func durationText(n int) string {
	if n == 86400 {
		return "1 day"
	}
	for _, u := range units {
		if n%u.seconds == 0 {
			return itoa(n/u.seconds) + " " + u.name
		}
	}
	return itoa(n)
}

var written = regexp.MustCompile(`^([0-9]{1,9})\s*(s|sec|seconds?|min|minutes?|h|hours?|d|days?)?$`)

// seconds reads what durationText writes. A number alone is seconds.
func seconds(text string) (int, error) {
	parts := written.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, errors.New("no duration")
	}
	n, err := strconv.Atoi(parts[1])
	for _, u := range units {
		if parts[2] != "" && parts[2][0] == u.name[0] {
			n *= u.seconds
		}
	}
	return n, err
}

// items returns the items of a text of a list.
func (f field) items(text string) []string {
	if f.Kind == pems {
		return certificatesOf(text)
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

// certificatesOf returns the certificates of a text. What follows the last of them is an item too, so that it is refused and not lost.
func certificatesOf(text string) []string {
	out := []string{}
	for part := range strings.SplitAfterSeq(text, pemEnd) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// sure refuses a change that cannot be undone unless the user pressed the button that says so.
func (v *visit) sure() error {
	if v.form("sure") != "yes" {
		return problem.New(problem.BadRequest, "sure must be yes: use the button of the page.")
	}
	return nil
}
