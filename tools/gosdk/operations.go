package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// byHand lists the operations that sdk/go implements by hand: their responses are not JSON objects.
var byHand = []string{"streamEvents", "getOpenAPI", "getMetrics"}

// call is an operation as a Go method.
type call struct {
	operation
	method, path string
	inPath       []*parameter
	inQuery      []*parameter
	keyed        bool // takes an Idempotency-Key
	body, result string
	optionalBody bool
	list         bool
}

func (g *generator) operations() string {
	var b strings.Builder
	b.WriteString("import (\n\t\"context\"\n\t\"iter\"\n\t\"net/http\"\n\t\"net/url\"\n\t\"time\"\n)\n\n")
	for _, path := range sortedKeys(g.doc.Paths) {
		for _, method := range sortedKeys(g.doc.Paths[path]) {
			op := g.doc.Paths[path][method]
			if !slices.Contains(byHand, op.ID) {
				b.WriteString(g.call(method, path, op).text(g))
			}
		}
	}
	return b.String()
}

func (g *generator) call(method, path string, op operation) *call {
	c := &call{operation: op, method: strings.ToUpper(method), path: path}
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = g.doc.Components.Parameters[refName(p.Ref)]
		}
		switch {
		case p.In == "path":
			c.inPath = append(c.inPath, p)
		case p.In == "query":
			c.inQuery = append(c.inQuery, p)
		case p.Name == "Idempotency-Key":
			c.keyed = true
		}
	}
	if op.Body != nil {
		c.body, c.optionalBody = g.goType(op.Body.Content["application/json"].Schema), !op.Body.Required
	}
	for _, status := range []string{"200", "201", "202"} {
		// A change that may wait for a second approver has no result if 204 says that it was made.
		if _, empty := op.Responses["204"]; empty && status == "202" {
			continue
		}
		if content, ok := op.Responses[status].Content["application/json"]; ok && c.result == "" {
			c.list = slices.Contains(content.Schema.Type, "array") && slices.ContainsFunc(c.inQuery, func(p *parameter) bool { return p.Name == "cursor" })
			c.result = strings.TrimPrefix(g.goType(content.Schema), map[bool]string{true: "[]"}[c.list])
		}
	}
	return c
}

func (c *call) name() string { return exported(c.ID) }

func (c *call) text(g *generator) string {
	doc := comment("", c.name()+": "+strings.TrimSuffix(c.Summary, ".")+". "+c.Description) + "//\n" + comment("", c.method+" "+c.path)
	if c.list {
		return c.params(g) + doc + c.pages()
	}
	params := ""
	if len(c.inQuery) > 0 {
		params = c.params(g)
	}
	return params + doc + c.single()
}

// params generates the struct of an operation's query.
func (c *call) params(g *generator) string {
	name := c.name() + "Params"
	var fields, sets strings.Builder
	for _, p := range c.inQuery {
		goType, field := g.goType(p.Schema), exported(p.Name)
		fields.WriteString(comment("\t", p.Description))
		fmt.Fprintf(&fields, "\t%s %s\n", field, goType)
		fmt.Fprintf(&sets, "\tset(q, %q, p.%s)\n", p.Name, field)
	}
	return fmt.Sprintf("// %s is the query of %s. Zero values are not sent.\ntype %s struct {\n%s}\n\nfunc (p %s) query() url.Values {\n\tq := url.Values{}\n%s\treturn q\n}\n\n",
		name, c.name(), name, fields.String(), name, sets.String())
}

func (c *call) arguments() (declared string, passed string) {
	declared, passed = "ctx context.Context", ""
	for _, p := range c.inPath {
		kind := "string"
		if slices.Contains(p.Schema.Type, "integer") {
			kind = "int64"
		}
		declared += ", " + argument(p.Name) + " " + kind
		passed += ", " + argument(p.Name)
	}
	return declared, passed
}

var snake = regexp.MustCompile(`_([a-z])`)

// argument converts a parameter's name to a Go argument, such as subjectID for subject_id.
func argument(name string) string {
	name = snake.ReplaceAllStringFunc(name, func(m string) string { return strings.ToUpper(m[1:]) })
	if stem, ok := strings.CutSuffix(name, "Id"); ok {
		return stem + "ID"
	}
	return name
}

