package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	"cel.dev/cel-go/common/types"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Errors of a context that its schema permits and that conditions cannot use. They do not repeat values.
var (
	errInteger = errors.New("an integer that it reads has more than 64 bits")
	errForm    = errors.New("a value that it reads has a different type than the schema states")
)

// bind returns the values of the variables that the rules read, and for each property of the context that cannot be used, why.
func (s *Set) bind(v Vars) (bound map[string]any, unusable map[string]error) {
	bound, unusable = s.bound(v, s.uses)
	if len(s.counts) > 0 {
		bound[varCounts] = s.counted(v.Counts)
	}
	if len(s.aggregates) > 0 {
		s.bindAggregates(bound, v.Aggregates)
	}
	if len(s.lists) > 0 {
		s.bindLists(bound, looked(v.Listed))
	}
	return bound, unusable
}

// bound returns the values of some variables.
func (s *Set) bound(v Vars, names []string) (bound map[string]any, unusable map[string]error) {
	bound = make(map[string]any, len(names)+1)
	for _, name := range names {
		switch name {
		case varContext:
			bound[name], unusable = s.context(v.Context)
		case varResource:
			bound[name] = map[string]any{"type": v.Resource.Type, "id": v.Resource.ID}
		case varAction:
			bound[name] = map[string]any{"key": v.Action.Key, "mode": v.Action.Mode, "risk_class": v.Action.RiskClass}
		case varAudience:
			bound[name] = v.Audience
		case varEnvironment:
			bound[name] = map[string]any{"kind": string(v.Environment)}
		case varAssurance:
			bound[name] = assuranceOf(v.Assurance)
		case varSubject:
			bound[name] = map[string]any{
				"id": v.Subject.ID, "enrollment": v.Subject.Enrollment, "age": v.Now.Sub(v.Subject.CreatedAt),
				"passkeys": int64(v.Subject.Passkeys), "recently_recovered": v.Subject.RecentlyRecovered,
			}
		case varNow:
			bound[name] = v.Now
		}
	}
	return bound, unusable
}

// counted returns the counts by their keys. A rule whose count is missing cannot be evaluated.
func (s *Set) counted(counts map[Count]int) map[string]int64 {
	out := make(map[string]int64, len(s.counts))
	for _, c := range s.counts {
		if n, ok := counts[c]; ok {
			out[c.key()] = int64(min(n, s.most[c]))
		}
	}
	return out
}

// assuranceOf returns the variable assurance. A claim that the profile does not make has insufficient evidence, as for a minimum.
func assuranceOf(a policy.Assurance) map[string]any {
	claims := map[string]any{}
	for _, name := range policy.ClaimNames() {
		claims[name] = map[string]any{"status": string(policy.StatusInsufficient), "coverage": string(policy.CoverageNone)}
	}
	for _, c := range a.Claims {
		claims[c.Name] = withAge(map[string]any{"status": string(c.Status), "coverage": string(c.Coverage)}, c.FreshnessMS)
	}
	return withAge(map[string]any{"coverage": string(a.Coverage), "insufficient_evidence": a.InsufficientEvidence, "claims": claims}, a.FreshnessMS)
}

// withAge adds freshness_ms unless there is no evidence.
func withAge(fields map[string]any, ms *int64) map[string]any {
	if ms != nil {
		fields["freshness_ms"] = *ms
	}
	return fields
}

// context returns the properties of the context that rules read, with their declared types.
func (s *Set) context(raw []byte) (sent map[string]any, unusable map[string]error) {
	sent, unusable = map[string]any{}, map[string]error{}
	if len(s.reads) == 0 || len(raw) == 0 {
		return sent, unusable
	}
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		for _, name := range s.reads {
			unusable[name] = errForm
		}
		return sent, unusable
	}
	for _, name := range s.reads {
		value, given := values[name]
		if !given || value == nil {
			continue
		}
		made, err := s.shape.fields[name].value(value)
		if err != nil {
			unusable[name] = err
			continue
		}
		sent[name] = made
	}
	return sent, unusable
}

// value converts a value of JSON to the type of its shape. Null properties of objects are left out, so that has() finds neither
// them nor missing ones.
func (s *shape) value(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return s.number(v)
	case string:
		return v, s.expect(types.StringKind)
	case bool:
		return v, s.expect(types.BoolKind)
	case []any:
		if err := s.expect(types.ListKind); err != nil {
			return nil, err
		}
		return s.list(v)
	case map[string]any:
		return s.fields(v)
	default:
		return types.NullValue, s.expect(types.NullTypeKind)
	}
}

// expect checks the kind of a value.
func (s *shape) expect(kind types.Kind) error {
	if s.typ.Kind() != kind && s.typ.Kind() != types.DynKind {
		return errForm
	}
	return nil
}

// number converts a number. What the schema leaves open is a double, as JSON numbers are in CEL.
func (s *shape) number(n json.Number) (any, error) {
	if s.typ.Kind() != types.IntKind {
		f, err := n.Float64()
		if err != nil || s.expect(types.DoubleKind) != nil {
			return nil, errForm
		}
		return f, nil
	}
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	// 1.0 and 1e3 are integers to JSON Schema; up to 2^53 a float64 is exact.
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f), nil
	}
	return nil, errInteger
}

func (s *shape) list(items []any) (any, error) {
	out := make([]any, len(items))
	below := s.items
	if below == nil {
		below = dynamic
	}
	for i, item := range items {
		var err error
		if out[i], err = below.value(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fields converts an object: the declared properties of one that declares any, all of a map.
func (s *shape) fields(values map[string]any) (any, error) {
	if s.object == nil && s.expect(types.MapKind) != nil {
		return nil, errForm
	}
	out := make(map[string]any, len(values))
	for name, v := range values {
		below := s.items
		if s.object != nil {
			f := s.object.fields[name]
			if f == nil || v == nil {
				continue
			}
			below = f.shape
		}
		if below == nil {
			below = dynamic
		}
		made, err := below.value(v)
		if err != nil {
			return nil, err
		}
		out[name] = made
	}
	return out, nil
}
