package main

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// The shorthand of an operation in src:
//
//	id, tag, summary, description   as in OpenAPI
//	scope        none | client | server | admin: the least scope that may call it
//	permission   what a key needs besides the scope; every operation of a server or admin key has one
//	credentials  the accepted security schemes, if they are not the usual ones of the scope
//	body         name of the request schema; body_optional: true if it can be omitted
//	returns      status -> name of the response schema, "Name[]" for a list, or null for no content
//	codes        problem codes that this operation may return, in addition to those of every operation
//	query        names of query parameters under components.parameters
//	old               true: may be read from a standby, and says how old it is
//	response_headers  names of additional response headers under components.headers
//	list         true: accepts limit and cursor, returns Link
//	idempotent   true: accepts an Idempotency-Key and returns Idempotent-Replayed
//	legacy       true: returns Deprecation and Link to the successor
//	extension    true: not in the specification that this service implements
//	authzen      true: follows the OpenID Authorization API; what others refuse with 415 or 422 is 400
//	example      an example of the body or of a response, if it is not the schema's first one
type operation struct {
	*object
	path, method string
	doc          *object
}

var methods = []string{"get", "post", "put", "patch", "delete"}

// expand converts the shorthand to a plain OpenAPI document.
func expand(root *object) (*object, error) {
	addSettings(root.obj("components").obj("schemas"))
	errs := []error{}
	paths := root.obj("paths")
	for _, path := range paths.keys {
		item := paths.obj(path)
		out := newObject()
		for _, m := range methods {
			src := item.obj(m)
			if src == nil {
				continue
			}
			op := operation{object: src, path: path, method: m, doc: root}
			full, err := op.expand()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", m, path, err))
				continue
			}
			out.set(m, full)
		}
		paths.vals[path] = out
	}
	parameters := root.obj("components").obj("parameters")
	named := newObject()
	for _, key := range parameters.keys {
		named.set(parameterName(parameters.obj(key), key), parameters.obj(key))
	}
	root.obj("components").set("parameters", named)
	root.obj("components").set("responses", sharedProblems(root, paths))
	delete(root.vals, "problems")
	root.keys = remove(root.keys, "problems")
	return root, errors.Join(errs...)
}

func (op operation) expand() (*object, error) {
	out := newObject(
		"operationId", op.str("id"),
		"tags", []any{op.str("tag")},
		"summary", op.str("summary"),
	)
	if d := op.description(); d != "" {
		out.set("description", d)
	}
	if op.get("extension") == true {
		out.set("x-countersign-extension", true)
	}
	if op.get("authzen") == true {
		out.set("x-authzen", true)
	}
	if op.get("legacy") == true {
		out.set("deprecated", true)
	}
	out.set("x-scope", op.str("scope"))
	if p := op.str("permission"); p != "" {
		out.set("x-countersign-permission", p)
	}
	security, err := op.security()
	if err != nil {
		return nil, err
	}
	out.set("security", security)
	params, err := op.parameters()
	if err != nil {
		return nil, err
	}
	if len(params) > 0 {
		out.set("parameters", params)
	}
	if op.str("body") != "" {
		body, err := op.body()
		if err != nil {
			return nil, err
		}
		out.set("requestBody", body)
	}
	if codes := op.list("codes"); len(codes) > 0 {
		out.set("x-problem-codes", codes)
	}
	responses, err := op.responses()
	if err != nil {
		return nil, err
	}
	out.set("responses", responses)
	return out, nil
}

// description ends with the permission, because readers of the document show no extension fields.
func (op operation) description() string {
	d := strings.TrimSpace(op.str("description"))
	if p := op.str("permission"); p != "" {
		d = strings.TrimSpace(d + "\n\nPermission: `" + p + "`.")
	}
	return d
}

// security returns the accepted security schemes: those listed, or the keys of the scope. An admin key has all rights of a
// server key.
func (op operation) security() ([]any, error) {
	schemes := op.list("credentials")
	if len(schemes) == 0 {
		switch scope := op.str("scope"); scope {
		case "none":
		case "server":
			schemes = []any{"serverKey", "adminKey"}
		case "admin":
			schemes = []any{"adminKey"}
		default:
			return nil, fmt.Errorf("scope %q needs credentials", scope)
		}
	}
	out := []any{}
	for _, s := range schemes {
		out = append(out, newObject(s.(string), []any{}))
	}
	return out, nil
}

