package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// glossaryWords are the words that this project does not use, each with what to write instead. CONTRIBUTING.md shows the same
// list. A word that the field itself uses in another sense is not here: the list holds what can be decided by the word alone.
var glossaryWords = []struct{ pattern, instead string }{
	{`answers|answered`, "returns, responds; a response"},
	{`tells?|told`, "receives, records, notifies, reports"},
	{`whoever|somebody|nobody|everybody|anybody`, "the caller, the user, no one; or drop it"},
	{`(is|are) what|what is wanted|what may be set`, "name the thing"},
	{`away|not there|just now`, "unavailable, missing"},
	{`where (there|it|none|no|nothing|one)`, "if, when"},
	{`another one|the one before`, "a different key, the previous version"},
	{`the day on which|for good|on purpose`, "drop it, or say the reason"},
	{`doors?|story|stories|walks?`, "endpoint, entry point, timeline, traversal"},
	{`lends?|lent|leases?|leased`, "reserve"},
	{`proofing|poked|beneath`, "signing keys, notified, underlying"},
}

var glossaryPattern = func() *regexp.Regexp {
	words := make([]string, 0, len(glossaryWords))
	for _, w := range glossaryWords {
		words = append(words, w.pattern)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
}()

// proseExtensions are the files that are read as a whole; of Go files only comments and string literals are.
var proseExtensions = []string{".md", ".yaml", ".yml", ".html", ".ts", ".mjs", ".sh", ".css"}

// glossary finds words of the list in comments, messages and documents.
func glossary(files []string) (string, []finding, error) {
	found, err := search(files, func(line string) []string {
		var notes []string
		for _, word := range glossaryPattern.FindAllString(line, -1) {
			notes = append(notes, fmt.Sprintf("%q: %s", word, insteadOf(word)))
		}
		return notes
	})
	return fmt.Sprintf("%d words of the glossary left", len(found)), found, err
}

// citationPattern matches the names of documents that are not in the repository: a reader cannot follow them.
var citationPattern = regexp.MustCompile(`\b(DESIGN|SPEC|FINDINGS|STYLE|FIELD)(\.md)?\b`)

// citations finds references to documents that are not in the repository.
func citations(files []string) (string, []finding, error) {
	found, err := search(files, func(line string) []string { return citationPattern.FindAllString(line, -1) })
	return fmt.Sprintf("%d references to documents that are not in the repository", len(found)), found, err
}

// search runs match over every line of prose: comments and string literals of Go files, and documents as a whole.
func search(files []string, match func(line string) []string) ([]finding, error) {
	var found []finding
	for _, f := range files {
		if generated(f) {
			continue
		}
		texts, err := prose(f)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			for i, line := range strings.Split(t.text, "\n") {
				for _, note := range match(line) {
					found = append(found, finding{f, t.line + i, note})
				}
			}
		}
	}
	return found, nil
}

// generated reports whether a file is not written by hand, or may not change: a migration is applied as it was released.
func generated(file string) bool {
	for _, part := range []string{"testdata/", "node_modules/", "/dist/", "/static/", "tools/style/", "models/migrations/", "package-lock.json"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return strings.HasSuffix(file, ".gen.go") || file == "sdk/js/src/server/contract.ts" || file == "sdk/js/src/features/tables.ts"
}

// passage is a piece of prose and the line it begins on.
type passage struct {
	line int
	text string
}

func prose(file string) ([]passage, error) {
	if strings.HasSuffix(file, ".go") {
		return proseOfGo(file)
	}
	if !slices.Contains(proseExtensions, filepath.Ext(file)) && filepath.Base(file) != "Makefile" {
		return nil, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // a file that git lists
	if filepath.Ext(file) == ".md" {
		text = codeSpan.ReplaceAll(text, []byte("``"))
	}
	return []passage{{1, string(text)}}, err
}

// codeSpan matches `code` within one line of Markdown: names and quoted words, which are not prose.
var codeSpan = regexp.MustCompile("`[^`\n]+`")

func proseOfGo(file string) ([]passage, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []passage
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			out = append(out, passage{set.Position(c.Pos()).Line, c.Text})
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		// A literal without a space is a value, such as the name of a user or of a JSON field, and not prose.
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
			out = append(out, passage{set.Position(lit.Pos()).Line, lit.Value})
		}
		return true
	})
	return out, nil
}

func insteadOf(word string) string {
	for _, w := range glossaryWords {
		if regexp.MustCompile(`(?i)^(` + w.pattern + `)$`).MatchString(word) {
			return w.instead
		}
	}
	return ""
}
