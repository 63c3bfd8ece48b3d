package edges_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/integration/edges"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// make reports writes the table for a release.
var out = flag.String("out", "", "file for the table of the contract and its tests, from the root of the repository")

const (
	root  = "../../"
	shown = root + "integration/testdata/shown.json"
)

// The table lists a test for every part of the contract. The test fails if a part has no test or a listed test does not exist.
func TestContractTable(t *testing.T) {
	t.Parallel()
	doc, err := edges.Parse(openapi.Document())
	require.NoError(t, err)
	var seen struct{ Operations, Codes map[string]string }
	raw, err := os.ReadFile(shown)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &seen))
	maps.Copy(seen.Operations, operationsElsewhere)
	maps.Copy(seen.Codes, codesElsewhere)

	source, err := os.ReadFile(root + "integration/schema_boundaries_test.go")
	require.NoError(t, err)
	b := &builder{defaults: string(source)}
	b.line(strings.TrimSpace(preamble))
	b.operations(doc, seen.Operations)
	b.codes(seen.Codes)
	b.limits()
	b.requests(doc)
	b.params(doc)
	b.responses(doc)
	require.Empty(t, b.missing, "nothing shows these; write a test and name it (COUNTERSIGN_TEST_SHOWN=write go test ./integration)")
	for test := range b.tests {
		require.Contains(t, sources(t), "func "+test+"(", "the table lists a test that does not exist")
	}
	if *out != "" {
		require.NoError(t, os.WriteFile(filepath.Join(root, *out), []byte(b.text.String()), 0o600))
	}
}

// sources contains the declarations of all tests of the module.
func sources(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "grep", "-rhoE", "--include=*_test.go", `^func Test[A-Za-z0-9_]+\(`, root+"api", root+"integration", root+"internal").Output()
	require.NoError(t, err)
	return string(out)
}

type builder struct {
	text     strings.Builder
	missing  []string
	tests    map[string]bool
	defaults string // the source of TestDefaultsOfOmittedFields
}

func (b *builder) line(format string, args ...any) { fmt.Fprintf(&b.text, format+"\n", args...) }

func (b *builder) heading(title string, columns ...string) {
	b.line("\n## %s\n", title)
	b.head(columns...)
}

func (b *builder) head(columns ...string) {
	b.line("| %s |", strings.Join(columns, " | "))
	b.line("|%s", strings.Repeat("---|", len(columns)))
}

var testName = regexp.MustCompile(`^Test[A-Za-z0-9_]+`)

// row adds a row with the test in the last cell.
func (b *builder) row(cells ...string) {
	test := cells[len(cells)-1]
	if b.tests == nil {
		b.tests = map[string]bool{}
	}
	if name := testName.FindString(test); name == "" {
		b.missing = append(b.missing, strings.Join(cells, " | "))
	} else {
		b.tests[name] = true
	}
	for i, c := range cells {
		if cells[i] = strings.ReplaceAll(c, "|", `\|`); c == "" {
			b.missing = append(b.missing, strings.Join(cells, " | "))
		}
	}
	cells[len(cells)-1] = "`" + test + "`"
	b.line("| %s |", strings.Join(cells, " | "))
}

func (b *builder) operations(doc *edges.Document, tests map[string]string) {
	b.heading("Operations", "operation", "request", "part", "statuses", "shown by")
	for _, op := range doc.Operations() {
		part := "current"
		switch {
		case op.Extension:
			part = "extension"
		case !strings.HasPrefix(op.Path, "/api/v1") && !strings.HasPrefix(op.Path, "/.well-known"):
			part = "earlier"
		}
		b.row(op.ID, "`"+op.Method+" "+op.Path+"`", part, strings.Trim(fmt.Sprint(op.Statuses), "[]"), tests[op.ID])
	}
}

func (b *builder) codes(tests map[string]string) {
	b.heading("Error codes", "code", "status", "means", "shown by")
	catalogue := problem.Catalogue()
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		b.row("`"+string(code)+"`", fmt.Sprint(catalogue[code].Status), catalogue[code].Title, tests[string(code)])
	}
}

func (b *builder) limits() {
	b.heading("Limits", "scope", "limit", "shown by")
	for _, l := range limits {
		b.row(l[0], l[1], l[2])
	}
}

func (b *builder) requests(doc *edges.Document) {
	b.line("\n## Rules of requests\n\nFor each rule the tests send the running service a value at its edge and one just outside it.\n")
	b.head("schema", "field", "rule", "shown by")
	for _, r := range doc.Requests() {
		test := "TestRequestBoundaryValues/" + r.Name()
		if len(r.Cases) == 0 {
			test = defaults[r.Schema+"."+r.Field]
			if test == "" {
				test = b.byDefaults(r)
			}
		}
		b.row(r.Schema, field(r.Field), r.Text, test)
	}
}

func (b *builder) params(doc *edges.Document) {
	b.heading("Rules of parameters", "in", "name", "operation", "rule", "shown by")
	for _, p := range doc.Params() {
		test := "TestParameterBoundaryValues/" + p.Name()
		if p.Keyword == "default" {
			test = defaults[p.In+"."+p.Param]
		}
		b.row(p.In, "`"+p.Param+"`", p.Operation, p.Text, test)
	}
	b.row("header", "`Idempotency-Key`", "every POST that creates or moves something", "1 to 255 visible ASCII characters", "TestIdempotencyKeyFormat")
	b.row("header", "`X-Service-Research-Optin`", "submitEvidence", "`true` is the same as `research_optin`", defaults["header.X-Service-Research-Optin"])
}

func (b *builder) responses(doc *edges.Document) {
	b.line("\n## Rules of responses\n\nEvery response to an integration test is checked against these rules and may contain no other field. The tests named here")
	b.line("show that a violation of each rule is detected.\n")
	b.head("schema", "field", "rule", "shown by")
	for _, r := range doc.Responses() {
		test := "TestAnswerEdges/" + r.Name()
		if len(r.Cases) == 0 {
			if test = defaults[r.Schema+"."+r.Field]; test == "" {
				test = b.byDefaults(r)
			}
		}
		b.row(r.Schema, field(r.Field), r.Text, test)
	}
}

// byDefaults returns the subtest of TestDefaultsOfOmittedFields that shows a default; empty if there is none.
func (b *builder) byDefaults(r edges.Rule) string {
	name := r.Schema + "/" + r.Field
	if !strings.Contains(b.defaults, `"`+name+`":`) {
		return ""
	}
	return "TestDefaultsOfOmittedFields/" + name
}

func field(name string) string {
	if name == "" {
		return "(the whole body)"
	}
	return "`" + name + "`"
}
