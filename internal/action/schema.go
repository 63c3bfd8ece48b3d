package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/problem"
	"github.com/countersign-dev/countersign/models"
)

// Bounds of a context_schema. They keep compiling and validating cheap on the decision path.
const (
	maxSchemaBytes = 16 << 10
	maxSchemaDepth = 16
)

const schemaURL = "urn:countersign:context"

// errLoad refuses every reference out of the schema: nothing is ever fetched.
var errLoad = errors.New("references to other documents are not followed")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errLoad }

// checkContextSchema holds a context_schema to JSON Schema 2020-12 of an object, within the bounds. An omitted one is {}.
func checkContextSchema(raw json.RawMessage) (models.JSON, error) {
	if len(raw) == 0 {
		return models.JSON("{}"), nil
	}
	if len(raw) > maxSchemaBytes {
		return nil, invalidSchema(fmt.Sprintf("context_schema may have %d bytes and has %d.", maxSchemaBytes, len(raw)), "too_long")
	}
	if d := depth(raw); d > maxSchemaDepth {
		return nil, invalidSchema(fmt.Sprintf("context_schema may be nested %d deep and is %d.", maxSchemaDepth, d), "too_deep")
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, invalidSchema("context_schema must be an object.", "dict_type")
	}
	if t, given := doc["type"]; given && t != "object" {
		return nil, invalidSchema(`context_schema describes an object: its type must be "object".`, "value_error")
	}
	if _, err := compileSchema(raw); err != nil {
		return nil, invalidSchema("context_schema is not valid JSON Schema 2020-12: "+firstLine(err), "json_schema_invalid")
	}
	return models.JSON(raw), nil
}

func invalidSchema(msg, typ string) error {
	return problem.Invalid([]any{"body", "context_schema"}, msg, typ)
}

// compileSchema compiles a schema that stands alone. The default draft is 2020-12.
func compileSchema(raw []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// contextFaults holds a context against a compiled schema and lists what it breaks, as items of a 422.
func contextFaults(schema *jsonschema.Schema, context map[string]any) []problem.Field {
	err := schema.Validate(any(context))
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var fields []problem.Field
	collect(invalid, &fields)
	return fields
}

func collect(e *jsonschema.ValidationError, out *[]problem.Field) {
	if len(e.Causes) == 0 {
		loc := []any{"body", "context"}
		for _, step := range e.InstanceLocation {
			loc = append(loc, step)
		}
		unit := e.DetailedOutput()
		msg := "context breaks the action's context_schema"
		if unit != nil && unit.Error != nil {
			msg += ": " + unit.Error.String()
		}
		*out = append(*out, problem.Field{Loc: loc, Msg: msg + ".", Type: "context_schema"})
		return
	}
	for _, cause := range e.Causes {
		collect(cause, out)
	}
}

// depth is how deep brackets nest; strings are stepped over.
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

func firstLine(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return string(line)
}
