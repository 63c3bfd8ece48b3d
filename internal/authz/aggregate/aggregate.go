// Package aggregate selects the values of a request that rules may add up or count, from the annotations
// "x-countersign-aggregate" of an action's context_schema, stores them apart from the decision, and reads what they come to.
//
// An amount is stored as an exact decimal with its currency, a distinct value as a digest under a key of the installation. Nothing
// else of a request is stored here. The package decides nothing: internal/authz/rules evaluates what it reads.
package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// Annotation is the keyword of a context_schema that marks a property by which rules count.
const Annotation = "x-countersign-aggregate"

// Kind is how rules count by a property.
type Kind string

// The kinds.
const (
	Sum      Kind = "sum"      // its amounts are added up
	Distinct Kind = "distinct" // its different values are counted
	// Requests is the kind of a number of requests that have a value. No property is marked with it.
	Requests Kind = "requests"
)

// MaxFields is the maximum number of marked properties of an action: each is a row of each decision.
const MaxFields = 8

// Field is a property of the context by which rules count.
type Field struct {
	Name         string   // its path from the context down, as a condition writes it behind "context."
	Path         []string // the same in steps
	Kind         Kind
	Currency     string   // of an amount that is shown as money, if it is the same for every request
	CurrencyPath []string // otherwise the property that has it
	Label        string   // of a value that is shown, of an amount as one; otherwise empty
}

// InCurrency reports whether the amounts of the field are of a currency, so that sums are of one currency each.
func (f Field) InCurrency() bool { return f.Currency != "" || f.CurrencyPath != nil }

// Plan lists the fields of an action. The zero value has none.
type Plan struct{ fields []Field }

// Empty reports whether there is no field. Most actions have none, and their decisions then write no row.
func (p Plan) Empty() bool { return len(p.fields) == 0 }

// Field returns the field of a name; false if the schema declares none.
func (p Plan) Field(name string) (Field, bool) {
	at := slices.IndexFunc(p.fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return Field{}, false
	}
	return p.fields[at], true
}

// Names returns the names of the fields of a kind.
func (p Plan) Names(kind Kind) []string {
	var out []string
	for _, f := range p.fields {
		if f.Kind == kind {
			out = append(out, f.Name)
		}
	}
	return out
}

// step is a name that a condition can write behind a point.
var step = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// countable are the types of a property that each kind can count by.
var countable = map[Kind][]string{Sum: {"number", "integer", "string"}, Distinct: {"string", "integer", "number", "boolean"}}

// Parse reads the annotations of a context_schema. One that cannot be used is an *annotation.Fault.
func Parse(schema []byte) (Plan, error) {
	found, err := annotation.Find(schema, Annotation)
	if err != nil || len(found) == 0 {
		return Plan{}, err
	}
	shown, err := display.Parse(schema)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	for _, f := range found {
		field := Field{Path: f.Path, Name: strings.Join(f.Path, ".")}
		text, _ := f.Value.(string)
		field.Kind = Kind(text)
		if why := unusable(field, f.Type); why != "" {
			return Plan{}, &annotation.Fault{Place: f.Place, Why: why}
		}
		if field.Kind == Sum {
			field.Label, field.Currency, field.CurrencyPath = shown.AmountOf(f.Path)
		} else if labels := shown.Labels(f.Path); len(labels) == 1 {
			field.Label = labels[0]
		}
		p.fields = append(p.fields, field)
	}
	if len(p.fields) > MaxFields {
		return Plan{}, &annotation.Fault{Why: fmt.Sprintf("at most %d properties can have %s, and %d have it", MaxFields, Annotation, len(p.fields))}
	}
	return p, nil
}

// unusable returns why the annotation cannot be used; empty if it can. The type is that of its property.
func unusable(f Field, typ any) string {
	types := countable[f.Kind]
	switch {
	case types == nil:
		return `must be "sum" or "distinct"`
	case len(f.Path) == 0:
		return "belongs on a property, not on the schema itself"
	case slices.ContainsFunc(f.Path, func(s string) bool { return !step.MatchString(s) }):
		return "the property's name, and those above it, must be letters, digits and _, so that a rule can name it"
	}
	if one, ok := typ.(string); !ok || !slices.Contains(types, one) {
		return fmt.Sprintf("%q needs a property with one type, of %s", f.Kind, strings.Join(types, ", "))
	}
	return ""
}

// Value is the stored part of one field of one request.
type Value struct {
	Field    string
	Currency string // of Amount; empty for an amount without one
	Amount   string // an exact decimal, at least 0; empty if Text is given
	Text     []byte // the canonical JSON of a distinct value
}

