package openapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Property is a property of the body of an operation, as a form for it needs it.
type Property struct {
	Name                string // its path in the body, such as brand.accent
	Type                string // string, integer, number, boolean, array or object, without null
	Format, Description string
	Required            bool
	MaxLength           *int // in characters
	Minimum, Maximum    string
	Enum                []string
	Items               string // type of the items of an array
}

// Properties returns the properties of the body of an operation, by name; none for an operation without a body.
func (c *Contract) Properties(operationID string) []Property {
	body := c.bodyOf(operationID)
	if body == nil {
		return nil
	}
	var out []Property
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		out = append(out, propertyOf(body, name, name))
	}
	return out
}

// Property returns the property at a path of the body of an operation; false if there is none.
func (c *Contract) Property(operationID, path string) (Property, bool) {
	at := c.bodyOf(operationID)
	names := strings.Split(path, ".")
	for i, name := range names {
		if at == nil || at.Properties[name] == nil {
			return Property{}, false
		}
		if i == len(names)-1 {
			return propertyOf(at, name, path), true
		}
		at = resolved(at.Properties[name])
	}
	return Property{}, false
}

func (c *Contract) bodyOf(operationID string) *jsonschema.Schema {
	op := c.byID[operationID]
	if op == nil || op.body == nil {
		return nil
	}
	return resolved(op.body)
}

// resolved follows references, and takes the other schema of one that also allows null.
func resolved(s *jsonschema.Schema) *jsonschema.Schema {
	for {
		switch {
		case s.Ref != nil && len(s.Properties) == 0 && s.Types == nil:
			s = s.Ref
		case len(s.AnyOf) > 0 && s.Types == nil:
			s = s.AnyOf[0]
		case len(s.OneOf) > 0 && s.Types == nil:
			s = s.OneOf[0]
		default:
			return s
		}
	}
}

func propertyOf(of *jsonschema.Schema, name, path string) Property {
	stated := of.Properties[name]
	s := resolved(stated)
	out := Property{Name: path, Type: typeOf(s), Description: s.Description, Required: slices.Contains(of.Required, name), MaxLength: s.MaxLength}
	if stated.Description != "" {
		out.Description = stated.Description
	}
	if s.Format != nil {
		out.Format = s.Format.Name
	}
	if s.Minimum != nil && s.Minimum.IsInt() {
		out.Minimum = s.Minimum.RatString()
	}
	if s.Maximum != nil && s.Maximum.IsInt() {
		out.Maximum = s.Maximum.RatString()
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			if text, ok := v.(string); ok {
				out.Enum = append(out.Enum, text)
			}
		}
	}
	if s.Items2020 != nil {
		out.Items = typeOf(resolved(s.Items2020))
	}
	return out
}

func typeOf(s *jsonschema.Schema) string {
	if s.Types == nil {
		return ""
	}
	for _, t := range s.Types.ToStrings() {
		if t != "null" {
			return t
		}
	}
	return ""
}
