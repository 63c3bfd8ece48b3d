package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
)

const docURL = "urn:countersign:contract"

// Operation is one operation of the contract.
type Operation struct {
	ID           string
	Method       string // upper case
	Path         string // with {parameters}
	Tags         []string
	Scope        string   // x-scope: none, client, server or admin
	Permission   string   // x-countersign-permission; empty if the scope is enough
	Security     []string // names of the accepted security schemes; empty if none is required
	Extension    bool     // x-countersign-extension
	Deprecated   bool
	Idempotent   bool     // takes an Idempotency-Key
	AuthZEN      bool     // x-authzen: a malformed request is 400, as in the OpenID Authorization API
	BodySchema   string   // name of the request schema, or empty
	BodyRequired bool     // false if the body can be omitted
	ProblemCodes []string // codes that the operation lists in addition to the common ones
}

// Contract contains the compiled validators. It is safe for concurrent use.
type Contract struct {
	ops       []Operation
	byID      map[string]*operation
	closed    func() (closed, error)
	responses sync.Map // "operation status" -> *response
	// compiling serialises calls of closed's compiler, which is not safe for concurrent use.
	compiling sync.Mutex
}

type operation struct {
	Operation
	body   *jsonschema.Schema
	params []param
}

// Compile returns the compiled schemas of all requests. The first call compiles them, which takes some milliseconds.
func Compile() (*Contract, error) { return compiled() }

// compiled does not keep the document's tree: it would be a fifth of the live heap of an API that is idle, which each garbage
// collection reads.
var compiled = sync.OnceValues(func() (*Contract, error) {
	doc, err := parse(Document())
	if err != nil {
		return nil, err
	}
	c, err := compiler(doc)
	if err != nil {
		return nil, err
	}
	out := &Contract{byID: map[string]*operation{}, closed: sync.OnceValues(closeDocument)}
	var errs []error
	for path, item := range child(doc, "paths") {
		for method, node := range item.(map[string]any) {
			op, err := compileOperation(c, doc, path, method, node.(map[string]any))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", method, path, err))
				continue
			}
			out.byID[op.ID] = op
			out.ops = append(out.ops, op.Operation)
		}
	}
	sort.Slice(out.ops, func(i, j int) bool {
		a, b := out.ops[i], out.ops[j]
		return a.Path < b.Path || a.Path == b.Path && a.Method < b.Method
	})
	return out, errors.Join(errs...)
})

// Operations returns the operations sorted by path and method. The caller must not change the slice.
func (c *Contract) Operations() []Operation { return c.ops }

func parse(raw []byte) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("openapi: the document is not an object")
	}
	return doc, nil
}

func compiler(doc map[string]any) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: apitime.Format})
	return c, c.AddResource(docURL, doc)
}

func compileOperation(c *jsonschema.Compiler, doc map[string]any, path, method string, node map[string]any) (*operation, error) {
	op := &operation{Operation: Operation{
		ID:           text(node, "operationId"),
		Method:       strings.ToUpper(method),
		Path:         path,
		Tags:         texts(node, "tags"),
		Scope:        text(node, "x-scope"),
		Permission:   text(node, "x-countersign-permission"),
		Extension:    node["x-countersign-extension"] == true,
		Deprecated:   node["deprecated"] == true,
		AuthZEN:      node["x-authzen"] == true,
		ProblemCodes: texts(node, "x-problem-codes"),
	}}
	security, _ := node["security"].([]any)
	for _, s := range security {
		for name := range s.(map[string]any) {
			op.Security = append(op.Security, name)
		}
	}
	if body := child(node, "requestBody"); body != nil {
		ref := text(child(child(child(body, "content"), "application/json"), "schema"), "$ref")
		op.BodySchema = ref[strings.LastIndexByte(ref, '/')+1:]
		op.BodyRequired = body["required"] == true
		sch, err := c.Compile(docURL + ref)
		if err != nil {
			return nil, err
		}
		op.body = sch
	}
	return op, op.compileParams(c, doc, node)
}

func child(m map[string]any, key string) map[string]any {
	v, _ := m[key].(map[string]any)
	return v
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func texts(m map[string]any, key string) []string {
	list, _ := m[key].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
