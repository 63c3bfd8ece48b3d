package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// types generates a Go type for every schema that is an object or an enumeration. Plain strings of the contract, such as ids
// and digests, are strings in Go.
func (g *generator) types() string {
	var b strings.Builder
	b.WriteString("import \"time\"\n\n")
	for _, name := range sortedKeys(g.doc.Components.Schemas) {
		s := g.doc.Components.Schemas[name]
		switch {
		case len(s.Enum) > 0:
			b.WriteString(enumeration(typeName(name), s))
		case g.isStruct(s):
			b.WriteString(g.structure(typeName(name), s))
		}
	}
	return b.String()
}

func enumeration(name string, s *schema) string {
	var b strings.Builder
	b.WriteString(comment("", fmt.Sprintf("%s: %s", name, s.Description)))
	fmt.Fprintf(&b, "type %s string\n\n// The values of %s.\nconst (\n", name, name)
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			fmt.Fprintf(&b, "\t%s%s %s = %q\n", name, exported(strings.ToLower(text)), name, text)
		}
	}
	b.WriteString(")\n\n")
	return b.String()
}

func (g *generator) structure(name string, s *schema) string {
	var b strings.Builder
	b.WriteString(comment("", fmt.Sprintf("%s: %s", name, s.Description)))
	fmt.Fprintf(&b, "type %s struct {\n", name)
	properties, required := g.members(s)
	for _, key := range sortedKeys(properties) {
		p := properties[key]
		if len(p.Type) == 1 && p.Type[0] == "null" {
			continue // only null is allowed: mandate_ref
		}
		goType, omit := g.field(p, slices.Contains(required, key))
		if strings.HasSuffix(name, "Update") && hasMeaningfulZero(p, goType) {
			goType = "*" + goType
		}
		tag := key
		if omit {
			tag += ",omitzero"
		}
		if text := g.describe(p); text != "" {
			b.WriteString(comment("\t", text))
		}
		fmt.Fprintf(&b, "\t%s %s `json:%q`\n", exported(key), goType, tag)
	}
	b.WriteString("}\n\n")
	return b.String()
}

func (g *generator) describe(p *schema) string {
	if p.Description == "" && p.Ref != "" {
		return g.doc.Components.Schemas[refName(p.Ref)].Description
	}
	return p.Description
}

// members returns the properties of an object. For alternatives these are the properties of all, and a property is required if
// all require it.
func (g *generator) members(s *schema) (map[string]*schema, []string) {
	if len(s.AnyOf) == 0 {
		return s.Properties, s.Required
	}
	all, required := map[string]*schema{}, []string(nil)
	for i, alternative := range s.AnyOf {
		target := g.doc.Components.Schemas[refName(alternative.Ref)]
		maps.Copy(all, target.Properties)
		if i == 0 {
			required = slices.Clone(target.Required)
			continue
		}
		required = slices.DeleteFunc(required, func(key string) bool { return !slices.Contains(target.Required, key) })
	}
	return all, required
}

func (g *generator) isStruct(s *schema) bool {
	return len(s.Properties) > 0 || (len(s.AnyOf) > 0 && s.Type == nil)
}

// field returns a field's Go type and whether its zero value is omitted. The field is a plain value if absent, null and zero
// mean the same to the service, and a pointer otherwise.
func (g *generator) field(p *schema, required bool) (goType string, omit bool) {
	nullable := slices.Contains(p.Type, "null") || slices.ContainsFunc(p.AnyOf, func(s *schema) bool { return slices.Contains(s.Type, "null") })
	base := g.goType(p)
	if p.Ref != "" && refName(p.Ref) == "TimestampOrNull" {
		return "*time.Time", !required
	}
	if required && !nullable {
		return base, false
	}
	switch {
	case strings.HasPrefix(base, "[]"), strings.HasPrefix(base, "map["), base == "any":
	case base == "string", g.isEnumeration(base):
	case base == "bool" && (p.Default == nil || p.Default == false) && !nullable:
	case (base == "int64" || base == "float64") && p.Minimum != nil && *p.Minimum >= 1 && !nullable:
	default:
		base = "*" + base
	}
	return base, true
}

// hasMeaningfulZero reports whether false or an empty text is a value of a field of an update: an absent field keeps its value there.
func hasMeaningfulZero(p *schema, goType string) bool {
	return goType == "bool" || goType == "string" && p.MinLength == 0 && len(p.Enum) == 0
}

func (g *generator) isEnumeration(goType string) bool {
	for name, s := range g.doc.Components.Schemas {
		if typeName(name) == goType {
			return len(s.Enum) > 0
		}
	}
	return false
}

func (g *generator) goType(s *schema) string {
	if s.Ref != "" {
		return g.refType(refName(s.Ref))
	}
	if other := slices.DeleteFunc(slices.Clone(s.AnyOf), (*schema).null); len(other) > 1 {
		return "any" // such as a list or an object
	} else if len(other) == 1 {
		return g.goType(other[0])
	}
	kinds := slices.DeleteFunc(slices.Clone([]string(s.Type)), func(kind string) bool { return kind == "null" })
	if len(kinds) != 1 {
		return "any"
	}
	switch kinds[0] {
	case "string":
		if s.Format == "date-time" {
			return "time.Time"
		}
		return "string"
	case "integer":
		return "int64"
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		return "[]" + g.goType(s.Items)
	default:
		if s.Additional.schema != nil {
			element, _ := g.field(s.Additional.schema, true)
			return "map[string]" + element
		}
		return "map[string]any"
	}
}

// null reports whether only null is allowed.
func (s *schema) null() bool { return len(s.Type) == 1 && s.Type[0] == "null" }

func (g *generator) refType(name string) string {
	target := g.doc.Components.Schemas[name]
	switch {
	case name == "TimestampOrNull":
		return "*time.Time"
	case len(target.Enum) > 0, g.isStruct(target):
		return typeName(name)
	default:
		return g.goType(target)
	}
}
