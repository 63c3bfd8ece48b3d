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
