package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

// Detail is one line that a person sees, with what a page needs to write it in the reader's language. The digest of the display
// covers all of it.
type Detail struct {
	Label  string `json:"label"`
	Value  string `json:"value"` // at most MaxValue characters
	Format Format `json:"format"`
	// Canonical is the value without the conventions of any language: 1250.50 EUR, 2026-11-02, or an IBAN without spaces. It is empty
	// for the other formats, and for a value that does not fit its format.
	Canonical string `json:"canonical,omitempty"`
	// Labels are the label in other languages, by their tags.
	Labels map[string]string `json:"labels,omitempty"`
	// Title marks the value that names the request, such as the payee of a payment.
	Title bool `json:"title,omitempty"`
}

// Digest is the digest of details in their canonical form, "sha256:" and 64 hex digits.
func Digest(details []Detail) (string, error) { return canonical.Digest(details) }

// Details returns what a request shows, in the plan's order. A value that the request leaves out, or that is null, is left out. The
// context is a JSON object.
func (p Plan) Details(resourceID string, context []byte) ([]Detail, error) {
	if p.Empty() {
		return nil, nil
	}
	values := map[string]any{}
	if len(context) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(context))
		decoder.UseNumber() // the digits that were sent, not the nearest float
		if err := decoder.Decode(&values); err != nil {
			return nil, fmt.Errorf("details of a context: %w", err)
		}
	}
	var out []Detail
	for _, r := range p.rules {
		value, given := any(resourceID), true
		if r.Path != nil {
			value, given = annotation.Lookup(values, r.Path)
		}
		if !given || value == nil {
			continue
		}
		plain := plainText(value)
		text, canonical := r.text(plain, values)
		shown := displaytext.Readable(text)
		if r.Format == Masked { // what its end is read as depends on the rest
			shown = masked(plain)
		}
		out = append(out, Detail{
			Label: r.Label, Value: bounded(shown), Format: r.Format, Canonical: canonical, Labels: r.Labels, Title: r.Title,
		})
	}
	return out, nil
}

// text writes a value in its rule's format, and in its canonical form if there is one. A value that does not fit the format is written
// as it was sent: it is still what will be carried out, and the person has to see it.
func (r Rule) text(plain string, context map[string]any) (text, canonical string) {
	switch r.Format {
	case Money:
		return money(plain, r.currency(context))
	case Number:
		return grouped(plain, 0)
	case Date:
		if t, err := time.Parse(time.DateOnly, plain); err == nil && t.Year() > 0 { // browsers show the year 0 as the year 1 before Christ
			return t.Format("2 January 2006"), plain
		}
	case DateTime:
		if t, err := apitime.Parse(plain); err == nil && t.UTC().Year() > 0 {
			return t.Format("2 January 2006, 15:04:05 UTC"), t.UTC().Format(time.RFC3339)
		}
	case Account:
		return account(plain)
	case Masked, Text:
	}
	return plain, ""
}

func (r Rule) currency(context map[string]any) string {
	if r.CurrencyPath == nil {
		return r.Currency
	}
	value, _ := annotation.Lookup(context, r.CurrencyPath)
	code, _ := value.(string)
	return code
}

// plainText is a string as it is, and any other value as JSON.
func plainText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// altered matches a value that is cut, or that shows characters by their numbers.
var altered = regexp.MustCompile(`\[(U\+[0-9A-F]{4,6}|0x[0-9A-F]{2})\]|… \(\d+ characters\)$`)

// Sent reports whether the value is the request's. White space in an account number does not count.
func (d Detail) Sent() bool {
	return (d.Format == Text || d.Format == Account) && !altered.MatchString(d.Value)
}

// masked shows the last four characters as a person reads them, and of a short value less, so that most of it stays hidden.
func masked(s string) string {
	const shown = 4
	return "•••• " + displaytext.ReadableEnd(s, min(shown, utf8.RuneCountInString(s)/3))
}

// bounded cuts a value that is too long and says how long it was.
func bounded(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= MaxValue {
		return s
	}
	end := fmt.Sprintf("… (%d characters)", n)
	return string([]rune(s)[:MaxValue-utf8.RuneCountInString(end)]) + end
}