// request generates the literal of the request without its closing brace.
func (c *call) request(passed string) string {
	text := fmt.Sprintf("request{operation: %q, method: http.Method%s, path: path(%q%s)", c.ID, c.method[:1]+strings.ToLower(c.method[1:]), c.path, passed)
	if c.keyed {
		text += ", keyed: true"
	}
	return text
}

func (c *call) single() string {
	declared, passed := c.arguments()
	text := c.request(passed)
	switch {
	case c.body != "" && c.optionalBody:
		declared += ", body *" + c.body
		text += ", body: optional(body)"
	case c.body != "":
		declared += ", body " + c.body
		text += ", body: body"
	}
	// A query that was added to a change is sent by a method of its own, so that the first one keeps its signature.
	if with := c.name() + "With"; len(c.inQuery) > 0 && c.method != "GET" && c.result == "" {
		return fmt.Sprintf("func (c *Client) %s(%s, options ...RequestOption) error {\n\treturn c.%s(ctx%s, %sParams{}, options...)\n}\n\n", c.name(), declared, with, passed, c.name()) +
			fmt.Sprintf("// %s is %s with a query.\nfunc (c *Client) %s(%s, params %sParams, options ...RequestOption) error {\n\t_, err := c.do(ctx, %s, query: params.query()}, nil, options)\n\treturn err\n}\n\n",
				with, c.name(), with, declared, c.name(), text)
	}
	if len(c.inQuery) > 0 {
		declared += ", params " + c.name() + "Params"
		text += ", query: params.query()"
	}
	declared += ", options ...RequestOption"
	switch {
	case c.result == "":
		return fmt.Sprintf("func (c *Client) %s(%s) error {\n\t_, err := c.do(ctx, %s}, nil, options)\n\treturn err\n}\n\n", c.name(), declared, text)
	case strings.HasPrefix(c.result, "[]"):
		return fmt.Sprintf("func (c *Client) %s(%s) (%s, error) {\n\tvar out %s\n\t_, err := c.do(ctx, %s}, &out, options)\n\treturn out, err\n}\n\n", c.name(), declared, c.result, c.result, text)
	default:
		return fmt.Sprintf("func (c *Client) %s(%s) (*%s, error) {\n\treturn one[%s](ctx, c, %s}, options)\n}\n\n", c.name(), declared, c.result, c.result, text)
	}
}

// pages generates two methods: one for a single page and one that iterates over all pages.
func (c *call) pages() string {
	declared, passed := c.arguments()
	declared += ", params " + c.name() + "Params, options ...RequestOption"
	all := "All" + strings.TrimPrefix(c.name(), "List")
	return fmt.Sprintf("func (c *Client) %s(%s) (*Page[%s], error) {\n\treturn page[%s](ctx, c, %s, query: params.query()}, options)\n}\n\n", c.name(), declared, c.result, c.result, c.request(passed)) +
		fmt.Sprintf("// %s iterates over all pages of %s, newest first. It ends with the first error.\nfunc (c *Client) %s(%s) iter.Seq2[%s, error] {\n\treturn pages(params.Cursor, func(cursor string) (*Page[%s], error) {\n\t\tparams.Cursor = cursor\n\t\treturn c.%s(ctx%s, params, options...)\n\t})\n}\n\n",
			all, c.name(), all, declared, c.result, c.result, c.name(), passed)
}

// codes generates the constants of the problem codes and the reason codes.
func (g *generator) codes() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// ContractVersion is the version of the contract that this package was generated from.\nconst ContractVersion = %q\n\n", g.doc.Info.Version)
	b.WriteString("// The problem codes (Error.Code).\nconst (\n")
	for _, code := range sortedKeys(problem.Catalogue()) {
		fmt.Fprintf(&b, "\tCode%s = %q\n", exported(string(code)), code)
	}
	b.WriteString(")\n\n// The reason codes of decisions, claims, frames and proofs.\nconst (\n")
	for _, entry := range reason.All() {
		b.WriteString(comment("\t", entry.Description))
		fmt.Fprintf(&b, "\tReason%s = %q\n", exported(entry.Code), entry.Code)
	}
	b.WriteString(")\n")
	return b.String()
}
