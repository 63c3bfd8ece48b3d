package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Bounds of a context_schema. They keep compiling and validating cheap on the decision path.
const (
	// maxSchemaBytes and maxSchemaDepth limit the JSON text of a schema.
	maxSchemaBytes = 16 << 10
	maxSchemaDepth = 16
	maxSubschemas  = 1000 // compilation is quadratic in them
)

// schemaURL is the base of a schema's own references.
const schemaURL = "urn:countersign:context"

// errLoad refuses every reference to another document: nothing is ever fetched.
var errLoad = errors.New("references to other documents are not followed")

// noLoader is a loader that loads nothing.
type noLoader struct{}

// Load implements jsonschema.URLLoader. It refuses every URL.
func (noLoader) Load(string) (any, error) { return nil, errLoad }

// checkContextSchema checks that a context_schema is a JSON Schema 2020-12 of an object, within the bounds. An omitted one is {}.
func checkContextSchema(raw json.RawMessage) (models.JSON, error) {
	if len(raw) == 0 {
		return models.JSON("{}"), nil
	}
	if len(raw) > maxSchemaBytes {
		return nil, invalidSchema(fmt.Sprintf("context_schema has a maximum of %d bytes; this one has %d.", maxSchemaBytes, len(raw)), "too_long")
	}
	if d := depth(raw); d > maxSchemaDepth {
		return nil, invalidSchema(fmt.Sprintf("context_schema has a maximum nesting of %d levels; this one has %d.", maxSchemaDepth, d), "too_deep")
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, invalidSchema("context_schema must be an object.", "dict_type")
	}
	if t, given := doc["type"]; given && t != "object" {
		return nil, invalidSchema(`context_schema describes an object: its type must be "object".`, "value_error")
	}
	var complexity *complexError
	if _, err := compileSchema(raw); errors.As(err, &complexity) {
		return nil, invalidSchema("context_schema costs too much to check: "+complexity.why+".", "schema_too_complex")
	} else if err != nil {
		if why := unusablePattern(doc, "context_schema"); why != "" {
			return nil, invalidSchema(why, "json_schema_invalid")
		}
		return nil, invalidSchema("context_schema is not valid JSON Schema 2020-12: "+firstLine(err), "json_schema_invalid")
	}
	return models.JSON(raw), checkAnnotations(raw)
}

// checkAnnotations refuses annotations of Countersign's own that cannot be used, each with its place.
func checkAnnotations(raw []byte) error {
	var fault *annotation.Fault
	if _, err := display.Parse(raw); errors.As(err, &fault) {
		return invalidSchema(fault.Error()+".", "display_invalid")
	} else if err != nil {
		return err
	}
	if _, err := storedvalues.Parse(raw); errors.As(err, &fault) {
		return invalidSchema(fault.Error()+".", "keep_invalid")
	} else if err != nil {
		return err
	}
	if _, err := aggregate.Parse(raw); errors.As(err, &fault) {
		return invalidSchema(fault.Error()+".", "aggregate_invalid")
	} else if err != nil {
		return err
	}
	if _, err := people.Parse(raw); errors.As(err, &fault) {
		return invalidSchema(fault.Error()+".", "people_invalid")
	} else if err != nil {
		return err
	}
	return nil
}

// invalidSchema returns the refusal of a context_schema.
func invalidSchema(msg, typ string) error {
	return problem.Invalid([]any{"body", "context_schema"}, msg, typ)
}

// contextSchema is a compiled context_schema. For a stored schema that is too expensive by today's bounds, refuse is the reason.
type contextSchema struct {
	schema *jsonschema.Schema
	graph  *graph
	refuse *complexError
}

// compileSchema compiles a self-contained schema. The default draft is 2020-12. A schema that costs too much is a *complexError.
func compileSchema(raw []byte) (contextSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return contextSchema{}, err
	}
	// Count before compiling: the compiler itself is quadratic in the subschemas.
	t := tally{anchors: map[string]int{}}
	if t.count(doc); t.schemas > maxSubschemas {
		return contextSchema{}, &complexError{fmt.Sprintf("it has %d subschemas, and %d are allowed", t.schemas, maxSubschemas)}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	engine := &patterns{compiled: map[string]*pattern{}}
	c.UseRegexpEngine(engine.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return contextSchema{}, err
	}
	schema, err := c.Compile(schemaURL)
	if engine.refusal != nil {
		return contextSchema{}, engine.refusal
	}
	if err != nil {
		return contextSchema{}, err
	}
	// The compiled schema is shared between requests, and with it the engine.
	engine.sealed = true
	g, err := newGraph(schema, t.anchors)
	return contextSchema{schema: schema, graph: g}, err
}

// compileStored compiles a stored schema. If it is too expensive by today's bounds, only the validation of contexts is refused, so
// that follow-up decisions, which validate none, can still be made under it.
func compileStored(raw []byte) (contextSchema, error) {
	schema, err := compileSchema(raw)
	var complexity *complexError
	if errors.As(err, &complexity) {
		return contextSchema{refuse: complexity}, nil
	}
	return schema, err
}

// tally counts the possible subschemas of a document and its dynamic anchors.
type tally struct {
	schemas int
	anchors map[string]int
}

// count adds a value and everything below it. Every object and boolean counts: which of them are subschemas is known only to
// the compiler, whose cost is to be bounded.
func (t *tally) count(v any) {
	switch v := v.(type) {
	case bool:
		t.schemas++
	case []any:
		for _, item := range v {
			t.count(item)
		}
	case map[string]any:
		t.schemas++
		if name, ok := v["$dynamicAnchor"].(string); ok {
			t.anchors[name]++
		}
		for _, item := range v {
			t.count(item)
		}
	}
}

// depth returns the nesting depth of brackets outside strings.
func depth(raw []byte) int {
	deepest, now := 0, 0
	inString, escaped := false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// firstLine returns the first line of an error, which names the rule.
func firstLine(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return string(line)
}
