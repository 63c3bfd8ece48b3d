package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mostParameters is how many parameters a function may have; a caller can no longer read a call with more.
const mostParameters = 6

// parameters finds the functions with too many parameters, tests and the SDK's generated code left out.
func parameters(files []string) (string, []finding, error) {
	var found []finding
	for _, f := range files {
		if !strings.HasSuffix(f, ".go") || generated(f) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, f, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			name := "func literal"
			var typ *ast.FuncType
			switch n := n.(type) {
			case *ast.FuncDecl:
				name, typ = n.Name.Name, n.Type
			case *ast.FuncLit:
				typ = n.Type
			default:
				return true
			}
			if c := typ.Params.NumFields(); c > mostParameters {
				found = append(found, finding{f, set.Position(typ.Pos()).Line, fmt.Sprintf("%s has %d parameters, at most %d", name, c, mostParameters)})
			}
			return true
		})
	}
	return fmt.Sprintf("%d functions have more than %d parameters", len(found), mostParameters), found, nil
}
