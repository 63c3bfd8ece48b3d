package openapi_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// docs/contract.md must list exactly the extensions.
func TestExtensionsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	operations, _, _ := strings.Cut(string(raw), "## Fields")
	var listed, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(operations, -1) {
		listed = append(listed, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	for _, op := range contract(t).Operations() {
		if op.Extension {
			want = append(want, op.ID)
		}
	}
	require.ElementsMatch(t, want, listed)
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
	require.Len(t, marked, 56, "of %v", marked)
}
