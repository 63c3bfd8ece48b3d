package openapi

import (
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// trim cuts the lists of an invalid body after maxViolations invalid items. The validator collects all violations before any
// is returned, which would take a quarter of a second for a hostile list of a hundred thousand items. Indexes do not change,
// and a list that is too long remains too long.
func trim(s *jsonschema.Schema, v any) (any, bool) {
	if s == nil {
		return v, false
	}
	if cut, changed := trim(s.Ref, v); changed {
		return cut, true
	}
	for _, branch := range s.AnyOf {
		if cut, changed := trim(branch, v); changed {
			return cut, true
		}
	}
	switch v := v.(type) {
	case []any:
		return trimList(s, v)
	case map[string]any:
		return trimObject(s, v)
	}
	return v, false
}

func trimList(s *jsonschema.Schema, list []any) (any, bool) {
	if s.Items2020 == nil || len(list) <= maxViolations {
		return list, false
	}
	if s.MaxItems != nil && *s.MaxItems < len(list) {
		return list[:*s.MaxItems+1], *s.MaxItems+1 < len(list) // items further above the limit need not be checked
	}
	wrong := 0
	for i, item := range list {
		if s.Items2020.Validate(item) == nil {
			continue
		}
		if wrong++; wrong == maxViolations {
			return list[:i+1], i+1 < len(list)
		}
	}
	return list, false
}

func trimObject(s *jsonschema.Schema, m map[string]any) (any, bool) {
	extra, _ := s.AdditionalProperties.(*jsonschema.Schema)
	var out map[string]any
	for name, v := range m {
		p := s.Properties[name]
		if p == nil {
			p = extra
		}
		cut, changed := trim(p, v)
		if !changed {
			continue
		}
		if out == nil {
			out = maps.Clone(m)
		}
		out[name] = cut
	}
	return out, out != nil
}
