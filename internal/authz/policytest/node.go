package policytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// toJSON converts a value of YAML to JSON. Numbers have the digits that were written.
func toJSON(node *yaml.Node) (json.RawMessage, error) {
	var b bytes.Buffer
	err := write(&b, node, 0)
	return b.Bytes(), err
}

// maxDepth is the maximum nesting of a value. An alias of YAML may contain itself, and others multiply a value.
const maxDepth = 64

// write appends a value. A merge key (<<) is refused: the result would depend on the order of the properties.
func write(b *bytes.Buffer, node *yaml.Node, depth int) error {
	if depth > maxDepth || b.Len() > maxFile {
		return yamlfile.At(node.Line, "a value has at most %d levels and %d bytes, aliases written out", maxDepth, maxFile)
	}
	switch node.Kind {
	case yaml.AliasNode:
		return write(b, node.Alias, depth+1)
	case yaml.SequenceNode:
		return list(b, '[', ']', len(node.Content), func(i int) error { return write(b, node.Content[i], depth+1) })
	case yaml.MappingNode:
		return list(b, '{', '}', len(node.Content)/2, func(i int) error {
			key := node.Content[2*i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return yamlfile.At(key.Line, "a property needs a plain name here")
			}
			text, err := json.Marshal(key.Value)
			if err != nil {
				return yamlfile.At(key.Line, "%s", err.Error())
			}
			b.Write(append(text, ':'))
			return write(b, node.Content[2*i+1], depth+1)
		})
	default:
		return scalar(b, node)
	}
}

// list writes n items between two brackets.
func list(b *bytes.Buffer, begin, end byte, n int, each func(i int) error) error {
	b.WriteByte(begin)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := each(i); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

// scalar writes a number with its own digits: a float64 would change an amount of more than 15.
func scalar(b *bytes.Buffer, node *yaml.Node) error {
	var v any
	switch node.ShortTag() {
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			b.WriteString(node.Value)
			return nil
		}
		return yamlfile.At(node.Line, "%q is not a number of JSON; write text in quotes", node.Value)
	case "!!bool", "!!null":
		if err := node.Decode(&v); err != nil {
			return yamlfile.FaultOf(err)
		}
	default: // also a timestamp, which JSON writes as text
		v = node.Value
	}
	text, err := json.Marshal(v)
	if err != nil {
		return yamlfile.At(node.Line, "%s", err.Error())
	}
	b.Write(text)
	return nil
}

// strictly decodes a value of YAML as JSON, and refuses properties that the target does not have. The types of a policy have names
// for JSON alone, so that the file has exactly the form of the API.
func strictly(node *yaml.Node, into any) error {
	raw, err := toJSON(node)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	if err == nil {
		return nil
	}
	why := strings.TrimPrefix(err.Error(), "json: ")
	if name, unknown := strings.CutPrefix(why, "unknown field "); unknown {
		name, _ = strconv.Unquote(name)
		return yamlfile.At(keyLine(node, name), "%q is not a property here", name)
	}
	var form *json.UnmarshalTypeError
	if errors.As(err, &form) {
		last := form.Field[strings.LastIndex(form.Field, ".")+1:]
		return yamlfile.At(keyLine(node, last), "%s cannot be a %s", form.Field, form.Value)
	}
	return yamlfile.At(node.Line, "%s", why)
}

// keyLine is the line of the first property of a name in a value, or of the value. The decoder of JSON reports the name of a faulty
// property but not its place.
func keyLine(node *yaml.Node, name string) int {
	if at := find(node, name); at != nil {
		return at.Line
	}
	return node.Line
}

// find does not follow aliases: they could lead back to the node.
func find(node *yaml.Node, name string) *yaml.Node {
	for i, item := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if item.Value == name {
				return item
			}
			continue
		}
		if at := find(item, name); at != nil {
			return at
		}
	}
	return nil
}

// value is the value of a property of a mapping; an empty node if it has none.
func value(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			if at := node.Content[i+1]; at.Kind != yaml.AliasNode {
				return at
			}
			return node.Content[i+1].Alias
		}
	}
	return &yaml.Node{}
}

func ruleLine(requirements *yaml.Node, rule int) int {
	list := value(requirements, "rules")
	if rule >= len(list.Content) {
		return requirements.Line
	}
	return max(value(list.Content[rule], "when").Line, list.Content[rule].Line)
}

// refusal converts an error with which the service would refuse the policy. Of several violations the first is enough: the next
// test shows the next.
func refusal(line int, err error) error {
	var refused *problem.Error
	if errors.As(err, &refused) && len(refused.Fields) > 0 {
		first := refused.Fields[0]
		return yamlfile.At(line, "%s", location(first.Loc)+": "+first.Msg)
	}
	return yamlfile.At(line, "%s", err.Error())
}

// location writes the place of a violation without the body that it is in.
func location(loc []any) string {
	var parts []string
	for _, step := range loc {
		if s := fmt.Sprint(step); s != "body" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}
