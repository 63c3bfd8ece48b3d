package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var (
	//go:embed common.schema.json
	commonText []byte
	//go:embed gate.schema.json
	gateText []byte
	//go:embed mcp.schema.json
	mcpText []byte
)

// Schema and MCPSchema are the JSON Schemas of the files of the HTTP gate and of the MCP gateway.
var (
	Schema    = joined(gateText)
	MCPSchema = joined(mcpText)
)

var (
	gateSchema = compiled(Schema)
	mcpSchema  = compiled(MCPSchema)
)

// joined returns a schema with the definitions that all files have in common. Its parts are constants, so that errors are mistakes in them.
func joined(own []byte) []byte {
	var schema, common struct {
		Members map[string]json.RawMessage
		Defs    map[string]json.RawMessage
	}
	must(json.Unmarshal(own, &schema.Members))
	must(json.Unmarshal(commonText, &common.Members))
	must(json.Unmarshal(common.Members["$defs"], &common.Defs))
	must(json.Unmarshal(schema.Members["$defs"], &schema.Defs))
	maps.Copy(schema.Defs, common.Defs)
	var err error
	schema.Members["$defs"], err = json.Marshal(schema.Defs)
	must(err)
	text, err := json.MarshalIndent(schema.Members, "", "  ")
	must(err)
	return append(text, '\n')
}

func compiled(text []byte) *jsonschema.Schema {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(err)
	c := jsonschema.NewCompiler()
	must(c.AddResource("file.json", value))
	return c.MustCompile("file.json")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
