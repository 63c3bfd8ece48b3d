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
	var found []finding
	for _, f := range files {
		if generated(f) {
			continue
		}
		of, err := wordsIn(f)
		if err != nil {
			return "", nil, err
		}
		found = append(found, of...)
	}
	return fmt.Sprintf("%d words of the glossary left", len(found)), found, nil
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

func wordsIn(file string) ([]finding, error) {
	if strings.HasSuffix(file, ".go") {
		return wordsInGo(file)
	}
	if !slices.Contains(proseExtensions, filepath.Ext(file)) && filepath.Base(file) != "Makefile" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return wordsOf(file, 1, string(text)), nil
}

func wordsInGo(file string) ([]finding, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			found = append(found, wordsOf(file, set.Position(c.Pos()).Line, c.Text)...)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			found = append(found, wordsOf(file, set.Position(lit.Pos()).Line, lit.Value)...)
		}
		return true
	})
	return found, nil
}

func wordsOf(file string, first int, text string) []finding {
	var found []finding
	for i, line := range strings.Split(text, "\n") {
		for _, word := range glossaryPattern.FindAllString(line, -1) {
			found = append(found, finding{file, first + i, fmt.Sprintf("%q: %s", word, insteadOf(word))})
		}
	}
	return found
}

func insteadOf(word string) string {
	for _, w := range glossaryWords {
		if regexp.MustCompile(`(?i)^(` + w.pattern + `)$`).MatchString(word) {
			return w.instead
		}
	}
	return ""
}
