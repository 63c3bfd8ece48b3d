package openapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// spelling finds properties of open objects that differ from a known property only in case. JSON Schema treats them as
// unknown, but encoding/json matches names without regard to case and would take them for the known one.
func spelling(s *jsonschema.Schema, v any, loc []any, found []Violation) []Violation {
	if s == nil || len(found) >= maxViolations {
		return found
	}
	found = spelling(s.Ref, v, loc, found)
	for _, branch := range s.AnyOf {
		found = spelling(branch, v, loc, found)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			found = spelling(s.Items2020, item, append(slices.Clip(loc), i), found)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p := s.Properties[name]; p != nil {
				found = spelling(p, v[name], append(slices.Clip(loc), name), found)
			} else if known := miscased(s, name); known != "" && len(found) < maxViolations {
				found = append(found, Violation{
					Loc: append(slices.Clip(loc), shorten(name)), Msg: shorten(name) + " is written " + known, Type: "extra_forbidden",
				})
			}
		}
	}
	return found
}

// miscased returns the known property of an open object that differs from name only in case; empty if there is none.
func miscased(s *jsonschema.Schema, name string) string {
	if s.AdditionalProperties == false {
		return ""
	}
	for known := range s.Properties {
		if len(known) == len(name) && strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}
