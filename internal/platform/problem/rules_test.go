package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Every rule that a 422 can name is in the catalogue, which /docs/errors shows, and is no code of a problem.
func TestEveryRuleIsInTheCatalogue(t *testing.T) {
	t.Parallel()
	rules := problem.Rules()
	for rule, meaning := range rules {
		require.Regexp(t, `^[a-z][a-z0-9_]*$`, rule)
		require.Regexp(t, `^[A-Z].*\.$`, meaning, rule)
		require.NotContains(t, problem.Catalogue(), problem.Code(rule), "a code of its own is not repeated as a rule")
	}
	named := map[string]string{}
	for _, folder := range []string{"api", "internal", "web", "workflows", "activities"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			texts := strings.Contains(path, "displaytext") || strings.Contains(path, "strictjson")
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			ast.Inspect(file, func(n ast.Node) bool {
				rule := ruleOf(n)
				if _, constant := n.(*ast.ValueSpec); constant && !texts {
					rule = ""
				}
				if rule == "" && folder == "api" {
					rule = ruleOfKeyword(n)
				}
				if rule != "" {
					named[rule] = path
				}
				return true
			})
			return err
		}))
	}
	require.Greater(t, len(named), 30)
	for rule, path := range named {
		require.Contains(t, rules, rule, "%s names a rule that the catalogue lacks", path)
	}
}

// ruleOf returns the rule that a call or a literal of a violation names; empty if the node is neither.
func ruleOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		switch {
		case slices.Contains([]string{"Invalid", "invalidSchema", "ruleFaults"}, name) && len(n.Args) > 0:
			return literal(n.Args[len(n.Args)-1])
		case name == "wrong" && len(n.Args) > 0:
			return literal(n.Args[0])
		}
	case *ast.ValueSpec: // of a constant
		if strings.HasPrefix(n.Names[0].Name, "Type") || n.Names[0].Name == "FaultType" {
			return ruleOfConstant(n)
		}
	case *ast.CompositeLit:
		return ruleOfLiteral(n)
	}
	return ""
}

// ruleOfConstant returns the rule of a constant that is declared in a package of texts.
func ruleOfConstant(n *ast.ValueSpec) string {
	if len(n.Values) != 1 {
		return ""
	}
	return literal(n.Values[0])
}

// ruleOfKeyword returns the rule of a keyword of the contract that is described there.
func ruleOfKeyword(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ReturnStmt:
		if len(n.Results) == 2 {
			return literal(n.Results[1])
		}
	case *ast.CallExpr:
		if f, is := n.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "add" && len(n.Args) == 3 {
			return literal(n.Args[2])
		}
	}
	return ""
}

// ruleOfLiteral returns the rule of a Field or a Violation.
func ruleOfLiteral(n *ast.CompositeLit) string {
	if of, is := n.Type.(*ast.Ident); is && of.Name == "Violation" && len(n.Elts) == 3 {
		if rule := literal(n.Elts[2]); rule != "" {
			return rule
		}
	}
	parts := map[string]string{}
	for _, e := range n.Elts {
		if pair, is := e.(*ast.KeyValueExpr); is {
			if key, is := pair.Key.(*ast.Ident); is {
				parts[key.Name] = literal(pair.Value)
			}
		}
	}
	if _, has := parts["Msg"]; has {
		return parts["Type"]
	}
	return ""
}

var form = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// literal returns the text of a literal that has the form of a rule.
func literal(e ast.Expr) string {
	lit, is := e.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return ""
	}
	if text, err := strconv.Unquote(lit.Value); err == nil && form.MatchString(text) {
		return text
	}
	return ""
}
