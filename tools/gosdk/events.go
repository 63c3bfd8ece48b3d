package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// events generates a struct for the payload of every type in the catalogue of events.
func (g *generator) events() (string, error) {
	var names, table, structs strings.Builder
	for _, d := range events.Catalogue() {
		var s schema
		raw, err := json.Marshal(d.Schema)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("the schema of %s: %w", d.Type, err)
		}
		name := exported(string(d.Type))
		fmt.Fprintf(&names, "\tType%s = %q\n", name, d.Type)
		fmt.Fprintf(&table, "\tType%s: func() Payload { return new(%s) },\n", name, name)
		structs.WriteString(comment("", fmt.Sprintf("%s is the payload of %s. %s", name, d.Type, d.Description)))
		fmt.Fprintf(&structs, "type %s struct {\n%s}\n\n// EventType is %s.\nfunc (*%s) EventType() string { return Type%s }\n\n", name, g.payload(&s), d.Type, name, name)
	}
	return "import \"time\"\n\n// The types of events.\nconst (\n" + names.String() + ")\n\nvar types = map[string]func() Payload{\n" + table.String() + "}\n\n" + structs.String(), nil
}

// payload generates the fields of a payload. The values of an enumeration are a comment and no type: a later version of the
// service may add some.
func (g *generator) payload(s *schema) string {
	var b strings.Builder
	for _, key := range sortedKeys(s.Properties) {
		p := s.Properties[key]
		goType, omit := g.field(p, slices.Contains(s.Required, key))
		tag := key
		if omit {
			tag += ",omitzero"
		}
		fmt.Fprintf(&b, "\t%s %s `json:%q`%s\n", exported(key), goType, tag, alternatives(p.Enum))
	}
	return b.String()
}

// alternatives is the comment with an enumeration's values; empty if there are none.
func alternatives(values []any) string {
	if len(values) == 0 {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return " // " + strings.Join(words, ", ")
}

// examples generates the payload of every type's example, by type, for the SDK's tests.
func (g *generator) examples() []byte {
	all := map[string]map[string]any{}
	for _, d := range events.Catalogue() {
		all[string(d.Type)] = d.Example
	}
	keys := sortedKeys(all)
	for i, key := range keys {
		keys[i] = quoted(key) + ": " + quoted(all[key])
	}
	return []byte("{\n" + strings.Join(keys, ",\n") + "\n}\n")
}
