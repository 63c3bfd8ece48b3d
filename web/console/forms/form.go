// Package forms shows forms whose bodies are those of operations of the API, and reads and checks what the user submits.
package forms

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Kind is the control that a field has.
type Kind string

// The kinds of field: how it is shown and filled in.
const (
	OneLine   Kind = "line"
	LongText  Kind = "text"
	Number    Kind = "number"
	Duration  Kind = "duration" // a number of seconds, written as 90 s, 15 min, 8 h or 3 days
	Choice    Kind = "choice"
	SomeOf    Kind = "some"  // checkboxes
	YesNo     Kind = "yesno" // one checkbox
	Lines     Kind = "lines" // a list with one item on each line
	Moment    Kind = "time"  // in UTC
	ClockTime Kind = "clock" // HH:MM
	JsonText  Kind = "json"
	Picture   Kind = "file" // sent in base64
	Pems      Kind = "pem"  // a list of certificates, one after the other
	Composed  Kind = "part" // several controls
)

// part is a field of several controls, which reads them and finds the fault of each by itself.
type part interface {
	Read(v *shell.Visit)
	Values() (any, []problem.Field)
	Blame(fault problem.Field) bool // false if the fault is the whole field's
	Wrongs() []Wrong
}

// Option is one choice of a field.
type Option struct{ Value, Label string }

// Options returns choices whose values are their labels.
func Options(values ...string) []Option {
	out := make([]Option, len(values))
	for i, v := range values {
		out[i] = Option{v, v}
	}
	return out
}

// Field is one field of a form.
type Field struct {
	// Name is the path of the value in the body of the API's operation, such as "brand.accent". The empty name is the whole body.
	Name        string
	Label, Hint string
	Kind        Kind
	Value       string
	Chosen      []string // of someOf
	Options     []Option // of choice and someOf
	Part        part     // of composed
	Heading     string   // of the fields from this one on
	Default     string   // value of a new environment; empty if it has no default
	Rows        int      // of a text area
	Accept      string   // of a picture: the kinds of files, if it is none but another file; empty for a PNG
	File        bool     // of a text area: a file can be chosen in its place, which the browser reads
	Required    bool
	MaxLength   *int // of a text, in characters; nil for no limit
	AllOmitted  bool // of someOf: all options are the default, and left out
	Sent        bool // an empty value is sent, and clears the setting; otherwise it is left out
	Local       bool // the console reads it, and the body does not have it
	Faults      []string
	was         string // value before the user's form was read
	had         []string
}

// Control returns the id of the control.
func (f Field) Control() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// Omittable reports whether the user may leave an empty field as it is. A field with a value in force is not marked as optional, nor is a choice,
// which has an option for that.
func (f Field) Omittable() bool {
	return !f.Required && !f.Sent && f.Default == "" && f.Value == "" && f.Kind != Choice
}

// HeadingID returns the id of the heading.
func (f Field) HeadingID() string { return f.Control() + "-from" }

// Usually returns the default as it is shown.
func (f Field) Usually() string {
	if f.Kind == YesNo {
		return map[string]string{"true": "on", "false": "off"}[f.Default]
	}
	return f.Default
}

// Described returns the ids of the texts that describe the control.
func (f Field) Described() string {
	var out []string
	if f.Hint != "" || f.Default != "" {
		out = append(out, f.Control()+"-hint")
	}
	if len(f.Faults) > 0 {
		out = append(out, f.Control()+"-fault")
	}
	return strings.Join(out, " ")
}

// Height returns the rows of a text area: an empty one is low.
func (f Field) Height() int {
	if f.Rows == 0 || f.Value == "" {
		return 2
	}
	return f.Rows
}

// Wide reports whether the field takes the whole width of a form of several columns.
func (f Field) Wide() bool {
	return f.Height() > 6 || f.Kind == LongText || f.Kind == SomeOf && len(f.Options) > 3
}

