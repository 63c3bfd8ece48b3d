package openapi

import (
	"maps"
	"slices"
	"strings"
)

// spelling finds properties of open objects that differ from a known property only in case. JSON Schema treats them as
// unknown, but encoding/json matches names without regard to case and would take them for the known one.
func (a *accepter) spelling(v any, loc []any, found []Violation) []Violation {
	if a == nil || len(found) >= maxViolations {
		return found
	}
	found = a.ref.spelling(v, loc, found)
	for _, branch := range a.anyOf {
		found = branch.spelling(v, loc, found)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			found = a.items.spelling(item, append(slices.Clip(loc), i), found)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p := a.props[name]; p != nil {
				found = p.spelling(v[name], append(slices.Clip(loc), name), found)
			} else if known := a.miscased(name); known != "" && len(found) < maxViolations {
				found = append(found, Violation{
					Loc: append(slices.Clip(loc), shorten(name)), Msg: shorten(name) + " is written " + known, Type: "extra_forbidden",
				})
			}
		}
	}
	return found
}

// miscased returns the known property that differs from name only in case; empty if there is none.
func (a *accepter) miscased(name string) string {
	if _, known := a.props[name]; known || a.closed {
		return ""
	}
	for known := range a.props {
		if len(known) == len(name) && strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}
