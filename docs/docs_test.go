// Package docs_test checks the documentation: links resolve, every page is in the index, the tests and identifiers that a page
// names exist, and the drawing of the rooms matches the imports.
package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages returns the paths of all Markdown files that are checked.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md", "../deploy/*/*.md", "../devstack/*.md", "../sdk/*/*.md", "../sdk/*/*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		all = append(all, found...)
	}
	require.NotEmpty(t, all)
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence   = regexp.MustCompile("(?s)```.*?```")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
)

const repository = "https://github.com/countersign-dev/countersign/blob/main/"

func TestLinksResolve(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			file := filepath.Join(filepath.Dir(page), target)
			if own, ok := strings.CutPrefix(target, repository); ok { // as in a README that a registry shows
				file = filepath.Join("..", own)
			} else if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if target == "" {
				file = page
			}
			body, err := os.ReadFile(file)
			if err != nil {
				_, err = os.Stat(file) // the link may name a folder
			}
			require.NoError(t, err, "%s links to %s", page, m[1])
			if anchor != "" && strings.HasSuffix(file, ".md") {
				require.Contains(t, anchors(string(body)), anchor, "%s links to %s", page, m[1])
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns the ids that GitHub derives from a page's headings.
func anchors(text string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		plain := notInAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		ids[strings.ReplaceAll(strings.TrimSpace(plain), " ", "-")] = true
	}
	return ids
}

// TestSecurityPageNamesExistingTests checks that every kind of mistake and every line of the checklist names tests, and that each is in the
// package that the line names.
func TestSecurityPageNamesExistingTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("security.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^\| (\d+) \|.*\|$`).FindAllString(string(text), -1)
	require.Len(t, lines, 51)
	_, kinds, found := strings.Cut(string(text), "| kind | what excludes it | tests |\n|---|---|---|\n")
	require.True(t, found)
	kinds, _, _ = strings.Cut(kinds, "\n\n")
	lines = append(lines, strings.Split(kinds, "\n")...)
	named := regexp.MustCompile("`([a-z0-9/-]+)`((?: (?:Test|Fuzz)[A-Za-z0-9_]+,?)+)")
	for _, line := range append(lines, string(text)[strings.Index(string(text), "## Beyond the list"):]) {
		found := named.FindAllStringSubmatch(strings.ReplaceAll(line, "\n ", ""), -1)
		if !strings.Contains(line, ".goreleaser.yaml") { // checked by the release configuration it names
			require.NotEmpty(t, found, line)
		}
		for _, m := range found {
			sources := testsOf(t, m[1])
			for _, name := range strings.Fields(strings.ReplaceAll(m[2], ",", " ")) {
				require.True(t, strings.Contains(sources, "func "+name+"("), "%s has no %s", m[1], name)
			}
		}
	}
}

// TestDocumentationHasASize checks that the documentation stays as long as it is, and that pages of 1.1 have at most 1,800 words each.
func TestDocumentationHasASize(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.LessOrEqual(t, len(pages), 36)
	words := map[string]int{}
	all := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		words[page] = len(strings.Fields(string(text)))
		all += words[page]
	}
	require.LessOrEqual(t, all, 85_000)
	for _, page := range []string{"comparison.md", "estate.md", "gate.md", "holds.md", "mcp.md", "where-it-fits.md"} {
		require.Positive(t, words[page], page)
		require.LessOrEqual(t, words[page], 1800, page)
	}
}

var namedTest = regexp.MustCompile("[ `](Test[A-Z][A-Za-z0-9_]+)")

// TestPagesNameExistingTests checks that every test that a page names is somewhere in the repository.
func TestPagesNameExistingTests(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".data") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // our own tree
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			declared[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
			require.True(t, declared[m[1]], "%s names %s, which does not exist", page, m[1])
		}
	}
}

func testsOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no tests in %s", folder)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// TestPackagesHaveTheVersion checks that everything that a release contains has the version of the file VERSION.
func TestPackagesHaveTheVersion(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../VERSION")
	require.NoError(t, err)
	version := strings.TrimSpace(string(raw))
	for file, line := range map[string]string{
		"../sdk/js/package.json": `"version": "%s"`,
		"../sdk/js/package-lock.json": `"name": "@countersign/sdk",
  "version": "%s"`,
		"../sdk/go/mcpgate/go.mod":                "countersign/sdk/go v%s\n",
		"../sdk/go/protect/fibergate/go.mod":      "countersign/sdk/go v%s\n",
		"../deploy/kubernetes/kustomization.yaml": `newTag: "%s"`,
		"../deploy/helm/countersign/Chart.yaml":   `appVersion: "%s"`,
		"../docs/sdks.md":                         "countersign-sdk-%s.tgz",
		"../sdk/python/pyproject.toml":            "\nversion = \"%s\"",
		"../sdk/java/pom.xml":                     "<artifactId>countersign</artifactId>\n  <version>%s</version>",
		"../sdk/java/README.md":                   "<version>%s</version>",
		"../sdk/java/spring/pom.xml":              "<artifactId>countersign-spring-boot-starter</artifactId>\n  <version>%s</version>",
		"../sdk/java/spring/README.md":            "<version>%s</version>",
		"../CHANGELOG.md":                         "\n## [%s] - 20",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), fmt.Sprintf(strings.ReplaceAll(line, `\n`, "\n"), version), file)
	}
}

// A tag of an action can be moved to other code; a commit cannot.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses:.*$`), regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v[\d.]+$`)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range uses.FindAllString(string(raw), -1) {
			require.Regexp(t, pinned, line, file)
		}
	}
}
