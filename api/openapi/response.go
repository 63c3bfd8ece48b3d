package openapi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// answer is what the document says of one operation's answer with one status.
type answer struct {
	known  bool
	body   bool // has a body at all
	json   *jsonschema.Schema
	others bool // has content types that are not JSON
}

// ValidateResponse checks an answer against the document, for tests: the status must be one the operation names, and
// the body must follow its schema. It is stricter than the document in one way: a property that an answer's schema does
// not name is a fault, so that nothing undocumented slips out.
func (c *Contract) ValidateResponse(operationID string, status int, body []byte) error {
	op := c.byID[operationID]
	if op == nil {
		return fmt.Errorf("openapi: no operation %s", operationID)
	}
	a, err := c.answer(op, status)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%s answered %d", operationID, status)
	switch {
	case !a.known:
		return fmt.Errorf("%s, which the contract does not name", where)
	case !a.body && len(body) > 0:
		return fmt.Errorf("%s with a body where there is none", where)
	case !a.body:
		return nil
	case a.others && (len(body) == 0 || body[0] != '{'):
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s with what is not JSON: %w", where, err)
	}
	if a.json == nil {
		return nil
	}
	if err := a.json.Validate(v); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

func (c *Contract) answer(op *operation, status int) (*answer, error) {
	key := op.ID + " " + strconv.Itoa(status)
	if a, ok := c.answers.Load(key); ok {
		return a.(*answer), nil
	}
	c.compiling.Lock()
	defer c.compiling.Unlock()
	comp, err := c.closed()
	if err != nil {
		return nil, err
	}
	a, err := op.compileAnswer(comp, strconv.Itoa(status))
	if err != nil {
		return nil, err
	}
	c.answers.Store(key, a)
	return a, nil
}

func (op *operation) compileAnswer(comp *jsonschema.Compiler, status string) (*answer, error) {
	node := child(child(op.node, "responses"), status)
	if node == nil {
		return &answer{}, nil
	}
	pointer := docURL + "#/paths/" + escape(op.Path) + "/" + strings.ToLower(op.Method) + "/responses/" + status
	if ref := text(node, "$ref"); ref != "" {
		doc, err := parse(Document())
		if err != nil {
			return nil, err
		}
		pointer = docURL + ref
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		node = child(child(child(doc, "components"), "responses"), name)
	}
	a := &answer{known: true}
	for mime := range child(node, "content") {
		a.body = true
		if mime != "application/json" && mime != "application/problem+json" {
			a.others = true
			continue
		}
		sch, err := comp.Compile(pointer + "/content/" + escape(mime) + "/schema")
		if err != nil {
			return nil, err
		}
		a.json = sch
	}
	return a, nil
}

// escape writes a name as a step of a JSON pointer in a URL fragment.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// closedCompiler holds the document with every object schema closed that does not say otherwise.
func closedCompiler() (*jsonschema.Compiler, error) {
	doc, err := parse(Document())
	if err != nil {
		return nil, err
	}
	for _, s := range child(child(doc, "components"), "schemas") {
		closeSchema(s)
	}
	return compiler(doc)
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
