package display

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
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

// Standing is the format of the sentence of a standing approval, which no schema gives: its canonical form has the parts of the sentence.
const Standing Format = "standing"

var formats = []Format{Text, Money, Number, Date, DateTime, Account, Masked}

// Rule shows one value.
type Rule struct {
	Path         []string // property names from the context down; nil for the resource's id
	Label        string
	Labels       map[string]string // in other languages, by their tags
	Format       Format
	Currency     string   // ISO 4217 code, if it is the same for every request
	CurrencyPath []string // otherwise the property that holds it
	Order        int      // 1 to 99; 0 is after all others
	Title        bool     // the value that names the request in lists
}

// Plan lists the fields that an action shows, in order. The zero value shows nothing.
type Plan struct{ rules []Rule }

// Empty reports whether nothing is shown.
func (p Plan) Empty() bool { return len(p.rules) == 0 }

// Labels returns the labels of the values at and below a property of the context, which is named from the context down.
func (p Plan) Labels(path []string) []string {
	var out []string
	for _, r := range p.rules {
		if len(r.Path) > 0 && len(r.Path) >= len(path) && slices.Equal(r.Path[:len(path)], path) {
			out = append(out, r.Label)
		}
	}
	return out
}

// AmountOf returns the label of a property that is shown as an amount, and its currency or the property that has it; nothing for any
// other property.
func (p Plan) AmountOf(path []string) (label, currency string, at []string) {
	for _, r := range p.rules {
		if len(r.Path) > 0 && slices.Equal(r.Path, path) && (r.Format == Money || r.Format == Number) {
			return r.Label, r.Currency, r.CurrencyPath
		}
	}
	return "", "", nil
}

// ResourceLabels returns the label of the resource's id; none if it is not shown.
func (p Plan) ResourceLabels() []string {
	var out []string
	for _, r := range p.rules {
		if len(r.Path) == 0 {
			out = append(out, r.Label)
		}
	}
	return out
}

// setting is the value of the keyword.
type setting struct {
	Label    string            `json:"label"`
	Labels   map[string]string `json:"labels"`
	Format   Format            `json:"format"`
	Currency string            `json:"currency"`
	Order    int               `json:"order"`
	Title    bool              `json:"title"`
}

// Parse reads the annotations of a context_schema. On the schema itself an annotation describes the resource. One that cannot
// be used is an *annotation.Fault.
func Parse(schema []byte) (Plan, error) {
	found, err := annotation.Find(schema, Annotation)
	if err != nil {
		return Plan{}, err
	}
	var rules []Rule
	for _, f := range found {
		r, err := rule(f)
		if err != nil {
			return Plan{}, err
		}
		if err := oneTitle(rules, r, f.Place); err != nil {
			return Plan{}, err
		}
		rules = append(rules, r)
	}
	if len(rules) > MaxDetails {
		return Plan{}, &annotation.Fault{Why: fmt.Sprintf("at most %d values can be shown, and %d have %s", MaxDetails, len(rules), Annotation)}
	}
	slices.SortStableFunc(rules, byOrder)
	return Plan{rules}, nil
}

// oneTitle refuses a second value that is marked as the title.
func oneTitle(rules []Rule, next Rule, place string) error {
	if next.Title && slices.ContainsFunc(rules, func(r Rule) bool { return r.Title }) {
		return &annotation.Fault{Place: place, Why: "title can be true for one value only"}
	}
	return nil
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

func rule(f annotation.Found) (Rule, error) {
	text, err := json.Marshal(f.Value)
	if err != nil {
		return Rule{}, err
	}
	var s setting
	if err := json.Unmarshal(text, &s); err != nil {
		return Rule{}, &annotation.Fault{Place: f.Place, Why: `must be an object such as {"label": "Amount", "format": "money", "currency": "/currency"}`}
	}
	if why := s.fault(); why != "" {
		return Rule{}, &annotation.Fault{Place: f.Place, Why: why}
	}
	r := Rule{Path: f.Path, Label: s.Label, Labels: s.Labels, Format: s.Format, Order: s.Order, Title: s.Title}
	if strings.HasPrefix(s.Currency, "/") {
		r.CurrencyPath = annotation.Split(s.Currency)
	} else {
		r.Currency = s.Currency
	}
	return r, nil
}

// fault returns the rule that the annotation breaks; empty if it breaks none.
func (s setting) fault() string {
	if why := labelFault("label", s.Label); why != "" {
		return why
	}
	for _, tag := range slices.Sorted(maps.Keys(s.Labels)) {
		if !IsLanguage(tag) {
			return fmt.Sprintf("labels has %q, which must be a language tag such as de or pt-BR", tag)
		}
		if why := labelFault("labels."+tag, s.Labels[tag]); why != "" {
			return why
		}
	}
	switch {
	case !slices.Contains(formats, s.Format):
		return fmt.Sprintf("format must be one of %s", join(formats))
	case s.Order < 0 || s.Order > 99:
		return "order must be 1 to 99"
	case s.Format == Money && s.Currency == "":
		return `currency is required for money: an ISO 4217 code, or a JSON pointer into the context such as "/currency"`
	case s.Format != Money && s.Currency != "":
		return "currency is for the format money"
	case s.Currency != "" && !strings.HasPrefix(s.Currency, "/") && !KnownCurrency(s.Currency):
		return "currency must be an ISO 4217 code in capitals, or a JSON pointer that begins with /"
	default:
		return ""
	}
}

// IsLanguage reports whether a text is a language tag in its canonical form, such as de or pt-BR.
func IsLanguage(tag string) bool {
	parsed, err := language.Parse(tag)
	return err == nil && parsed.String() == tag
}

func labelFault(name, label string) string {
	switch {
	case label == "" || utf8.RuneCountInString(label) > MaxLabel:
		return fmt.Sprintf("%s must have 1 to %d characters", name, MaxLabel)
	case displaytext.Fault(label) != "":
		return name + " must not contain " + displaytext.Fault(label)
	default:
		return ""
	}
}

func join(list []Format) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}
