package action

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// doubling is a schema of n definitions, each of which applies the previous definition twice through the keyword.
func doubling(n int, join func(before string) string) string {
	defs := []string{`"d0":{"required":["x"]}`}
	for i := 1; i <= n; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, join(fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i-1))))
	}
	return fmt.Sprintf(`{"type":"object","$defs":{%s},"$ref":"#/$defs/d%d"}`, strings.Join(defs, ","), n)
}

func twice(keyword string) func(string) string {
	return func(before string) string { return fmt.Sprintf(`{%q:[%s,%s]}`, keyword, before, before) }
}

func repeated(n int, s, between string) string {
	return strings.Repeat(s+between, n-1) + s
}

// bombs are schemas within the bounds of bytes and nesting that cost too much.
var bombs = map[string]string{
	"allOf":             doubling(20, twice("allOf")),
	"anyOf":             doubling(20, twice("anyOf")),
	"oneOf":             doubling(20, twice("oneOf")),
	"not":               doubling(40, func(b string) string { return fmt.Sprintf(`{"not":{"allOf":[%s,%s]}}`, b, b) }),
	"if":                doubling(20, func(b string) string { return fmt.Sprintf(`{"if":%s,"then":%s,"else":%s}`, b, b, b) }),
	"dependentSchemas":  doubling(20, func(b string) string { return fmt.Sprintf(`{"dependentSchemas":{"a":%s,"b":%s}}`, b, b) }),
	"properties":        doubling(20, func(b string) string { return fmt.Sprintf(`{"properties":{"a":%s,"b":%s}}`, b, b) }),
	"items":             doubling(20, func(b string) string { return fmt.Sprintf(`{"items":{"allOf":[%s,%s]}}`, b, b) }),
	"prefixItems":       doubling(20, twice("prefixItems")),
	"contains":          doubling(20, func(b string) string { return fmt.Sprintf(`{"contains":%s,"items":%s}`, b, b) }),
	"patternProperties": doubling(20, func(b string) string { return fmt.Sprintf(`{"patternProperties":{"a":%s,"b":%s}}`, b, b) }),
	"propertyNames":     doubling(20, func(b string) string { return fmt.Sprintf(`{"propertyNames":%s,"allOf":[%s]}`, b, b) }),
	"unevaluated":       doubling(20, func(b string) string { return fmt.Sprintf(`{"unevaluatedProperties":%s,"allOf":[%s]}`, b, b) }),
	"an older draft":    `{"$schema":"http://json-schema.org/draft-07/schema#",` + doubling(20, twice("allOf"))[1:],
	"a circle":          `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`,
	"a circle below":    `{"type":"object","properties":{"p":{"$defs":{"a":{"anyOf":[{"$ref":"#/properties/p/$defs/a"}]}},"$ref":"#/properties/p/$defs/a"}}}`,
	"a root of itself":  `{"type":"object","$ref":"#"}`,
	"dynamic targets":   `{"type":"object","$defs":{"a":{"$id":"urn:a","$dynamicAnchor":"n","properties":{"p":{"$dynamicRef":"#n"}}},"b":{"$dynamicAnchor":"n"}},"$ref":"urn:a"}`,
	"recursive target":  `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","$recursiveAnchor":true,"properties":{"p":{"$recursiveRef":"#"}}}`,
	"subschemas":        `{"type":"object","anyOf":[` + repeated(5000, "{}", ",") + `]}`,
	"booleans":          `{"type":"object","anyOf":[` + repeated(3000, "true", ",") + `]}`,
	"a pattern":         `{"type":"object","properties":{"p":{"pattern":"` + strings.Repeat("(x?){1000}", 40) + `"}}}`,
	"nested repeats":    `{"type":"object","properties":{"p":{"pattern":"` + strings.Repeat("((x{30}){30}y?)", 20) + `"}}}`,
	"Unicode classes":   `{"type":"object","properties":{"p":{"pattern":"[` + strings.Repeat(`\\pL`, 3000) + `]"}}}`,
	"many patterns":     `{"type":"object","patternProperties":{` + manyPatterns(100) + `}}`,
}

