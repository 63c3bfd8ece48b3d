package main

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

var importedAt = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func loadText(t *testing.T, name, text string) ([]countersign.NamedListAdded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return loadEntries(path, "country", importedAt)
}

func TestEntriesOfAFile(t *testing.T) {
	t.Parallel()
	expires := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	want := []countersign.NamedListAdded{{Value: "KP", Reason: "Sanctions, all."}, {Value: "ir", Reason: "=Reported.", ExpiresAt: &expires}}
	for name, c := range map[string]struct{ file, text string }{
		"CSV":                    {"a.csv", "value,reason,expires_at\nKP,\"Sanctions, all.\",\nir,=Reported.,2027-01-01T00:00:00Z\n"},
		"CSV of a spreadsheet":   {"a.csv", "\ufeffreason,id,value,expires_at\r\n\"Sanctions, all.\",1,KP,\r\n'=Reported.,2,ir,2027-01-01T01:00:00+01:00\r\n"},
		"JSON lines":             {"a.jsonl", `{"value": "KP", "reason": "Sanctions, all."}` + "\n\n" + `{"value": "ir", "reason": "=Reported.", "expires_at": "2027-01-01T00:00:00Z"}`},
		"an export of a console": {"a.jsonl", `{"id": "lse_1", "value": "KP", "reason": "Sanctions, all.", "expires_at": null}` + "\n" + `{"value": "ir", "reason": "=Reported.", "expires_at": "2027-01-01T00:00:00.000Z"}` + "\n" + `{"export": "complete", "rows": 2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := loadText(t, c.file, c.text)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestEveryWrongLineOfAFileIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"all at once": {"a.csv", "value,reason,expires_at\nGermany,Known.,\nDE,,\nFR,Known.,2001-01-01T00:00:00Z\nIT,Known.,soon\nAT,Known.,\na t,Known.,\n", []string{
			"line 2: value must be a country", "line 3: reason must have 1 to 256 characters", "line 4: expires_at must be in the future",
			"line 5: expires_at must be an RFC 3339 time", "line 7: value is that of line 6",
		}},
		"a line with more fields":   {"a.csv", "value,reason\nDE,Known.,x\nFR\n", []string{"line 2: wrong number of fields", "line 3: wrong number of fields"}},
		"lines within a value":      {"a.csv", "value,reason\n\"D\nE\",Known.\nXXX,Known.\n", []string{"line 2: value must not contain control characters", "line 4: value must be a country"}},
		"an open quote":             {"a.csv", "value,reason\n\"DE,Known.\n", []string{"line 2: "}},
		"Latin-1":                   {"a.csv", "value,reason\nDE,Known.\nAT,\xd6sterreich\nFR,\x80\n", []string{"line 3: reason is not UTF-8: save the file as UTF-8", "line 4: reason is not UTF-8"}},
		"a header in Latin-1":       {"a.csv", "value,reason,\xfc\nDE,Known.,\n", []string{"line 1: the file is not UTF-8"}},
		"JSON lines in Latin-1":     {"a.jsonl", "{\"value\": \"DE\", \"reason\": \"\xd6\"}\n", []string{"line 1: "}},
		"no header":                 {"a.csv", "DE,Known.\n", []string{"line 1: the first line must name the columns"}},
		"an unknown column":         {"a.csv", "value,reason,note\n", []string{`line 1: column "note" is unknown`}},
		"a column twice":            {"a.csv", "value,reason,value\n", []string{`line 1: column "value" is unknown or there twice`}},
		"an empty file":             {"a.csv", "", []string{"line 1: EOF"}},
		"lines that are no objects": {"a.jsonl", "\n[]\n{\"value\": 5, \"reason\": \"r\"}\n{\"valu\": \"DE\"}\n{", []string{"line 2: the line must be an object", "line 3: value must be a string", `line 4: property "valu" is unknown`, "line 5: "}},
		"a property twice":          {"a.jsonl", `{"value": "DE", "value": "FR", "reason": "r"}`, []string{"line 1: "}},
		"another format":            {"a.xlsx", "", []string{"must end in .csv or .jsonl"}},
		"very many":                 {"a.csv", "value,reason\n" + strings.Repeat("Germany,Known.\n", 102), []string{"line 101: ", "and 2 more lines"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := loadText(t, c.file, c.text)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAnExportCanBeImported(t *testing.T) {
	t.Parallel()
	expires := importedAt.Add(time.Hour)
	entries := []countersign.NamedListEntry{
		{ID: "lse_1", Value: "DE", Reason: "-1", AddedAt: importedAt, AddedBy: "cli:ada"}, {ID: "lse_2", Value: "FR", Reason: "a \"b\"", ExpiresAt: &expires, AddedAt: importedAt},
	}
	var all iter.Seq2[countersign.NamedListEntry, error] = func(yield func(countersign.NamedListEntry, error) bool) {
		for e := range slices.Values(entries) {
			if !yield(e, nil) {
				return
			}
		}
	}
	for _, format := range []string{csvFile, linesFile} {
		var out bytes.Buffer
		require.NoError(t, writeEntries(&out, format, all))
		got, err := loadText(t, "export."+format, out.String())
		require.NoError(t, err)
		require.Equal(t, []countersign.NamedListAdded{{Value: "DE", Reason: "-1"}, {Value: "FR", Reason: "a \"b\"", ExpiresAt: &expires}}, got)
	}
}
