package lists

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"DE89 3704 0044\t0532 0130 00": "de89370400440532013000",
		"Groß & Söhne":                 "gross&söhne",
		"Gross & So\u0308hne":          "gross&söhne",
		"ACME\u200b GmbH\u00ad":        "acmegmbh",
		"ＡＣＭＥ":                         "acme",
		"\u3000x\ufe0f":                "x",
		" \u200b\n":                    "",
		"\u13a0\uab70":                 "\uab70\uab70",
	} {
		require.Equal(t, want, canonical.Normal(given), "%q", given)
	}
}

// Case, white space and invisible characters never make a difference, and a normal form is its own.
func TestNormalIgnoresCaseAndSpace(t *testing.T) {
	t.Parallel()
	ignored := []rune{' ', '\t', '\n', '\u00a0', '\u2003', '\u3000', '\u200b', '\u200d', '\u2060', '\ufeff', '\u00ad', '\ufe0f', '\u034f'}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		normal := canonical.Normal(value)
		require.Equal(t, normal, canonical.Normal(normal))
		require.False(t, strings.ContainsFunc(normal, unicode.IsSpace))

		ascii := rapid.StringMatching(`[A-Za-z0-9]{1,30}`).Draw(t, "ascii")
		var written strings.Builder
		for _, r := range ascii {
			for _, space := range rapid.SliceOfN(rapid.SampledFrom(ignored), 0, 2).Draw(t, "ignored") {
				written.WriteRune(space)
			}
			if rapid.Bool().Draw(t, "upper") {
				r = unicode.ToUpper(r)
			}
			written.WriteRune(r)
		}
		require.Equal(t, strings.ToLower(ascii), canonical.Normal(written.String()))
	})
}

// A value has a prefix exactly if its normal form begins with that of the entry, however both are written.
func TestIBANPrefixes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		iban := rapid.StringMatching(`[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}`).Draw(t, "iban")
		entry := rapid.StringMatching(`[A-Z]{2}([0-9]|[0-9]{2}[A-Z0-9]{0,30})?`).Draw(t, "entry")
		if rapid.Bool().Draw(t, "of it") {
			entry = iban[:rapid.IntRange(2, len(iban)).Draw(t, "length")]
		}
		require.Empty(t, fault(models.ListIBANPrefix, entry))
		want := strings.HasPrefix(iban, entry)
		written := spaced(t, iban)
		keys := forms(models.ListIBANPrefix, written)
		require.Equal(t, want, slices.Contains(keys, canonical.Normal(spaced(t, entry))), "%q begins with %q", written, entry)
		require.LessOrEqual(t, len(keys), maxIBAN)
		require.True(t, slices.IsSortedFunc(keys, func(a, b string) int { return len(b) - len(a) }), "the longest first")
	})
}

// spaced writes a value in groups and in one case or the other.
func spaced(t *rapid.T, value string) string {
	var out strings.Builder
	for i, r := range value {
		if i%4 == 0 {
			out.WriteString(rapid.SampledFrom([]string{"", " ", "\u00a0"}).Draw(t, "space"))
		}
		out.WriteRune(r)
	}
	if rapid.Bool().Draw(t, "lower") {
		return strings.ToLower(out.String())
	}
	return out.String()
}

func TestCountries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[A-Z]{2}`).Draw(t, "a"), rapid.StringMatching(`[A-Z]{2}`).Draw(t, "b")
		require.Empty(t, fault(models.ListCountry, spaced(t, a)))
		require.Equal(t, a == b, slices.Equal(forms(models.ListCountry, spaced(t, a)), forms(models.ListCountry, spaced(t, b))))
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  models.ListKind
		value string
		ok    bool
	}{
		"text":                     {models.ListText, "Groß & Söhne", true},
		"nothing":                  {models.ListText, " \u200b", false},
		"a control character":      {models.ListText, "a\x00b", false},
		"the longest":              {models.ListText, strings.Repeat("é", 256), true},
		"longer":                   {models.ListText, strings.Repeat("é", 257), false},
		"longer as it is compared": {models.ListText, strings.Repeat("ﷺ", 20), false}, // each is 15 letters
		"a country":                {models.ListCountry, "de", true},
		"a name of a country":      {models.ListCountry, "Germany", false},
		"a range of addresses":     {models.ListCountry, "10.0.0.0/8", false},
		"a country of an IBAN":     {models.ListIBANPrefix, "DE", true},
		"a bank":                   {models.ListIBANPrefix, "DE89 3704 0044", true},
		"a bank without a country": {models.ListIBANPrefix, "37040044", false},
		"one letter":               {models.ListIBANPrefix, "D", false},
		"longer than an IBAN":      {models.ListIBANPrefix, "DE89" + strings.Repeat("1", 31), false},
	} {
		require.Equal(t, c.ok, fault(c.kind, c.value) == "", name)
	}
	require.Empty(t, forms(models.ListIBANPrefix, "é"), "not within a character")
	require.Empty(t, forms(models.ListText, strings.Repeat("x", 257)))
	require.Equal(t, "de", forms(models.ListIBANPrefix, "DE-"+strings.Repeat("x", 300))[0], "however long a value is, it begins as it does")
}

// An entry is removed, exported or erased by its whole value: a value that begins with it is a different one.
func TestEntriesAreFoundByTheirWholeValue(t *testing.T) {
	t.Parallel()
	text, banks, countries := models.List{ID: "text", Kind: models.ListText}, models.List{ID: "banks", Kind: models.ListIBANPrefix}, models.List{ID: "countries", Kind: models.ListCountry}
	for value, want := range map[string]map[string][]string{
		"user-1":                         {"text": {"user-1"}},
		"us_4711":                        {"text": {"us_4711"}},
		"US":                             {"text": {"us"}},
		"DE-89 3704":                     {"text": {"de-893704"}},
		"DE89 3704 0044 0532 0130 00":    {"text": {"de89370400440532013000"}, "banks": {"de89370400440532013000"}},
		"DE89" + strings.Repeat("1", 40): {"text": {"de89" + strings.Repeat("1", 40)}},
		"\u0661ab\u2800":                 {"text": {"1ab", "\u0661ab\u2800"}}, // version 1.0.0 stored the second
		strings.Repeat("ﷺ", 100):         {},
	} {
		got, err := Vault{}.Keys([]models.List{text, banks, countries}, value)
		require.NoError(t, err)
		require.Equal(t, want, got, value)
	}
	for value, want := range map[string][]string{"DE-89": nil, "DE": {"de"}, "user-1": nil, "de89 3704": {"de893704"}} {
		keys, err := Vault{}.wholeKeys(banks, value)
		require.NoError(t, err)
		require.Equal(t, want, keys, value)
	}
}
