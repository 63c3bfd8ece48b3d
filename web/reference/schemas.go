package reference

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// maxDepth is how deep the properties of nested objects without a name are listed.
const maxDepth = 3

// property is a property of a schema, or a parameter, as a page shows it.
type property struct {
	Name, Type          string
	Link                string // page of the schema that the type names; empty for none
	Required, Extension bool
	Rules               []string
	Description         template.HTML
}

// schemaView is the page of a schema.
type schemaView struct {
	Name        string
	Description template.HTML
	Type        string
	Rules       []string
	Properties  []property
	Example     string
	UsedBy      []link
}

type link struct{ URL, Text, Detail string }

// propertiesOf lists the properties of a schema, with those of nested objects under their path.
func (s *section) propertiesOf(of *schema, prefix string, depth int) []property {
	var list []property
	for name, p := range of.Properties.all() {
		list = append(list, s.propertyOf(prefix+name, p, slices.Contains(of.Required, name)))
		inner := p
		nested := prefix + name + "."
		if p.Items != nil {
			inner, nested = p.Items, prefix+name+"[]."
		}
		if inner.Ref == "" && depth < maxDepth {
			list = append(list, s.propertiesOf(inner, nested, depth+1)...)
		}
	}
	return list
}

func (s *section) propertyOf(name string, p *schema, required bool) property {
	text, ref := typeOf(p)
	return property{
		Name: name, Type: text, Link: schemaURL(ref), Required: required, Extension: p.Extension, Rules: rulesOf(p),
		Description: s.markdown(p.Description),
	}
}

func schemaURL(name string) string {
	if name == "" {
		return ""
	}
	return "/docs/schemas/" + name
}

// typeOf describes the type of a schema, and returns the name of the schema that it refers to, if any.
func typeOf(p *schema) (text, ref string) {
	switch {
	case p == nil:
		return "anything", ""
	case p.Ref != "":
		name := nameOf(p.Ref)
		return name, name
	case len(p.AnyOf) > 0:
		var parts []string
		for _, one := range p.AnyOf {
			part, inner := typeOf(one)
			parts = append(parts, part)
			if inner != "" {
				ref = inner
			}
		}
		return strings.Join(parts, " or "), ref
	case p.Items != nil:
		part, inner := typeOf(p.Items)
		text = "array of " + part
		if list, ok := p.Type.([]any); ok && slices.Contains(list, any("null")) {
			text += " or null"
		}
		return text, inner
	}
	switch t := p.Type.(type) {
	case string:
		return t, ""
	case []any:
		var parts []string
		for _, one := range t {
			parts = append(parts, fmt.Sprint(one))
		}
		return strings.Join(parts, " or "), ""
	}
	return "anything", ""
}

func nameOf(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// rulesOf lists what a schema requires of a value in addition to its type.
func rulesOf(p *schema) []string {
	var rules []string
	say := func(format string, v any) { rules = append(rules, fmt.Sprintf(format, v)) }
	if len(p.Enum) > 0 {
		var words []string
		for _, v := range p.Enum {
			words = append(words, jsonText(v))
		}
		say("one of %s", strings.Join(words, ", "))
	}
	if p.Const != nil {
		say("always %s", jsonText(p.Const))
	}
	for _, bound := range []struct {
		words string
		value *int
	}{
		{"at least %d characters", p.MinLength}, {"at most %d characters", p.MaxLength}, {"at least %d items", p.MinItems},
		{"at most %d items", p.MaxItems}, {"at most %d properties", p.MaxProperties},
	} {
		if bound.value != nil {
			say(bound.words, *bound.value)
		}
	}
	if p.Minimum != nil {
		say("at least %s", *p.Minimum)
	}
	if p.Maximum != nil {
		say("at most %s", *p.Maximum)
	}
	if p.Format != "" {
		say("format %s", p.Format)
	}
	if p.Pattern != "" {
		say("pattern %s", p.Pattern)
	}
	if p.Default != nil {
		say("default %s", jsonText(p.Default))
	}
	return rules
}

func jsonText(v any) string {
	if text, ok := v.(string); ok && text != "" {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func (s *section) schema(name string) (schemaView, bool) {
	found, ok := s.contract.Components.Schemas.values[name]
	if !ok {
		return schemaView{}, false
	}
	text, _ := typeOf(found)
	v := schemaView{
		Name: name, Description: s.markdown(found.Description), Type: text, Rules: rulesOf(found),
		Properties: s.propertiesOf(found, "", 0), UsedBy: s.uses[name],
	}
	if len(found.Examples) > 0 {
		v.Example = indented(found.Examples[0])
	}
	return v, true
}
