package display

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

// Annotation is the keyword of a context_schema that says how a value is shown.
const Annotation = "x-countersign-display"

// Bounds of what one request shows. A page with more is not read, and a longer value is cut with its length stated.
const (
	MaxDetails = 12
	MaxLabel   = 64  // characters
	MaxValue   = 256 // characters
)

// Format is how a value is written.
type Format string

// The formats. Each applies to strings; money and number also to JSON numbers.
const (
	Text     Format = "text"
	Money    Format = "money"    // an exact decimal amount with the minor units of its ISO 4217 currency
	Number   Format = "number"   // an exact decimal with its thousands separated
	Date     Format = "date"     // RFC 3339 full-date
	DateTime Format = "datetime" // RFC 3339 date-time, shown in UTC
	Account  Format = "account"  // an IBAN in groups of four; any other account number as it is
	Masked   Format = "masked"   // its last four characters
)

var formats = []Format{Text, Money, Number, Date, DateTime, Account, Masked}

// Rule shows one value.
type Rule struct {
	Path         []string // property names from the context down; nil for the resource's id
	Label        string
	Format       Format
	Currency     string   // ISO 4217 code, if it is the same for every request
	CurrencyPath []string // otherwise the property that holds it
	Order        int      // 1 to 99; 0 is after all others
}

// Plan lists the fields that an action shows, in order. The zero value shows nothing.
type Plan struct{ rules []Rule }

// Empty reports whether nothing is shown.
func (p Plan) Empty() bool { return len(p.rules) == 0 }

// Fault is an annotation that cannot be used.
type Fault struct {
	Place string // JSON pointer into the schema
	Why   string
}

// Error implements error.
func (f *Fault) Error() string { return "context_schema" + f.Place + ": " + f.Why }

// annotation is the value of the keyword.
type annotation struct {
	Label    string `json:"label"`
	Format   Format `json:"format"`
	Currency string `json:"currency"`
	Order    int    `json:"order"`
}

// Parse reads the annotations of a context_schema. They count on the properties of objects, reached by "properties" alone, and
// on the schema's root, where they describe the resource; an annotation anywhere else is a Fault, for it would silently show
// nothing.
func Parse(schema []byte) (Plan, error) {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return Plan{}, err
	}
	found := &collector{}
	if err := found.object(root, "", nil); err != nil {
		return Plan{}, err
	}
	if count(root) != len(found.rules) {
		return Plan{}, &Fault{"", Annotation + " is read on the schema itself and on properties of objects, not inside other keywords"}
	}
	if len(found.rules) > MaxDetails {
		return Plan{}, &Fault{"", fmt.Sprintf("at most %d values can be shown, and %d have %s", MaxDetails, len(found.rules), Annotation)}
	}
	slices.SortStableFunc(found.rules, byOrder)
	return Plan{found.rules}, nil
}

// byOrder puts rules with an order first, then amounts, then the resource, then the rest by the names of their properties: an
// object of JSON has no order of its own.
func byOrder(a, b Rule) int {
	rank := func(r Rule) int {
		switch {
		case r.Order > 0:
			return r.Order
		case r.Format == Money:
			return 100
		case r.Path == nil:
			return 101
		default:
			return 102
		}
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return slices.Compare(a.Path, b.Path)
}

type collector struct{ rules []Rule }

// object collects from a schema and the properties below it. place is its JSON pointer, path its property names.
func (c *collector) object(schema any, place string, path []string) error {
	fields, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if raw, given := fields[Annotation]; given {
		if err := c.add(raw, place+"/"+Annotation, path); err != nil {
			return err
		}
	}
	properties, _ := fields["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		below := append(slices.Clone(path), name)
		if err := c.object(properties[name], place+"/properties/"+escape(name), below); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) add(raw any, place string, path []string) error {
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	var a annotation
	if err := json.Unmarshal(text, &a); err != nil {
		return &Fault{place, `must be an object such as {"label": "Amount", "format": "money", "currency": "/currency"}`}
	}
	if why := a.fault(); why != "" {
		return &Fault{place, why}
	}
	r := Rule{Path: path, Label: a.Label, Format: a.Format, Order: a.Order}
	if strings.HasPrefix(a.Currency, "/") {
		r.CurrencyPath = split(a.Currency)
	} else {
		r.Currency = a.Currency
	}
	c.rules = append(c.rules, r)
	return nil
}

// fault returns the rule that the annotation breaks; empty if it breaks none.
func (a annotation) fault() string {
	switch {
	case a.Label == "" || utf8.RuneCountInString(a.Label) > MaxLabel:
		return fmt.Sprintf("label must have 1 to %d characters", MaxLabel)
	case displaytext.Fault(a.Label) != "":
		return "label must not contain " + displaytext.Fault(a.Label)
	case !slices.Contains(formats, a.Format):
		return fmt.Sprintf("format must be one of %s", join(formats))
	case a.Order < 0 || a.Order > 99:
		return "order must be 1 to 99"
	case a.Format == Money && a.Currency == "":
		return `currency is required for money: an ISO 4217 code, or a JSON pointer into the context such as "/currency"`
	case a.Format != Money && a.Currency != "":
		return "currency is for the format money"
	case a.Currency != "" && !strings.HasPrefix(a.Currency, "/") && !knownCurrency(a.Currency):
		return "currency must be an ISO 4217 code in capitals, or a JSON pointer that begins with /"
	default:
		return ""
	}
}

// count counts the annotations of a document, wherever they are. What is under "const", "enum", "default" and "examples" is
// a value and not a schema.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for name, item := range v {
			switch name {
			case Annotation:
				n++
			case "const", "enum", "default", "examples":
			default:
				n += count(item)
			}
		}
	}
	return n
}

// escape writes a property name as a step of a JSON pointer; split reads a pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func split(pointer string) []string {
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return steps
}

func join(list []Format) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}
