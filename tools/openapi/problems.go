package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// problems returns the error statuses of an operation with the codes that it lists. An empty list of codes means the shared
// response of the status.
func (op operation) problems() (map[int][]string, error) {
	out := map[int][]string{429: nil, 500: nil, 503: nil}
	if op.str("scope") != "none" {
		out[401], out[403] = nil, nil
	}
	if op.str("body") != "" {
		out[400], out[413], out[415], out[422] = nil, nil, nil, nil
	}
	if op.method != "get" {
		out[413] = nil
	}
	if op.get("idempotent") == true {
		out[409] = []string{"idempotency_key_reused", "idempotency_in_flight"}
	}
	if params, _ := op.parameters(); len(params) > 0 || strings.HasPrefix(op.path, "/api/v1/") { // unknown query parameters
		out[422] = nil
	}
	if strings.Contains(op.path, "{") && op.get("always_found") != true {
		out[404] = nil
	}
	for _, c := range op.list("codes") {
		code := c.(string)
		p := op.doc.obj("problems").obj(code)
		if p == nil {
			return nil, fmt.Errorf("no problem code %q", code)
		}
		status, err := strconv.Atoi(string(p.get("status").(json.Number)))
		if err != nil {
			return nil, err
		}
		out[status] = append(out[status], code)
	}
	if op.get("authzen") == true {
		delete(out, 415)
		delete(out, 422)
	}
	return out, nil
}

// problem returns the response of an error status: the shared one, or one that lists the operation's codes.
func (op operation) problem(status int, codes []string) *object {
	if len(codes) == 0 || status == 422 {
		return ref("responses", "Problem"+strconv.Itoa(status))
	}
	named := make([]string, len(codes))
	for i, c := range codes {
		named[i] = "`" + c + "`"
	}
	return problemResponse(op.doc, codes[0], "Refused with "+strings.Join(named, ", ")+".")
}

// sharedProblems returns components.responses: one response per status that an operation refers to, with the first code of the
// status as its example.
func sharedProblems(doc, paths *object) *object {
	out := newObject()
	problems := doc.obj("problems")
	for _, code := range problems.keys {
		p := problems.obj(code)
		name := "Problem" + string(p.get("status").(json.Number))
		if out.get(name) == nil && refersTo(paths, "#/components/responses/"+name) {
			out.set(name, problemResponse(doc, code, p.str("title")+"."))
		}
	}
	return out
}

func refersTo(v any, target string) bool {
	switch v := v.(type) {
	case *object:
		if v.str("$ref") == target {
			return true
		}
		for _, k := range v.keys {
			if refersTo(v.vals[k], target) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if refersTo(e, target) {
				return true
			}
		}
	}
	return false
}

func problemResponse(doc *object, code, description string) *object {
	p := doc.obj("problems").obj(code)
	status := string(p.get("status").(json.Number))
	headers := []string{"X-Request-Id"}
	switch status {
	case "401":
		headers = append(headers, "WWW-Authenticate")
	case "429":
		headers = append(append(headers, quotaHeaders...), "Retry-After")
	case "503":
		headers = append(headers, "Retry-After")
	case "500":
	default:
		headers = append(headers, quotaHeaders...)
	}
	media, schema := "application/problem+json", "Problem"
	example := any(newObject(
		"type", "/docs/errors#"+code,
		"title", p.str("title"),
		"status", p.get("status"),
		"detail", p.str("detail"),
		"code", code,
		"request_id", "req_01k9x3v7q2e4rtb8m5n6p0d1fz",
	))
	if status == "422" {
		media, schema = "application/json", "HTTPValidationError"
		example = doc.obj("components").obj("schemas").obj(schema).list("examples")[0]
	}
	content := newObject(media, newObject("schema", ref("schemas", schema), "example", example))
	if status == "422" {
		whole := doc.obj("components").obj("schemas").obj("ValidationProblem").list("examples")[0]
		content.set("application/problem+json", newObject("schema", ref("schemas", "ValidationProblem"), "example", whole))
	}
	return newObject("description", description, "headers", headerRefs(headers), "content", content)
}
