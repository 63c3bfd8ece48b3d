package openapi

import "maps"

// trim cuts the lists of an invalid body after maxViolations invalid items. The validator collects all violations before any
// is returned, which would take a quarter of a second for a hostile list of a hundred thousand items. Indexes do not change,
// and a list that is too long remains too long.
func (a *accepter) trim(v any) (any, bool) {
	if a == nil || a.never {
		return v, false
	}
	if a.ref != nil {
		if cut, changed := a.ref.trim(v); changed {
			return cut, true
		}
	}
	for _, branch := range a.anyOf {
		if cut, changed := branch.trim(v); changed {
			return cut, true
		}
	}
	switch v := v.(type) {
	case []any:
		return a.trimList(v)
	case map[string]any:
		return a.trimObject(v)
	}
	return v, false
}

func (a *accepter) trimList(list []any) (any, bool) {
	if a.items == nil || len(list) <= maxViolations {
		return list, false
	}
	if a.maxItems < len(list) {
		return list[:a.maxItems+1], a.maxItems+1 < len(list) // items further above the limit need not be checked
	}
	wrong := 0
	for i, item := range list {
		if a.items.accept(item) {
			continue
		}
		if wrong++; wrong == maxViolations {
			return list[:i+1], i+1 < len(list)
		}
	}
	return list, false
}

func (a *accepter) trimObject(m map[string]any) (any, bool) {
	var out map[string]any
	for name, v := range m {
		p := a.props[name]
		if p == nil {
			p = a.extra
		}
		cut, changed := p.trim(v)
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