// parameters joins path, query and header parameters; all of them are named components.
func (op operation) parameters() ([]any, error) {
	names := []string{}
	for _, seg := range strings.Split(op.path, "/") {
		if strings.HasPrefix(seg, "{") {
			names = append(names, strings.Trim(seg, "{}"))
		}
	}
	for _, q := range op.list("query") {
		names = append(names, q.(string))
	}
	if op.get("list") == true {
		names = append(names, "limit", "cursor")
	}
	for _, h := range op.list("headers") {
		names = append(names, h.(string))
	}
	if op.get("idempotent") == true {
		names = append(names, "IdempotencyKey")
	}
	out := []any{}
	for _, n := range names {
		parameter := op.doc.obj("components").obj("parameters").obj(n)
		if parameter == nil {
			return nil, fmt.Errorf("no parameter %q", n)
		}
		out = append(out, ref("parameters", parameterName(parameter, n)))
	}
	return out, nil
}

// parameterName returns a name that no schema has: generators of clients put both in one scope.
func parameterName(parameter *object, key string) string { return parameter.str("in") + "_" + key }

func (op operation) body() (*object, error) {
	name := op.str("body")
	example, err := op.exampleOf(name, "body")
	if err != nil {
		return nil, err
	}
	media := newObject("schema", ref("schemas", name), "example", example)
	return newObject(
		"required", op.get("body_optional") != true,
		"content", newObject("application/json", media),
	), nil
}

// exampleOf returns the operation's own example under key, or the first example of the schema.
func (op operation) exampleOf(name, key string) (any, error) {
	if own := op.obj("example"); own != nil {
		if v, ok := own.vals[key]; ok {
			return v, nil
		}
	}
	base := strings.TrimSuffix(name, "[]")
	schema := op.doc.obj("components").obj("schemas").obj(base)
	if schema == nil {
		return nil, fmt.Errorf("no schema %q", base)
	}
	examples := schema.list("examples")
	if len(examples) == 0 {
		return nil, fmt.Errorf("schema %q has no example", base)
	}
	if base != name {
		return []any{examples[0]}, nil
	}
	return examples[0], nil
}

func (op operation) responses() (*object, error) {
	out := newObject()
	returns := op.obj("returns")
	if returns == nil {
		return nil, errors.New("returns nothing")
	}
	for _, status := range returns.keys {
		r, err := op.success(status, returns.str(status))
		if err != nil {
			return nil, err
		}
		out.set(status, r)
	}
	statuses, err := op.problems()
	if err != nil {
		return nil, err
	}
	for _, s := range sortedKeys(statuses) {
		out.set(strconv.Itoa(s), op.problem(s, statuses[s]))
	}
	return out, nil
}

func (op operation) success(status, schema string) (*object, error) {
	out := newObject("description", successText(status, schema), "headers", op.headers())
	if schema == "" {
		return out, nil
	}
	if content := op.obj("content"); content != nil {
		out.set("content", content)
		return out, nil
	}
	example, err := op.exampleOf(schema, status)
	if err != nil {
		return nil, err
	}
	var s any = ref("schemas", schema)
	if base, isList := strings.CutSuffix(schema, "[]"); isList {
		s = newObject("type", "array", "items", ref("schemas", base))
	}
	out.set("content", newObject("application/json", newObject("schema", s, "example", example)))
	return out, nil
}

func successText(status, schema string) string {
	base, isList := strings.CutSuffix(schema, "[]")
	switch {
	case schema == "":
		return "Done; there is no body."
	case isList:
		return "A list of " + base + ", newest first."
	case status == "201":
		return "Created: " + base + "."
	case status == "202":
		return "Accepted and still running: " + base + "."
	}
	return base + "."
}

func (op operation) headers() *object {
	names := []string{"X-Request-Id"}
	if op.str("scope") != "none" {
		names = append(names, quotaHeaders...)
	}
	if op.get("list") == true {
		names = append(names, "Link")
	}
	if op.get("idempotent") == true || op.get("replays") == true {
		names = append(names, "Idempotent-Replayed")
	}
	if op.get("legacy") == true {
		names = append(names, "Deprecation", "Link")
	}
	if op.get("old") == true {
		names = append(names, "Countersign-Data-Age-Ms")
	}
	for _, h := range op.list("response_headers") {
		names = append(names, h.(string))
	}
	return headerRefs(names)
}

var quotaHeaders = []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

func headerRefs(names []string) *object {
	out := newObject()
	for _, n := range names {
		out.set(n, ref("headers", n))
	}
	return out
}

func ref(kind, name string) *object {
	return newObject("$ref", "#/components/"+kind+"/"+name)
}

func sortedKeys(m map[int][]string) []int {
	out := make([]int, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Ints(out)
	return out
}

func remove(list []string, s string) []string {
	out := list[:0]
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}