func manyPatterns(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"^%d(a?){900}$":{"type":"string"}`, i))
	}
	return strings.Join(out, ",")
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// enough is the maximum that checking may allocate, at registration and at use.
const enough = 64 << 20

// These tests count what the process allocates, so none of them is parallel.

func TestCheckContextSchemaRefusesExpensiveSchemas(t *testing.T) {
	for name, schema := range bombs {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(schema), maxSchemaBytes, "it is within the bound of bytes")
			var err error
			require.Less(t, allocated(func() { _, err = checkContextSchema(json.RawMessage(schema)) }), uint64(enough))
			p := problem.As(err)
			require.NotNil(t, p, "it is refused")
			require.Equal(t, problem.Unprocessable, p.Code)
			require.Equal(t, []any{"body", "context_schema"}, p.Fields[0].Loc)
			require.Equal(t, "schema_too_complex", p.Fields[0].Type)
			require.Less(t, len(p.Fields[0].Msg), 400)
		})
	}
}

// A regular expression that RE2 cannot match is named with its place. What only looks like one is none.
func TestUnusablePatternsAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"properties": {"iban": {"type": "string", "pattern": "^(?=.*[0-9])[A-Z]+$"}}}`:      "context_schema/properties/iban/pattern: the regular expression",
		`{"properties": {"a": {"items": [{"pattern": "(a)\\1"}]}}}`:                           "context_schema/properties/a/items/0/pattern: ",
		`{"patternProperties": {"(?<!x)y": {}}}`:                                              "context_schema/patternProperties: ",
		`{"$defs": {"a/b": {"anyOf": [{}, {"pattern": "[z-a]"}]}}}`:                           "context_schema/$defs/a~1b/anyOf/1/pattern: ",
		`{"properties": {"pattern": {"type": "string"}, "x": {"const": {"pattern": "(?="}}}}`: "",
		`{"properties": {"x": {"pattern": "^[A-Z]{2}\\d{2}$"}}}`:                              "",
	} {
		_, err := checkContextSchema(json.RawMessage(schema))
		if want == "" {
			require.NoError(t, err, schema)
			continue
		}
		p := problem.As(err)
		require.NotNil(t, p, schema)
		require.Contains(t, p.Fields[0].Msg, want)
	}
}

func TestExpensiveStoredSchemasRefuseEveryContext(t *testing.T) {
	for name, raw := range bombs {
		t.Run(name, func(t *testing.T) {
			var found []problem.Field
			require.Less(t, allocated(func() {
				schema, err := compileStored([]byte(raw))
				require.NoError(t, err, "decisions that check no context are still made")
				found = schema.faults(map[string]any{"p": strings.Repeat("x", 1000)})
			}), uint64(enough))
			require.Len(t, found, 1)
			require.Equal(t, []any{"body", "context"}, found[0].Loc)
			require.Equal(t, "context_too_complex", found[0].Type)
		})
	}
}

func compiled(t *testing.T, raw string) contextSchema {
	t.Helper()
	_, err := checkContextSchema(json.RawMessage(raw))
	require.NoError(t, err, "the schema itself is allowed")
	schema, err := compileStored([]byte(raw))
	require.NoError(t, err)
	return schema
}

func decoded(t *testing.T, raw string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(raw), &out))
	return out
}