// Values returns the values of a context that faults finds no fault with; none of a property that is missing or null.
func (p Plan) Values(context []byte) ([]Value, error) {
	if p.Empty() || len(context) == 0 {
		return nil, nil
	}
	given := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(context))
	decoder.UseNumber() // the digits that were sent
	if err := decoder.Decode(&given); err != nil {
		return nil, fmt.Errorf("aggregated values of a context: %w", err)
	}
	var out []Value
	for _, f := range p.fields {
		value, sent := annotation.Lookup(given, f.Path)
		if !sent || value == nil {
			continue
		}
		v := Value{Field: f.Name}
		if f.Kind == Sum {
			v.Amount = amount(value)
			v.Currency = f.currency(given)
		} else {
			var err error
			if v.Text, err = Text(value); err != nil {
				return nil, err
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// Text returns the form of a distinct value by which it is compared: a text has its normal form, as in lists.
func Text(value any) ([]byte, error) {
	if text, is := value.(string); is {
		value = canonical.Normal(text)
	}
	return canonical.JSON(value)
}

// Texts returns the forms by which a value may have been stored: that of Text, and the text as it was sent, which version 1.0.0 stored.
func Texts(value any) ([][]byte, error) {
	normal, err := Text(value)
	if err != nil {
		return nil, err
	}
	sent, err := canonical.JSON(value)
	if err != nil || bytes.Equal(sent, normal) {
		return [][]byte{normal}, err
	}
	return [][]byte{normal, sent}, nil
}

// ResourceDigests returns the digests under which requests about a resource are counted: first that of the id's normal form, under which
// they are stored, then that of the id as it was sent, under which version 1.0.0 stored them. They are not the digest in proofs.
func ResourceDigests(resourceType, id string) ([]string, error) {
	var out []string
	for _, written := range []string{canonical.Normal(id), id} {
		digest, err := canonical.ResourceDigest(resourceType, written)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, digest) {
			out = append(out, digest)
		}
	}
	return out, nil
}

// Fault is a value that a sum cannot take.
type Fault struct {
	Path []string // of the property, from the context down
	Why  string
}

// Faults returns the amounts of a decoded context that cannot be added up. Such a request is refused: a sum that left its amount out
// would not hold.
func (p Plan) Faults(context map[string]any) []Fault {
	var out []Fault
	for _, f := range p.fields {
		value, sent := annotation.Lookup(context, f.Path)
		if f.Kind != Sum || !sent || value == nil {
			continue
		}
		if amount(value) == "" {
			out = append(out, Fault{f.Path, "must be a decimal number of at least 0, such as 1250.50, with at most 40 digits before the point and 20 after it: rules add it up"})
		} else if f.InCurrency() && !currencyForm.MatchString(f.currency(context)) {
			out = append(out, Fault{f.CurrencyPath, "must be a currency in capitals, such as EUR: rules add up " + f.Name + " by currency"})
		}
	}
	return out
}

var (
	amountForm   = regexp.MustCompile(`^[0-9]{1,40}(\.[0-9]{1,20})?$`)
	currencyForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{2,11}$`)
)

// amount returns a value as an exact decimal; empty if it is no number, or less than 0.
func amount(value any) string {
	switch v := value.(type) {
	case string:
		return amountForm.FindString(v)
	case float64:
		if v == 0 { // also of -0, which is the same number
			return "0"
		}
		return amountForm.FindString(strconv.FormatFloat(v, 'f', -1, 64))
	case json.Number: // the digits that were sent, unless they have an exponent, whose digits nothing bounds, or are too many
		if exact := amountForm.FindString(v.String()); exact != "" {
			return exact
		}
		decoded, err := v.Float64()
		if err != nil {
			return ""
		}
		return amount(decoded)
	default:
		return ""
	}
}

// currency returns the currency of the field's amount in a context; empty if there is none.
func (f Field) currency(context map[string]any) string {
	if f.CurrencyPath == nil {
		return f.Currency
	}
	value, _ := annotation.Lookup(context, f.CurrencyPath)
	text, _ := value.(string)
	return text
}

// CurrencyOf returns the currency of a field's amounts in the context of a request, which has no faults. It returns false if sums in this
// currency are not known, because ISO 4217 does not have it: a request could otherwise begin a sum of its own by inventing a currency.
func (p Plan) CurrencyOf(name string, context map[string]any) (code string, known bool) {
	f, _ := p.Field(name)
	code = f.currency(context)
	return code, !f.InCurrency() || display.KnownCurrency(code)
}
