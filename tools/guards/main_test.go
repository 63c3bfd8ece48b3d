package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// make test-guards runs the tables, which takes minutes. Here they only have to fit the list of guards and the sources.
func TestTablesHaveEachGuardAndFitTheSources(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	guards, err := declared(root)
	require.NoError(t, err)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			edits, err := l.table(root, guards)
			require.NoError(t, err)
			require.Len(t, edits, len(guards))
			known := map[guardKey]bool{}
			for _, g := range guards {
				known[g.key()] = true
			}
			var files map[string]json.RawMessage
			require.NoError(t, read(filepath.Join(root, "sdk", l.name, l.tables), &files))
			for file, raw := range files {
				var names map[string]json.RawMessage
				if json.Unmarshal(raw, &names) != nil {
					continue // a reason for the whole file
				}
				for name := range names {
					require.True(t, known[guardKey{file, name}], "%s/%s is not a guard of the kit", file, name)
				}
			}
		})
	}
}

func TestEntriesOfATable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, guard string
		want        edit
		err         string
	}{
		"an edit":                     {`{"alg":["a.go","old","new"]}`, "alg", edit{replacements: []replacement{{"a.go", "old", "new"}}}, ""},
		"two edits":                   {`{"alg":["a.go","old","new","b.go","c",""]}`, "alg", edit{replacements: []replacement{{"a.go", "old", "new"}, {"b.go", "c", ""}}}, ""},
		"a reason":                    {`{"alg":"the library"}`, "alg", edit{inherent: "the library"}, ""},
		"a reason for the whole file": {`"no lists"`, "alg", edit{inherent: "no lists"}, ""},
		"a word too few":              {`{"alg":["a.go","old"]}`, "alg", edit{}, "no reason"},
		"another guard":               {`{"typ":["a.go","old","new"]}`, "alg", edit{}, "no reason"},
		"no file":                     {``, "alg", edit{}, "no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := entry(json.RawMessage(tc.file), tc.guard)
			require.Equal(t, tc.want, got)
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
		})
	}
}
