package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a JSON object that preserves the order of its keys.
type object struct {
	keys []string
	vals map[string]any
}

func newObject(pairs ...any) *object {
	o := &object{vals: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *object) set(k string, v any) {
	if _, ok := o.vals[k]; !ok {
		o.keys = append(o.keys, k)
	}
	o.vals[k] = v
}

func (o *object) get(k string) any {
	if o == nil {
		return nil
	}
	return o.vals[k]
}

func (o *object) str(k string) string {
	s, _ := o.get(k).(string)
	return s
}

func (o *object) obj(k string) *object {
	c, _ := o.get(k).(*object)
	return c
}

func (o *object) list(k string) []any {
	l, _ := o.get(k).([]any)
	return l
}

// MarshalJSON writes the keys in the order in which they were set.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(&b, k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encode(&b, o.vals[k]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline
	return nil
}

// fromYAML converts a YAML node to objects, lists and scalars. Times remain strings; YAML would decode them as dates.
func fromYAML(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return fromYAML(n.Content[0])
	case yaml.AliasNode:
		return fromYAML(n.Alias)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := fromYAML(c)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := newObject()
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, dup := out.vals[key]; dup {
				return nil, fmt.Errorf("line %d: key %q is there twice", n.Content[i].Line, key)
			}
			v, err := fromYAML(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			if v == nil && strings.ContainsAny(key, " ,.") {
				return nil, fmt.Errorf("line %d: %q looks like a description that wants quotes", n.Content[i].Line, key)
			}
			out.set(key, v)
		}
		return out, nil
	}
	return scalar(n)
}

func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		return strconv.ParseBool(n.Value)
	case "!!int", "!!float":
		return json.Number(n.Value), nil
	}
	return n.Value, nil
}
