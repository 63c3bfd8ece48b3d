package displaytext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

func TestFoldFindsWhatPeopleType(t *testing.T) {
	t.Parallel()
	for typed, shown := range map[string]string{
		"48210":                  "48,210.00 EUR",
		"48.210,00":              "48,210.00 EUR",
		"48 210":                 "48,210.00 EUR",
		"1250,5":                 "1,250.50 EUR",
		"muller":                 "Müller & Söhne",
		"SOHNE":                  "Müller & So\u0308hne",
		"strasse":                "Hauptstraße 4",
		"orsted":                 "Ørsted A/S",
		"DE89370400440532013000": "DE89 3704 0044 0532 0130 00",
		"de89 3704":              "DE89 3704 0044 0532 0130 00",
		"oreilly":                "O’Reilly",
		"acme gmbh":              "ACME-GmbH",
	} {
		require.Contains(t, displaytext.Fold(shown), displaytext.Fold(typed), "%q finds %q", typed, shown)
	}
	require.NotContains(t, displaytext.Fold("Müller"), displaytext.Fold("%"))
	require.Empty(t, strings.TrimSpace(displaytext.Fold(" - ")))
}

// People type a letter with a mark without the mark, or as the two letters that stand for it.
func TestTypedFindsBothSpellings(t *testing.T) {
	t.Parallel()
	for _, shown := range []string{"Müller & Söhne", "Mu\u0308ller & So\u0308hne", "MÜLLER & SÖHNE"} {
		for _, typed := range []string{"muller", "mueller", "Müller", "MUELLER & SOEHNE", "soehne"} {
			require.True(t, displaytext.Type(typed).In(shown), "%q finds %q", typed, shown)
		}
		require.True(t, displaytext.Type("mueller").Begins(shown))
		require.False(t, displaytext.Type("soehne").Begins(shown))
	}
	for typed, shown := range map[string]string{"müller": "Mueller GmbH", "oersted": "Ørsted A/S", "aarhus": "Århus Havn", "strasse": "Hauptstraße 4"} {
		require.True(t, displaytext.Type(typed).In(shown), "%q finds %q", typed, shown)
	}
	require.False(t, displaytext.Type(" - ").In("Müller"), "nothing is left to search for")
	require.False(t, displaytext.Type("maller").In("Müller"))
}
