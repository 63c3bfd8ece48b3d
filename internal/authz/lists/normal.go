package lists

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// The forms of normal values.
var (
	country    = regexp.MustCompile(`^[a-z]{2}$`)
	ibanPrefix = regexp.MustCompile(`^[a-z]{2}([0-9]|[0-9]{2}[a-z0-9]{0,30})?$`)
)

// maxIBAN is the length of the longest IBAN.
const maxIBAN = 34

// fault says why a list of a kind cannot have a value; empty if it can.
func fault(kind models.ListKind, value string) string {
	normal := canonical.Normal(value)
	switch {
	case normal == "" || max(utf8.RuneCountInString(value), utf8.RuneCountInString(normal)) > maxText:
		return fmt.Sprintf("value must have 1 to %d characters that are not white space", maxText)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "value must not contain control characters"
	case kind == models.ListCountry && !country.MatchString(normal):
		return "value must be a country of two letters, such as DE"
	case kind == models.ListIBANPrefix && !ibanPrefix.MatchString(normal):
		return "value must be the beginning of an IBAN: a country of two letters, two digits and letters or digits, such as DE8937040044"
	}
	return ""
}

// exact returns the forms under which an entry with this value may be stored, today's first; none if no entry can have it.
func exact(value string) []string {
	return slices.DeleteFunc(canonical.Forms(value), func(form string) bool { return form == "" || utf8.RuneCountInString(form) > maxText })
}

// forms returns the normal forms of entries that a value is found by, the longest first.
func forms(kind models.ListKind, value string) []string {
	if kind != models.ListIBANPrefix {
		return exact(value)
	}
	normal := canonical.Normal(value)
	var out []string
	// An IBAN has ASCII only: whatever else a value has begins no entry.
	for n := min(len(normal), maxIBAN); n >= 2; n-- {
		if ibanPrefix.MatchString(normal[:n]) {
			out = append(out, normal[:n])
		}
	}
	return out
}
