package lists

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/models"
)

// The forms of normal values.
var (
	country    = regexp.MustCompile(`^[a-z]{2}$`)
	ibanPrefix = regexp.MustCompile(`^[a-z]{2}([0-9]|[0-9]{2}[a-z0-9]{0,30})?$`)
)

// maxIBAN is the length of the longest IBAN.
const maxIBAN = 34

// Normal returns the form in which values are compared: without regard to case, white space and invisible characters, and to the
// variants of a character that Unicode calls compatible. Of a few characters only the second round is final, and lower case makes the
// folding of Cherokee final, which swaps its cases.
func Normal(value string) string {
	for range maxRounds {
		next := norm.NFKC.String(strings.ToLower(cases.Fold().String(strings.Map(visible, norm.NFKC.String(value)))))
		if next == value {
			break
		}
		value = next
	}
	return value
}

// maxRounds bounds the work of a value that a request sends.
const maxRounds = 4

// visible drops white space and what is not displayed.
func visible(r rune) rune {
	if unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// fault says why a list of a kind cannot have a value; empty if it can.
func fault(kind models.ListKind, value string) string {
	normal := Normal(value)
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

// forms returns the normal forms of entries that a value is found by, the longest first.
func forms(kind models.ListKind, value string) []string {
	normal := Normal(value)
	if kind != models.ListIBANPrefix {
		if utf8.RuneCountInString(normal) > maxText { // no entry has it
			return nil
		}
		return []string{normal}
	}
	var out []string
	// An IBAN has ASCII only: whatever else a value has begins no entry.
	for n := min(len(normal), maxIBAN); n >= 2; n-- {
		if ibanPrefix.MatchString(normal[:n]) {
			out = append(out, normal[:n])
		}
	}
	return out
}
