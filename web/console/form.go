package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// kind is the control that a field has.
type kind string

const (
	oneLine   kind = "line"
	longText  kind = "text"
	number    kind = "number"
	duration  kind = "duration" // a number of seconds, written as 90 s, 15 min, 8 h or 3 days
	choice    kind = "choice"
	someOf    kind = "some"  // checkboxes
	yesNo     kind = "yesno" // one checkbox
	lines     kind = "lines" // a list with one item on each line
	moment    kind = "time"  // in UTC
	clockTime kind = "clock" // HH:MM
	jsonText  kind = "json"
	picture   kind = "file" // sent in base64
	pems      kind = "pem"  // a list of certificates, one after the other
	ruleList  kind = "rules"
)

// option is one choice of a field.
type option struct{ Value, Label string }

// options returns choices whose values are their labels.
func options(values ...string) []option {
	out := make([]option, len(values))
	for i, v := range values {
		out[i] = option{v, v}
	}
	return out
}

// field is one field of a form.
type field struct {
	// Name is the path of the value in the body of the API's operation, such as "brand.accent". The empty name is the whole body.
	Name        string
	Label, Hint string
	Kind        kind
	Value       string
	Chosen      []string  // of someOf
	Options     []option  // of choice and someOf
	Rules       []ruleRow // of ruleList
	Heading     string    // of the fields from this one on
	Default     string    // value of a new environment; empty if it has no default
	Rows        int       // of a text area
	Required    bool
	AllOmitted  bool // of someOf: all options are the default, and left out
	Sent        bool // an empty value is sent, and clears the setting; otherwise it is left out
	Local       bool // the console reads it, and the body does not have it
	Faults      []string
	was         string // value before the user's form was read
	had         []string
}

// Control returns the id of the control.
func (f field) Control() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// Omittable reports whether the user may leave an empty field as it is. A field with a value in force is not marked as optional.
func (f field) Omittable() bool { return !f.Required && !f.Sent && f.Default == "" && f.Value == "" }

// HeadingID returns the id of the heading.
func (f field) HeadingID() string { return f.Control() + "-from" }

// Usually returns the default as it is shown.
func (f field) Usually() string {
	if f.Kind == yesNo {
		return map[string]string{"true": "on", "false": "off"}[f.Default]
	}
	return f.Default
}

// Described returns the ids of the texts that describe the control.
func (f field) Described() string {
	var out []string
	if f.Hint != "" || f.Default != "" {
		out = append(out, f.Control()+"-hint")
	}
	if len(f.Faults) > 0 {
		out = append(out, f.Control()+"-fault")
	}
	return strings.Join(out, " ")
}

// Picked reports whether an option is chosen.
func (f field) Picked(value string) bool {
	if f.Kind == choice {
		return f.Value == value
	}
	for _, c := range f.Chosen {
		if c == value {
			return true
		}
	}
	return false
}

// Checked reports whether the checkbox is.
func (f field) Checked() bool { return f.Value == "true" }

// form is a page with a form whose body is the body of an operation of the API.
type form struct {
	Operation string // empty if no operation of the API does this
	Section   string // of the navigation
	Heading   string
	Intro     string
	Notice    *notice
	To        string // URL that it is submitted to
	Back      item   // where the user came from
	Other     item   // a different form for the same; empty for none
	Submit    string // label of the button
	Confirmed bool   // asks for the passkey
	Second    bool   // the change waits for a second approver
	Multipart bool
	Locked    bool // the user may read the values and not change them
	Partial   bool // only changed values are sent
	Fields    []field
	Asks      []ask    // further changes, below the form
	Faults    []string // of the whole form
	Builder   string   // URL of the rule builder; empty without one
	Matches   string   // URL that says how many decisions a rule matches
}

// Headings returns the fields that begin a part of the form.
func (f form) Headings() []field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(one field) bool { return one.Heading == "" })
}

// wrong is a fault of a form with the link to its control; an empty URL is the whole form.
type wrong struct{ URL, Text string }

