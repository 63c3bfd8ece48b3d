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
				if typ = n.Type; fuzzed(typ) {
					return true
				}
			default:
				return true
			}
			if c := counted(typ); c > mostParameters {
				found = append(found, finding{f, set.Position(typ.Pos()).Line, fmt.Sprintf("%s has %d parameters, at most %d", name, c, mostParameters)})
			}
			return true
		})
	}
	return fmt.Sprintf("%d functions have more than %d parameters", len(found), mostParameters), found, nil
}

// fuzzed reports whether a function literal is the body of a test or of a fuzz target, whose parameters are the fuzzed values
// and cannot be grouped.
func fuzzed(typ *ast.FuncType) bool {
	if typ.Params.NumFields() == 0 {
		return false
	}
	pointer, ok := typ.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := pointer.X.(*ast.SelectorExpr)
	return ok && name.Sel.Name == "T"
}

// counted counts the parameters, without the *pg.Q that a statement is run on: it stands where a method has its receiver.
func counted(typ *ast.FuncType) int {
	n := typ.Params.NumFields()
	for _, p := range typ.Params.List {
		pointer, ok := p.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if q, ok := pointer.X.(*ast.SelectorExpr); ok && q.Sel.Name == "Q" {
			n -= len(p.Names)
		}
	}
	return n
}
