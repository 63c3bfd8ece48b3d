package configfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

const header = "# Configuration of a Countersign environment: countersign config diff|apply FILE (docs/configuration-as-code.md).\n"

// YAML returns the text of a file, always the same for the same document.
func (d *Document) YAML() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	tokens := json.NewDecoder(bytes.NewReader(raw))
	tokens.UseNumber()
	root, err := node(tokens)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString(header)
	writer := yaml.NewEncoder(out)
	writer.SetIndent(2)
	if err := writer.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), writer.Close()
}

// node reads the next value of JSON, with its properties in their order.
func node(tokens *json.Decoder) (*yaml.Node, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return collection(tokens, v)
	case string:
		return text(v), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}, nil
	default:
		n := &yaml.Node{}
		return n, n.Encode(v)
	}
}

func collection(tokens *json.Decoder, begin json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if begin == '{' {
		n.Kind = yaml.MappingNode
	}
	for tokens.More() {
		item, err := node(tokens)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle // [] and {}
	}
	_, err := tokens.Token() // the end
	return n, err
}

// text is a scalar in quotes if a plain one would change it.
func text(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if value == "<<" || strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
