package forms

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/web/console/show"
)

// kinds are the controls of the types of the contract. Values of other types are written as JSON.
var kinds = map[string]Kind{"string": OneLine, "integer": Number, "number": Number, "boolean": YesNo}

// longText is the number of characters from which a text has several lines.
const longText = 300

// Derive completes a form by the contract of its operation: kinds, choices, limits and what is required are those of the schema, and a property that no
// field has becomes one, below the others. The form declares labels, their order, and what it omits.
func (f *Form) Derive(c *openapi.Contract) {
	if f.Operation == "" || slices.ContainsFunc(f.Fields, func(one Field) bool { return one.Name == "" && !one.Local }) {
		return // the whole body is one field
	}
	for i := range f.Fields {
		if p, known := c.Property(f.Operation, f.Fields[i].Name); known && !f.Fields[i].Local {
			f.Fields[i].derive(p)
		}
	}
	for _, p := range c.Properties(f.Operation) {
		if !slices.Contains(f.Omits, p.Name) && !slices.ContainsFunc(f.Fields, func(one Field) bool {
			name, _, _ := strings.Cut(one.Name, ".")
			return name == p.Name
		}) {
			one := Field{Name: p.Name, Label: show.Capital(show.Plain(p.Name)), Hint: p.Description}
			one.derive(p)
			if one.Kind == YesNo && !f.Partial && strings.HasPrefix(f.Operation, "update") {
				continue // its present value is not known, and a box that is not checked would be sent
			}
			f.Fields = append(f.Fields, one)
		}
	}
}

// derive fills in what the field does not declare.
func (f *Field) derive(p openapi.Property) {
	if f.Kind == "" {
		f.Kind = kindOf(p)
	}
	if f.Kind == Choice && len(f.Options) == 0 {
		if !p.Required {
			f.Options = append(f.Options, Option{"", "as it is"})
		}
		f.Options = append(f.Options, Options(p.Enum...)...)
	}
	f.Required = f.Required || p.Required && f.Kind != YesNo && f.Kind != SomeOf && f.Kind != Composed
	if f.Kind == OneLine || f.Kind == LongText {
		f.MaxLength = p.MaxLength
	}
	if f.Kind == Number && f.Hint == "" && p.Minimum != "" && p.Maximum != "" {
		f.Hint = p.Minimum + " to " + p.Maximum + "."
	}
}

func kindOf(p openapi.Property) Kind {
	switch {
	case len(p.Enum) > 0:
		return Choice
	case p.Format == "date-time":
		return Moment
	case p.Type == "array" && p.Items == "string":
		return Lines
	case p.Type == "string" && p.MaxLength != nil && *p.MaxLength >= longText:
		return LongText
	}
	if kind, simple := kinds[p.Type]; simple {
		return kind
	}
	return JsonText
}