// A schema that is small itself is refused a context that it would cost too much to check.
func TestFaultsStayWithinTheBudget(t *testing.T) {
	deep := func(n int) string { return `{"l":` + strings.Repeat(`{"l":`, n) + `{}` + strings.Repeat(`}`, n) + `}` }
	flat := func(name, item string, bytes int) string {
		return fmt.Sprintf(`{%q:[%s]}`, name, repeated(bytes/(len(item)+1), item, ","))
	}
	// Trees of eight brackets each, all different, which one hash may stand for.
	trees := brackets(8)
	var enum []string
	for i := range 2000 {
		enum = append(enum, fmt.Sprintf("%d", 10000+i))
	}
	for name, c := range map[string]struct{ schema, context string }{
		"a recursion that branches": {`{"type":"object","$defs":{"n":{"required":["x"],"properties":{"l":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`, deep(28)},
		"many subschemas, many items": {
			`{"type":"object","properties":{"a":{"items":{"allOf":[` + repeated(600, `{"minLength":9}`, ",") + `]}}}}`, flat("a", `""`, 60_000)},
		"many subschemas, many properties": {
			`{"type":"object","allOf":[` + repeated(900, `{"minLength":1}`, ",") + `]}`, manyProperties(6000)},
		"expanded to the limit": {ofItems(doubling(11, twice("allOf"))), flat("a", "{}", 60_000)},
		"distinct trees":        {`{"type":"object","properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Join(trees[:min(len(trees), 2600)], ",") + `]}`},
		"signs":                 {`{"type":"object","properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Join(signs(10), ",") + `]}`},
		"a long text":           {`{"type":"object","properties":{"a":{"pattern":"^(x?){900}y$"}}}`, `{"a":"` + strings.Repeat("x", 60_000) + `"}`},
		"many names of required": {
			`{"type":"object","properties":{"a":{"items":{"required":[` + names(1500) + `]}}}}`, flat("a", "{}", 60_000)},
		"a large enum": {`{"type":"object","properties":{"a":{"items":{"enum":[` + strings.Join(enum, ",") + `]}}}}`, flat("a", "1", 60_000)},
		"unevaluated":  {`{"type":"object","allOf":[` + repeated(500, `{"minLength":1}`, ",") + `],"unevaluatedProperties":false}`, manyProperties(6000)},
		"large numbers": {
			`{"type":"object","properties":{"a":{"items":{"allOf":[` + repeated(100, `{"multipleOf":3}`, ",") + `]}}}}`, flat("a", "1e300", 60_000)},
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(c.context), 64<<10, "it fits into a request")
			schema, context := compiled(t, c.schema), decoded(t, c.context)
			var found []problem.Field
			require.Less(t, allocated(func() { found = schema.faults(context) }), uint64(enough))
			require.Len(t, found, 1)
			require.Equal(t, "context_too_complex", found[0].Type)
			require.Equal(t, []any{"body", "context"}, found[0].Loc)
		})
	}
}

func names(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"n%d"`, i))
	}
	return strings.Join(out, ",")
}

func manyProperties(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"%d":1`, i))
	}
	return "{" + strings.Join(out, ",") + "}"
}

// signs are all lists of n ones, each with either sign.
func signs(n int) []string {
	var out []string
	for bits := range 1 << n {
		var list []string
		for i := range n {
			list = append(list, []string{"1", "-1"}[bits>>i&1])
		}
		out = append(out, "["+strings.Join(list, ",")+"]")
	}
	return out
}

// brackets are all lists of lists that are written with n pairs of brackets.
func brackets(n int) []string {
	if n == 0 {
		return []string{""}
	}
	var out []string
	for inside := range n {
		for _, a := range brackets(inside) {
			for _, b := range brackets(n - 1 - inside) {
				joined := "[" + a + "]"
				if b != "" {
					joined += "," + b
				}
				out = append(out, joined)
			}
		}
	}
	if n == 8 { // one value each
		for i := range out {
			out[i] = "[" + out[i] + "]"
		}
	}
	return out
}

// What is listed is bounded, whatever is found.
func TestFaultsListsAtMostTwenty(t *testing.T) {
	for name, c := range map[string]struct {
		schema, context string
		want            int
	}{
		"the same thing often":  {doubling(11, twice("allOf")), `{}`, 1},
		"many different things": {`{"type":"object","properties":{"a":{"items":{"type":"string"}}}}`, `{"a":[` + repeated(9000, "1", ",") + `]}`, maxFaults},
		"long names":            {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"` + strings.Repeat("n", 60_000) + `":1}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found := compiled(t, c.schema).faults(decoded(t, c.context))
			require.Len(t, found, c.want)
			for _, f := range found {
				require.Equal(t, "context_schema", f.Type)
			}
			body, err := json.Marshal(found)
			require.NoError(t, err)
			require.Less(t, len(body), maxFaults*2*maxFaultText)
		})
	}
}

