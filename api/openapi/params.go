package openapi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type param struct {
	name, in string
	required bool
	integer  bool
	anyText  bool // x-any-text: what is not recognised is no fault, NUL and bad UTF-8 included
	schema   *jsonschema.Schema
}

const idempotencyHeader = "Idempotency-Key"

func (op *operation) compileParams(c *jsonschema.Compiler, doc map[string]any) error {
	list, _ := op.node["parameters"].([]any)
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

// ValidateParams checks path and query parameters and returns every fault, nil where there is none. A query
// parameter that the operation does not name is ignored; one that is given twice is a fault.
func (c *Contract) ValidateParams(operationID string, path map[string]string, query map[string][]string) []Violation {
	op := c.byID[operationID]
	if op == nil {
		panic("openapi: no operation " + operationID) // a route table that the document does not have; tests see it first
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
	return out
}

// check validates one value as it stands in the URL.
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
	case strings.IndexByte(raw, 0) >= 0: // a database takes it for no text
		return []Violation{{Loc: []any{p.in, p.name}, Msg: p.name + " must not hold NUL", Type: "nul_character"}}
	default:
		return nil
	}
	t := translation{root: v, prefix: []any{p.in, p.name}, label: p.name}
	return t.violations(err)
}
