package rules

import (
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// sizes is a cost.Estimator: it knows how large the values of a context can be.
type sizes struct{ context *object }

// EstimateSize implements cost.Estimator.
func (s sizes) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	if found := s.of(element.Path()); found != nil && found.size > 0 {
		return &cost.SizeEstimate{Min: 0, Max: found.size}
	}
	if element.ComputedSize() != nil {
		return nil
	}
	switch element.Type().Kind() {
	case types.BoolKind, types.IntKind, types.DoubleKind, types.TimestampKind, types.DurationKind, types.NullTypeKind, types.OpaqueKind:
		return &cost.SizeEstimate{Min: 1, Max: 1} // decimals are the only opaque type
	}
	return &cost.SizeEstimate{Min: 0, Max: unboundedLength}
}

// EstimateCallCost implements cost.Estimator. It leaves every function at its standard price.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// of returns the shape of the value at a path; nil if it is not known.
func (s sizes) of(path []string) *shape {
	if len(path) == 0 {
		return nil
	}
	if path[0] == varAudience {
		return textShape
	}
	object := fixed[path[0]]
	if path[0] == varContext {
		object = s.context
	}
	var at *shape
	for _, step := range path[1:] {
		switch {
		case step == "@items" || step == "@values":
			if at = at.below(); at == nil {
				return nil
			}
			object = at.object
		case step == "@keys":
			return textShape
		case object == nil || object.fields[step] == nil:
			return nil
		default:
			at = object.fields[step].shape
			object = at.object
		}
	}
	return at
}

// below returns the shape of the items of a list or the values of a map; nil if there is none.
func (s *shape) below() *shape {
	if s == nil {
		return nil
	}
	return s.items
}