// Contexts as large as a request may be are checked, by schemas as people write them.
func TestFaultsOfHonestContexts(t *testing.T) {
	var currencies []string
	for i := range 180 {
		currencies = append(currencies, fmt.Sprintf(`"C%02d"`, i))
	}
	payments := `{"type":"object","required":["payments"],"additionalProperties":false,
		"$defs":{"money":{"type":"object","required":["amount","currency"],"properties":{"amount":{"type":"number","exclusiveMinimum":0,"multipleOf":0.01},"currency":{"enum":[` +
		strings.Join(currencies, ",") + `]}},"unevaluatedProperties":false}},
		"properties":{"payments":{"type":"array","minItems":1,"uniqueItems":true,"items":{"type":"object","required":["to","money"],"properties":{
			"to":{"type":"string","pattern":"^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$"},"name":{"type":"string","minLength":1,"maxLength":140,"pattern":"^[\\p{L}\\p{M} .'-]{1,140}$"},"money":{"$ref":"#/$defs/money"}}}}}}`
	var items []string
	for i := range 440 {
		items = append(items, fmt.Sprintf(`{"to":"DE89370400440532%06d","name":"Müller & Söhne","money":{"amount":%d,"currency":"C%02d"}}`, i, 10+i, i%180))
	}
	context := strings.ReplaceAll(`{"payments":[`+strings.Join(items, ",")+`]}`, " & ", " und ")
	tree := `{"type":"object","$defs":{"node":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"$ref":"#/$defs/node"}`
	level := `{"name":"a"}`
	for range 6 {
		level = `{"name":"a","children":[` + level + "," + level + `]}`
	}
	numbers := `{"type":"object","properties":{"series":{"items":{"type":"number","minimum":0}}}}`
	for name, c := range map[string]struct{ schema, context string }{
		"a batch of payments": {payments, context},
		"a tree":              {tree, level},
		"a series":            {numbers, `{"series":[` + repeated(9000, "123.25", ",") + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(c.context), 64<<10)
			require.Empty(t, compiled(t, c.schema).faults(decoded(t, c.context)))
		})
	}
}

// The largest context that is affordable is checked with bounded memory.
func TestFaultsAtTheLimitOfTheBudget(t *testing.T) {
	items := func(item string) func(n int) string {
		return func(n int) string { return fmt.Sprintf(`{"a":[%s]}`, repeated(n, item, ",")) }
	}
	for name, c := range map[string]struct {
		schema  string
		context func(n int) string
	}{
		"doubled":      {ofItems(doubling(11, twice("allOf"))), items("{}")},
		"wrong type":   {`{"type":"object","properties":{"a":{"items":{"allOf":[` + repeated(5, `{"type":"string"}`, ",") + `]}}}}`, items("1")},
		"required":     {`{"type":"object","properties":{"a":{"items":{"required":[` + names(1500) + `]}}}}`, items("{}")},
		"unevaluated":  {`{"type":"object","allOf":[` + repeated(500, `{"minLength":1}`, ",") + `],"unevaluatedProperties":false}`, manyProperties},
		"numbers":      {`{"type":"object","properties":{"a":{"items":{"allOf":[` + repeated(100, `{"multipleOf":3}`, ",") + `]}}}}`, items("1e300")},
		"number enums": {`{"type":"object","properties":{"a":{"items":{"enum":[` + repeated(2000, "7", ",") + `]}}}}`, items("1")},
	} {
		t.Run(name, func(t *testing.T) {
			schema := compiled(t, c.schema)
			n := sort.Search(12_000, func(n int) bool {
				affordable, _ := schema.graph.affordable(decoded(t, c.context(n+1)))
				return !affordable
			})
			require.Positive(t, n)
			var found []problem.Field
			require.Less(t, allocated(func() { found = schema.faults(decoded(t, c.context(n))) }), uint64(enough))
			require.NotEmpty(t, found)
			require.LessOrEqual(t, len(found), maxFaults)
			require.NotEqual(t, "context_too_complex", found[0].Type)
		})
	}
}

// ofItems applies a schema of doubling to the items of the property a.
func ofItems(schema string) string {
	at := strings.LastIndex(schema, `"$ref"`)
	return schema[:at] + `"properties":{"a":{"items":{` + schema[at:] + `}}}`
}
