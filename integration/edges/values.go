package edges

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// resolve follows a reference and returns the component with its name.
func (d *Document) resolve(s node) (name string, out node) {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return name, s
		}
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		s = d.root["components"].(node)["schemas"].(node)[name].(node)
	}
}

// sample returns a value that the schema accepts: its example if it has one, else the smallest value.
func (d *Document) sample(schema node) any {
	_, s := d.resolve(schema)
	if examples, ok := s["examples"].([]any); ok {
		return examples[0]
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if enum, ok := s["enum"].([]any); ok {
		return enum[0]
	}
	if alternatives, ok := s["anyOf"].([]any); ok {
		return d.sample(alternatives[0].(node))
	}
	kind := s["type"]
	if kinds, ok := kind.([]any); ok {
		kind = kinds[0]
	}
	switch kind {
	case "string":
		return text(s, length(s, "minLength", 1))
	case "integer", "number":
		least, _ := s["minimum"].(float64)
		return math.Max(least, 1)
	case "boolean":
		return true
	case "array":
		list := []any{}
		for range length(s, "minItems", 0) {
			list = append(list, d.sample(s["items"].(node)))
		}
		return list
	case "object":
		return d.sampleObject(s)
	}
	return nil
}

func (d *Document) sampleObject(s node) any {
	out := map[string]any{}
	props, _ := s["properties"].(node)
	required, _ := s["required"].([]any)
	for _, name := range required {
		out[name.(string)] = d.sample(props[name.(string)].(node))
	}
	return out
}

func length(s node, keyword string, otherwise int) int {
	if n, ok := s[keyword].(float64); ok {
		return int(n)
	}
	return otherwise
}

// candidates are texts for patterns and formats; the first that matches is used.
var candidates = []string{
	"aaaaaaaa", "hold.opened", "2026-11-21T09:30:00.000Z", "sha256:" + strings.Repeat("0", 64), "https://hooks.example.com/in",
	strings.Repeat("a", 64), "aaaa.aaaa.aaaa", "AAAA",
}

// text returns a string of n characters that the schema's pattern and format accept. Without either, the characters have four
// bytes each, to detect code that counts bytes.
func text(s node, n int) string {
	switch {
	case s["format"] == "uri":
		const url = "https://hooks.example.com/"
		return url + strings.Repeat("a", max(n-len(url), 0))
	case s["format"] == "date":
		return "2026-11-21"
	case s["format"] == "date-time":
		return candidates[2]
	case s["pattern"] == nil && n > 8000: // the body has a size limit
		return strings.Repeat("é", n)
	case s["pattern"] == nil:
		return strings.Repeat("😀", n)
	}
	fits := regexp.MustCompile(s["pattern"].(string)).MatchString
	if plain := strings.Repeat("a", n); fits(plain) {
		return plain
	}
	for _, c := range candidates {
		if fits(c) {
			return c
		}
	}
	panic(fmt.Sprintf("edges: no text for the pattern %s", s["pattern"]))
}

func (p place) at() any {
	v := p.body
	for _, step := range p.steps {
		switch s := step.(type) {
		case string:
			v = v.(map[string]any)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	return v
}

func (p place) member(name string) (any, bool) {
	m, _ := p.at().(map[string]any)
	v, ok := m[name]
	return v, ok
}

func (p place) to(name, field string, value any) place {
	p.steps = append(append([]any{}, p.steps...), name)
	p.field = field
	return p.with(value)
}

// with returns a copy of the body with the value at the place replaced.
func (p place) with(value any) place {
	p.body = p.changed(func(parent map[string]any, key string) { parent[key] = value }, value)
	return p
}

// without returns a copy of the body without the value at the place.
func (p place) without() any {
	return p.changed(func(parent map[string]any, key string) { delete(parent, key) }, nil)
}

// changed returns a copy of the body with the value at the place changed. Items of a list and the body itself are replaced.
func (p place) changed(change func(parent map[string]any, key string), value any) any {
	if len(p.steps) == 0 {
		return value
	}
	body := clone(p.body)
	v := body
	for _, step := range p.steps[:len(p.steps)-1] {
		switch s := step.(type) {
		case string:
			v = v.(map[string]any)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	switch s := p.steps[len(p.steps)-1].(type) {
	case string:
		change(v.(map[string]any), s)
	case int:
		v.([]any)[s] = value
	}
	return body
}

func clone(v any) any {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		panic("edges: " + err.Error()) // the value was decoded from JSON
	}
	return v
}
