package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type param struct {
	name, in string
	required bool
	integer  bool
	anyText  bool // x-any-text: any value is valid, including NUL and invalid UTF-8
	schema   *jsonschema.Schema
}

const idempotencyHeader = "Idempotency-Key"

func (op *operation) compileParams(c *jsonschema.Compiler, doc, operation map[string]any) error {
	list, _ := operation["parameters"].([]any)
	for _, p := range list {
		ref := text(p.(map[string]any), "$ref")
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		node := child(child(child(doc, "components"), "parameters"), name)
		sch, err := c.Compile(docURL + ref + "/schema")
		if err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
		out := param{name: text(node, "name"), in: text(node, "in"), required: node["required"] == true, anyText: node["x-any-text"] == true, schema: sch}
		for target := sch; target != nil; target = target.Ref {
			if target.Types != nil {
				out.integer = target.Types.String() == "[integer]"
			}
		}
		if out.name == idempotencyHeader {
			op.Idempotent = true
		}
		op.params = append(op.params, out)
	}
	return nil
}

// ValidateParams checks path and query parameters and returns all violations; nil if there are none. A repeated query parameter is a
// violation, and so is one that an operation under /api/v1 does not define: a filter with a typing error would match everything.
func (c *Contract) ValidateParams(operationID string, path map[string]string, query map[string][]string) []Violation {
	op := c.byID[operationID]
	if op == nil {
		panic("openapi: no operation " + operationID) // the route table and the document differ, which tests catch
	}
	var out []Violation
	for i := range op.params {
		p := &op.params[i]
		switch p.in {
		case "path":
			out = append(out, p.check(path[p.name])...)
		case "query":
			values := query[p.name]
			switch {
			case len(values) == 0 && p.required:
				out = append(out, Violation{Loc: []any{p.in, p.name}, Msg: p.name + " is required", Type: "missing"})
			case len(values) == 1:
				out = append(out, p.check(values[0])...)
			case len(values) > 1:
				out = append(out, Violation{Loc: []any{p.in, p.name}, Msg: p.name + " must be given once", Type: "repeated"})
			}
		}
	}
	if strings.HasPrefix(op.Path, "/api/v1/") {
		out = append(out, op.unknown(query)...)
	}
	return out
}

// unknown returns a violation for each query parameter that the operation does not define.
func (op *operation) unknown(query map[string][]string) []Violation {
	if len(query) == 0 {
		return nil
	}
	var known []string
	for _, p := range op.params {
		if p.in == "query" {
			known = append(known, p.name)
		}
	}
	rule := "this operation has no query parameters"
	if len(known) > 0 {
		rule = "the operation has " + strings.Join(known, ", ")
	}
	var out []Violation
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) && len(out) < maxViolations {
			name = shorten(strings.ToValidUTF8(name, "\uFFFD"))
			out = append(out, Violation{Loc: []any{"query", name}, Msg: name + " is not a query parameter: " + rule, Type: "extra_forbidden"})
		}
	}
	return out
}

// check validates the text of one parameter.
func (p *param) check(raw string) []Violation {
	if p.anyText {
		return nil
	}
	var v any = raw
	if p.integer {
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return []Violation{{Loc: []any{p.in, p.name}, Msg: p.name + " must be an integer", Type: "int_parsing"}}
		}
		v = n
	}
	err := p.schema.Validate(v)
	switch {
	case err != nil:
	case !utf8.ValidString(raw):
		return []Violation{{Loc: []any{p.in, p.name}, Msg: p.name + " must be UTF-8", Type: "string_unicode"}}
	case strings.IndexByte(raw, 0) >= 0: // Postgres does not accept NUL in text
		return []Violation{{Loc: []any{p.in, p.name}, Msg: p.name + " must not hold NUL", Type: "nul_character"}}
	default:
		return nil
	}
	t := translation{root: v, prefix: []any{p.in, p.name}, label: p.name}
	return t.violations(err)
}
