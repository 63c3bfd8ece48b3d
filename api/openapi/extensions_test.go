package openapi_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/contract-extensions.md lists the extensions, all of them and nothing else.
func TestExtensionsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/contract-extensions.md")
	require.NoError(t, err)
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `([A-Z]+ /[^`]*)` \\|").FindAllStringSubmatch(string(raw), -1) {
		listed[m[1]] = m[2]
	}
	want := map[string]string{}
	for _, op := range contract(t).Operations() {
		if op.Extension {
			want[op.ID] = op.Method + " " + op.Path
		}
	}
	require.Equal(t, want, listed)
}
