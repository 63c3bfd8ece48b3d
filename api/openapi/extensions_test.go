package openapi_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// docs/contract.md must list exactly the extensions.
func TestExtensionsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/contract.md")
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

// It must list every field that is marked as an extension as well.
func TestExtensionFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Extension bool `json:"x-countersign-extension"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &document))
	var marked []string
	for schema, s := range document.Components.Schemas {
		for name, p := range s.Properties {
			if p.Extension {
				marked = append(marked, name+" of "+schema)
				require.Regexp(t, "(?m)^\\|[^|]*`"+name+"`[^|]*\\| "+schema+" \\|", string(raw))
			}
		}
	}
	require.Len(t, marked, 32, "of %v", marked)
}