// Picked reports whether an option is chosen.
func (f Field) Picked(value string) bool {
	if f.Kind == Choice {
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
func (f Field) Checked() bool { return f.Value == "true" }

// Form is a page with a form whose body is the body of an operation of the API.
type Form struct {
	Operation string // empty if no operation of the API does this
	Section   string // of the navigation
	Heading   string
	Intro     string
	Notice    *show.Notice
	To        string    // URL that it is submitted to
	Back      show.Item // where the user came from
	Other     show.Item // a different form for the same; empty for none
	Submit    string    // label of the button
	Confirmed bool      // asks for the passkey
	Second    bool      // the change waits for a second approver
	Multipart bool
	Locked    bool // the user may read the values and not change them
	Partial   bool // only changed values are sent
	Fields    []Field
	Omits     []string // properties of the operation's body that the form leaves out
	Asks      []Ask    // further changes, below the form
	Faults    []string // of the whole form
	Builder   string   // URL of the rule builder; empty without one
	Matches   string   // URL that says how many decisions a rule matches
}

// Headings returns the fields that begin a part of the form.
func (f Form) Headings() []Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(one Field) bool { return one.Heading == "" })
}

// Wrong is a fault of a form with the link to its control; an empty URL is the whole form.
type Wrong struct{ URL, Text string }

// Wrongs returns all faults in the order of the page.
func (f Form) Wrongs() []Wrong {
	var out []Wrong
	for _, text := range f.Faults {
		out = append(out, Wrong{"", text})
	}
	for _, one := range f.Fields {
		for _, text := range one.Faults {
			out = append(out, Wrong{"#" + one.Control(), text})
		}
		if one.Part != nil {
			out = append(out, one.Part.Wrongs()...)
		}
	}
	return out
}

// Show writes the page of a form.
func Show(v *shell.Visit, status int, f Form) error {
	f.Derive(v.Shell.Contract)
	return v.Page(status, "form.html", f.Heading, f.Section, f)
}

// Submitted decodes the user's form into the body of the operation and checks it against the contract, as the API does, and hands
// it to act. A refusal is shown at the fields that it names.
func Submitted[T any](v *shell.Visit, f Form, act func(in T) error) error {
	f.Derive(v.Shell.Contract)
	f.Read(v)
	in, err := decoded[T](v.Shell, &f)
	if err == nil {
		err = act(in)
	}
	p := problem.As(err)
	if p == nil || p.Code == problem.NotFound || problem.Of(p.Code).Status >= http.StatusInternalServerError {
		return err
	}
	f.Blame(p)
	request.SetProblemCode(v.Ctx, p.Code)
	return Show(v, problem.Of(p.Code).Status, f)
}

// decoded returns the values of a form as the body of its operation.
func decoded[T any](c *shell.Shell, f *Form) (T, error) {
	in := wire.New[T]()
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
		if found := c.Contract.ValidateBody(f.Operation, value); len(found) > 0 {
			fields := make([]problem.Field, len(found))
			for i, fault := range found {
				fields[i] = problem.Field(fault)
			}
			return in, problem.InvalidFields(fields)
		}
	}
	return in, json.Unmarshal(raw, &in)
}

// Blame shows a refusal at the fields that it names, and the rest above the form.
func (f *Form) Blame(p *problem.Error) {
	for _, fault := range p.Fields {
		switch at := f.at(fault.Loc); {
		case at != nil && at.Part != nil && at.Part.Blame(fault):
		case at != nil:
			at.Faults = append(at.Faults, at.InWords(fault))
		default:
			f.Faults = append(f.Faults, strings.Join(NamesOf(fault.Loc), ".")+": "+fault.Msg)
		}
	}
	if len(p.Fields) == 0 {
		f.Faults = append(f.Faults, p.Detail)
	}
}

// InWords returns a refusal in the words of the form: its label for the path of the value, and an example for a pattern. What is wrong
// inside of a value of several lines keeps its path.
func (f Field) InWords(fault problem.Field) string {
	if _, why, found := strings.Cut(fault.Msg, `": line `); found {
		return "Line " + why
	}
	if strings.Join(NamesOf(fault.Loc), ".") != f.Name || f.Name == "" {
		return fault.Msg
	}
	label := f.Label
	if n, ok := fault.Loc[len(fault.Loc)-1].(int); ok && f.Kind == Lines {
		label += ", line " + strconv.Itoa(n+1) + ","
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

// NamesOf returns the names of a location in a body, without the positions of list items.
func NamesOf(loc []any) []string {
	var out []string
	for i, part := range loc {
		if name, ok := part.(string); ok && (i > 0 || name != "body") {
			out = append(out, name)
		}
	}
	return out
}

// at returns the field with the longest name that contains a location; nil if none does.
func (f *Form) at(loc []any) *Field {
	names := NamesOf(loc)
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
