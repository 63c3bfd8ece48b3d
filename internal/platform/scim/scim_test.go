package scim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/scim"
)

func TestPathologicalFiltersEndAtOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"brackets that never close": strings.Repeat("(", 8) + strings.Repeat("not (", 1) + "a eq 1",
		"nested brackets":           strings.Repeat("(", 8) + "a eq 1" + strings.Repeat(")", 7),
		"nested value paths":        strings.Repeat("a[", 8) + "b eq 1",
		"a chain":                   strings.TrimSuffix(strings.Repeat("a pr and ", 110), " and ") + " (",
		"brackets within a text":    `a eq "` + strings.Repeat("(", 900) + `" x`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan error, 1)
			go func() {
				_, err := scim.ParseFilter(text)
				done <- err
			}()
			select {
			case err := <-done:
				require.Error(t, err)
			case <-time.After(30 * time.Second):
				require.Fail(t, "the parser does not end")
			}
		})
	}
}

func TestFilterOfTextWithBracketsIsRead(t *testing.T) {
	t.Parallel()
	f, err := scim.ParseFilter(`displayName eq "((((((((((\"["`)
	require.NoError(t, err)
	require.Equal(t, "displayname", f.Comparison.Attribute)
}

func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{`userName eq "ann"`, `emails[type eq "work" and value co "@"] or not (active eq false)`, `a.b pr`, `(((`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := scim.ParseFilter(text)
		require.True(t, parsed != nil || err != nil)
	})
}

func FuzzPatch(f *testing.F) {
	f.Add(`name.givenName`, "x")
	f.Add(`members[value eq "a"]`, "y")
	f.Add(scim.SchemaEnterprise+":manager", "z")
	f.Fuzz(func(t *testing.T, path, value string) {
		operations, err := scim.NewPatch(map[string]any{"Operations": []any{map[string]any{"op": "Add", "path": path, "value": value}}})
		if err != nil {
			return
		}
		if u, err := (scim.User{UserName: "ann"}).Patched(operations); err == nil {
			require.NotEmpty(t, u.UserName)
		}
		_, _, _ = scim.Group{DisplayName: "leads"}.Patched(operations)
	})
}
