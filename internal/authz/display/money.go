package display

import (
	"math/big"
	"regexp"
	"strings"

	"github.com/bojanz/currency"
)

// number matches what is written with grouped digits: at most 30 digits and no exponent that would make it longer.
var number = regexp.MustCompile(`^-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$`)

// KnownCurrency reports whether ISO 4217 has a currency.
func KnownCurrency(code string) bool { return currency.IsValid(code) }

// money writes an exact amount in major units with at least the minor units of its currency: 250 EUR is 250.00 EUR, 250 JPY is
// 250 JPY, and an amount with more decimals than the currency has keeps them, for rounding would show what is not carried out.
func money(amount, code string) (text, canonical string) {
	if code == "" {
		text, _ = grouped(amount, 0)
		return text + " (no currency)", ""
	}
	scale, known := currency.GetDigits(code) // of ISO 4217; 0 for a code that it does not have
	text, canonical = grouped(amount, int(scale))
	if !known || canonical == "" {
		return text + " " + code, ""
	}
	return text + " " + code, canonical + " " + code
}

// Amount writes an exact decimal as a detail does: with the minor units of its currency, or without any if it has none.
func Amount(exact *big.Rat, code string) string {
	digits, _ := exact.FloatPrec()
	text, _ := grouped(exact.FloatString(digits), 0)
	if code != "" {
		text, _ = money(exact.FloatString(digits), code)
	}
	return text
}

// Grouped formats a number with thousands separators; other text is returned unchanged.
func Grouped(text string) string {
	out, _ := grouped(text, 0)
	return out
}

// grouped formats a number with thousands separators and at least that many decimals, and without separators; other text is returned
// unchanged and has no canonical form.
func grouped(text string, decimals int) (grouped, canonical string) {
	if !number.MatchString(text) {
		return text, ""
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return text, ""
	}
	digits, exact := value.FloatPrec()
	if !exact { // a finite decimal always is
		return text, ""
	}
	canonical = value.FloatString(max(digits, decimals))
	whole, fraction, _ := strings.Cut(canonical, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + inThousands(whole) + fraction, canonical
}

func inThousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// account writes an IBAN with a valid checksum in groups of four, as it is printed on statements (ISO 13616); any other account
// number as it is.
func account(s string) (text, canonical string) {
	compact := strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if !isIBAN(compact) {
		return s, ""
	}
	var b strings.Builder
	for i, c := range compact {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String(), compact
}

var iban = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$`)

// isIBAN checks the form and the checksum, which is 1 modulo 97 with the first four characters moved to the end and letters
// written as numbers from 10 (ISO 7064).
func isIBAN(s string) bool {
	if !iban.MatchString(s) {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}
