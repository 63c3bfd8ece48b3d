package openapi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// response is the document's definition of one operation's response with one status.
type response struct {
	known  bool
	body   bool                 // has a body
	json   []*jsonschema.Schema // one of them; a 422 has two shapes
	others bool                 // has content types other than JSON
}

// ValidateResponse checks a response against the document, for tests: the operation must define the status, and the body must
// match its schema. It is stricter than the document: properties that the schema does not define are an error.
func (c *Contract) ValidateResponse(operationID string, status int, body []byte) error {
	op := c.byID[operationID]
	if op == nil {
		return fmt.Errorf("openapi: no operation %s", operationID)
	}
	a, err := c.response(op, status)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%s returned %d", operationID, status)
	switch {
	case !a.known:
		return fmt.Errorf("%s, which the contract does not define", where)
	case !a.body && len(body) > 0:
		return fmt.Errorf("%s with an unexpected body", where)
	case !a.body:
		return nil
	case a.others && (len(body) == 0 || body[0] != '{'):
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s with what is not JSON: %w", where, err)
	}
	for _, sch := range a.json {
		if err = sch.Validate(v); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", where, err)
	}
	return err
}

func (c *Contract) response(op *operation, status int) (*response, error) {
	key := op.ID + " " + strconv.Itoa(status)
	if a, ok := c.responses.Load(key); ok {
		return a.(*response), nil
	}
	c.compiling.Lock()
	defer c.compiling.Unlock()
	in, err := c.closed()
	if err != nil {
		return nil, err
	}
	a, err := op.compileResponse(in, strconv.Itoa(status))
	if err != nil {
		return nil, err
	}
	c.responses.Store(key, a)
	return a, nil
}

func (op *operation) compileResponse(in closed, status string) (*response, error) {
	node := child(child(child(child(child(in.tree, "paths"), op.Path), strings.ToLower(op.Method)), "responses"), status)
	if node == nil {
		return &response{}, nil
	}
	pointer := docURL + "#/paths/" + escape(op.Path) + "/" + strings.ToLower(op.Method) + "/responses/" + status
	if ref := text(node, "$ref"); ref != "" {
		pointer = docURL + ref
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		node = child(child(child(in.tree, "components"), "responses"), name)
	}
	a := &response{known: true}
	for mime := range child(node, "content") {
		a.body = true
		if mime != "application/json" && mime != "application/problem+json" {
			a.others = true
			continue
		}
		sch, err := in.compiler.Compile(pointer + "/content/" + escape(mime) + "/schema")
		if err != nil {
			return nil, err
		}
		a.json = append(a.json, sch)
	}
	return a, nil
}

// escape encodes a name as a token of a JSON pointer in a URL fragment.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// closed is the document in which object schemas without additionalProperties are closed.
type closed struct {
	tree     map[string]any
	compiler *jsonschema.Compiler
}

func closeDocument() (closed, error) {
	doc, err := parse(Document())
	if err != nil {
		return closed{}, err
	}
	for _, s := range child(child(doc, "components"), "schemas") {
		closeSchema(s)
	}
	c, err := compiler(doc)
	return closed{doc, c}, err
}

func closeSchema(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if props := child(s, "properties"); props != nil {
		if _, said := s["additionalProperties"]; !said {
			s["additionalProperties"] = false
		}
		for _, p := range props {
			closeSchema(p)
		}
	}
	closeSchema(s["items"])
}
