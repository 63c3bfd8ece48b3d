package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// Bounds of a file.
const (
	maxFile  = 4 << 20 // bytes
	maxDepth = 64      // levels
)

// Parse reads a file in YAML, or in JSON, which is YAML. Every error is a *yamlfile.Fault. A logo remains the name of its file.
func Parse(raw []byte) (*Document, error) {
	if len(raw) > maxFile {
		return nil, yamlfile.At(0, "the file has %d bytes; it must have at most %d", len(raw), maxFile)
	}
	var root, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return nil, yamlfile.At(0, "the file is empty; it needs at least version: 1")
	} else if err != nil {
		return nil, yamlfile.FaultOf(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, yamlfile.At(more.Line, "the file has more than one document; remove the others")
	}
	doc := &Document{}
	value, err := read(root.Content[0], reflect.TypeOf(doc), "", 0)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, yamlfile.At(0, "%s", err.Error())
	}
	if err := decodeExact(text, doc); err != nil {
		return nil, yamlfile.At(0, "%s", err.Error())
	}
	if doc.Version != formatVersion {
		return nil, yamlfile.At(root.Content[0].Line, "version is %d; this countersign reads version: %d", doc.Version, formatVersion)
	}
	for i, e := range doc.WebhookEndpoints {
		if e.URL == "" {
			return nil, yamlfile.At(0, "webhook_endpoints[%d] has no url; an endpoint is named by it", i)
		}
	}
	return doc, nil
}

// read checks a value against the Go type that it will be decoded into and returns it as a value of JSON. Anchors and aliases are
// refused, because a short file could stand for a huge value.
func read(n *yaml.Node, t reflect.Type, at string, depth int) (any, error) {
	fail := func(format string, args ...any) error {
		return yamlfile.At(n.Line, "%s", name(at)+" "+fmt.Sprintf(format, args...))
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case depth > maxDepth:
		return nil, fail("has more than %d levels", maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, fail("uses an anchor or alias (& or *); write the value out")
	case n.Kind == yaml.MappingNode:
		return readMapping(n, t, at, depth)
	case n.Kind == yaml.SequenceNode:
		return readList(n, t, at, depth)
	}
	want, known := map[reflect.Kind]string{reflect.String: "!!str", reflect.Bool: "!!bool", reflect.Int: "!!int", reflect.Int64: "!!int"}[t.Kind()]
	tag := n.ShortTag()
	if tag == "!!timestamp" {
		tag = "!!str" // a date without quotes
	}
	if t.Kind() != reflect.Interface && (!known || tag != want) {
		return nil, fail("must be %s, not %q", kindOf(t), n.Value)
	}
	switch tag {
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		var yes bool
		return yes, n.Decode(&yes)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		return nil, fail("is %q, which is not a number of JSON; write text in quotes", n.Value)
	default:
		return nil, fail("has the tag %s; remove it", n.Tag)
	}
}

func readList(n *yaml.Node, t reflect.Type, at string, depth int) (any, error) {
	element := t
	switch t.Kind() {
	case reflect.Slice:
		element = t.Elem()
	case reflect.Interface:
	default:
		return nil, yamlfile.At(n.Line, "%s must be %s, not a list", name(at), kindOf(t))
	}
	out := make([]any, len(n.Content))
	for i, item := range n.Content {
		var err error
		if out[i], err = read(item, element, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readMapping(n *yaml.Node, t reflect.Type, at string, depth int) (any, error) {
	if k := t.Kind(); k != reflect.Struct && k != reflect.Map && k != reflect.Interface {
		return nil, yamlfile.At(n.Line, "%s must be %s, not a mapping", name(at), kindOf(t))
	}
	lines, out := map[string]int{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.ShortTag() == "!!merge" {
			return nil, yamlfile.At(key.Line, "%s", name(at)+" needs plain names for its properties; write merged values out")
		}
		if first, twice := lines[key.Value]; twice {
			return nil, yamlfile.At(key.Line, "%s has the property %q twice; the first is on line %d", name(at), key.Value, first)
		}
		lines[key.Value] = key.Line
		element, known := property(t, key.Value)
		if !known {
			return nil, yamlfile.At(key.Line, "%q is not a property of %s; it has %s", key.Value, name(at), strings.Join(properties(t), ", "))
		}
		var err error
		if out[key.Value], err = read(value, element, strings.TrimPrefix(at+"."+key.Value, "."), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// property returns the type of a property of a struct, of any entry of a map, or of a value without a type.
func property(t reflect.Type, key string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for f := range t.Fields() {
			if jsonName(f) == key {
				return f.Type, true
			}
		}
		return nil, false
	default:
		return t, true
	}
}

func properties(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		out = append(out, jsonName(f))
	}
	slices.Sort(out)
	return out
}

func jsonName(f reflect.StructField) string {
	n, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return n
}

func name(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}

// kindOf is a Go type in the words of the file.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text (in quotes if it looks like a number)"
	default:
		return "a whole number"
	}
}
