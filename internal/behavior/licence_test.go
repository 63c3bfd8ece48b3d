package behavior_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// root is the repository.
const root = "../.."

// restricted matches what a model, a table or a package says if it was made of recordings with terms: a source file's digest, a licence
// that excludes commercial use, or packed recordings.
var restricted = regexp.MustCompile(`"non_commercial":\s*true|"sources":\s*\[\s*\{\s*"sha256"|CC BY-NC|cs-tables-1\b`)

// Files that ship: in the binary, in the packages for relying parties, or in a clone. Tests and recorded histories are not data.
func TestNoShippedFileDerivesFromRestrictedRecordings(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == "node_modules" || name == "bin") {
			return filepath.SkipDir
		}
		require.NotRegexp(t, `\.(csv|csv\.gz|pkl|npz)$`, name, "recordings are never committed")
		data := strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".ts") || strings.HasSuffix(name, ".js")
		if d.IsDir() || !data || strings.HasSuffix(name, ".test.ts") || strings.Contains(path, "workflows/testdata") {
			return nil
		}
		body, err := os.ReadFile(path) // #nosec G122 -- a checkout, in a test
		if err != nil {
			return err
		}
		seen++
		require.Falsef(t, restricted.Match(body), "%s: %q", path, restricted.Find(body))
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 20)
}

func TestModelAndTablesAreStated(t *testing.T) {
	t.Parallel()
	for _, c := range scoring.Default().Cards() {
		require.False(t, c.NonCommercial)
		require.Empty(t, c.Sources)
		require.Zero(t, c.People)
	}
	var tables map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(features.CollectorTables(), &tables))
	for name, value := range tables {
		switch name {
		case "version", "codes", "clip":
		case "hold", "pp", "rp":
			var number float64
			require.NoError(t, json.Unmarshal(value, &number), "one number for all keys")
		default:
			t.Errorf("the tables have %q: name their origin in docs/background.md", name)
		}
	}
}

func TestPackagesSayWhatTheModelIsMadeOf(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"README.md", "NOTICE", "sdk/js/README.md", "docs/background.md"} {
		body, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		require.Contains(t, strings.Join(strings.Fields(string(body)), " "), "no recordings", path)
	}
}