// Wrongs returns all faults in the order of the page.
func (f form) Wrongs() []wrong {
	var out []wrong
	for _, text := range f.Faults {
		out = append(out, wrong{"", text})
	}
	for _, one := range f.Fields {
		for _, text := range one.Faults {
			out = append(out, wrong{"#" + one.Control(), text})
		}
		for _, r := range one.Rules {
			out = append(out, r.wrongs()...)
		}
	}
	return out
}

func (v *visit) showForm(status int, f form) error {
	return v.page(status, "form.html", f.Heading, f.Section, f)
}

// submitted decodes the user's form into the body of the operation and checks it against the contract, as the API does, and hands
// it to act. A refusal is shown at the fields that it names.
func submitted[T any](v *visit, f form, act func(in T) error) error {
	f.read(v)
	in, err := decoded[T](v.console, &f)
	if err == nil {
		err = act(in)
	}
	p := problem.As(err)
	if p == nil || p.Code == problem.NotFound || problem.Of(p.Code).Status >= http.StatusInternalServerError {
		return err
	}
	f.blame(p)
	request.SetProblemCode(v.Ctx, p.Code)
	return v.showForm(problem.Of(p.Code).Status, f)
}

// decoded returns the values of a form as the body of its operation.
func decoded[T any](c *console, f *form) (T, error) {
	var in T
	body, err := f.body()
	if err != nil {
		return in, err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return in, err
	}
	if f.Operation != "" {
		value, err := strictjson.Decode(raw, strictjson.Limits{})
		if err != nil {
			return in, problem.New(problem.MalformedJSON, err.Error())
		}
		if found := c.contract.ValidateBody(f.Operation, value); len(found) > 0 {
			fields := make([]problem.Field, len(found))
			for i, fault := range found {
				fields[i] = problem.Field(fault)
			}
			return in, problem.InvalidFields(fields)
		}
	}
	return in, json.Unmarshal(raw, &in)
}

// blame shows a refusal at the fields that it names, and the rest above the form.
func (f *form) blame(p *problem.Error) {
	for _, fault := range p.Fields {
		switch at := f.at(fault.Loc); {
		case at != nil && at.Kind == ruleList:
			at.blameRule(fault)
		case at != nil:
			at.Faults = append(at.Faults, at.people(fault))
		default:
			f.Faults = append(f.Faults, strings.Join(namesOf(fault.Loc), ".")+": "+fault.Msg)
		}
	}
	if len(p.Fields) == 0 {
		f.Faults = append(f.Faults, p.Detail)
	}
}

// people returns a refusal in the words of the form: its label for the path of the value, and an example for a pattern. What is wrong
// inside of a value of several lines keeps its path.
func (f field) people(fault problem.Field) string {
	if _, why, found := strings.Cut(fault.Msg, `": line `); found {
		return "Line " + why
	}
	if strings.Join(namesOf(fault.Loc), ".") != f.Name || f.Name == "" {
		return fault.Msg
	}
	label := f.Label
	if n, ok := fault.Loc[len(fault.Loc)-1].(int); ok && f.Kind == lines {
		label += ", line " + itoa(n+1) + ","
	}
	_, rest, _ := strings.Cut(fault.Msg, " ")
	switch {
	case fault.Type == "missing", strings.HasPrefix(rest, "must have at least 1 "):
		return label + " is missing. Fill it in."
	case fault.Type == "string_pattern_mismatch":
		return strings.TrimSpace(label + " is not written as it must be. " + f.Hint)
	case strings.HasPrefix(rest, "must "):
		return label + " " + strings.TrimSuffix(rest, ".") + "."
	default:
		return fault.Msg
	}
}

// namesOf returns the names of a location in a body, without the positions of list items.
func namesOf(loc []any) []string {
	var out []string
	for i, part := range loc {
		if name, ok := part.(string); ok && (i > 0 || name != "body") {
			out = append(out, name)
		}
	}
	return out
}

// at returns the field with the longest name that contains a location; nil if none does.
func (f *form) at(loc []any) *field {
	names := namesOf(loc)
	for n := len(names); n >= 0; n-- {
		name := strings.Join(names[:n], ".")
		for i := range f.Fields {
			if f.Fields[i].Name == name {
				return &f.Fields[i]
			}
		}
	}
	return nil
}
