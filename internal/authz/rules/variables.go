package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// The variables of a condition.
const (
	varContext     = "context"
	varResource    = "resource"
	varAction      = "action"
	varAudience    = "audience"
	varEnvironment = "environment"
	varAssurance   = "assurance"
	varSubject     = "subject"
	varNow         = "now"
)

// requestVars are the variables that are known from a request and its action alone.
var requestVars = []string{varContext, varResource, varAction, varAudience, varEnvironment}

// shortText is the maximum length of an id, a name or a code of a request.
const shortText = 256

var (
	textShape     = &shape{typ: types.StringType, size: shortText}
	intShape      = &shape{typ: types.IntType}
	boolShape     = &shape{typ: types.BoolType}
	durationShape = &shape{typ: types.DurationType}
)

func oneOf(values ...string) *shape {
	return &shape{typ: types.StringType, size: shortText, enum: values}
}

func objectOf(o *object) *shape { return &shape{typ: types.NewObjectType(o.name), object: o} }

// fixed are the variables other than the context that have properties.
var fixed = map[string]*object{
	varResource: {name: "@resource", fields: map[string]*field{"type": {shape: textShape}, "id": {shape: textShape}}},
	varAction: {name: "@action", fields: map[string]*field{
		"key": {shape: textShape}, "mode": {shape: oneOf("test", "shadow", "enforce")}, "risk_class": {shape: oneOf("low", "elevated", "high", "critical")},
	}},
	varEnvironment: {name: "@environment", fields: map[string]*field{"kind": {shape: oneOf("sandbox", "live")}}},
	varAssurance: {name: "@assurance", fields: map[string]*field{
		"coverage": {shape: coverageShape}, "freshness_ms": {shape: intShape, optional: true},
		"insufficient_evidence": {shape: boolShape}, "claims": {shape: objectOf(claimsObject)},
	}},
	varSubject: {name: "@subject", fields: map[string]*field{
		"id": {shape: textShape}, "enrollment": {shape: oneOf("none", "collecting", "enrolled")}, "age": {shape: durationShape},
		"passkeys": {shape: intShape}, "recently_recovered": {shape: boolShape},
	}},
}

var coverageShape = oneOf(string(policy.CoverageNone), string(policy.CoverageSparse), string(policy.CoveragePartial), string(policy.CoverageSufficient))

// claimsObject has one property for each claim.
var claimsObject = func() *object {
	out := &object{name: "@claims", fields: map[string]*field{}}
	for _, name := range policy.ClaimNames() {
		statuses := []string{string(policy.StatusInsufficient), string(policy.StatusUnsupported), string(policy.NotPresent)}
		for _, s := range policy.MinimumStatuses(name) {
			statuses = append(statuses, string(s))
		}
		claim := &object{name: "@claim_" + name, fields: map[string]*field{
			"status": {shape: oneOf(statuses...)}, "coverage": {shape: coverageShape}, "freshness_ms": {shape: intShape, optional: true},
		}}
		out.fields[name] = &field{shape: objectOf(claim)}
	}
	return out
}()

// provider is the types of one set of rules: the fixed variables and the objects of a context. It records the last property
// that it did not find, for the message of the fault.
type provider struct {
	types.Provider
	objects map[string]*object
	missing string
}

func newProvider(rest types.Provider, context *object) *provider {
	p := &provider{Provider: rest, objects: map[string]*object{}}
	p.add(context)
	for _, o := range fixed {
		p.add(o)
	}
	return p
}

func (p *provider) add(o *object) {
	if o == nil || p.objects[o.name] != nil {
		return
	}
	p.objects[o.name] = o
	for _, f := range o.fields {
		for s := f.shape; s != nil; s = s.items {
			p.add(s.object)
		}
	}
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if o, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(o.name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := p.objects[name]; ok {
		return slices.Sorted(maps.Keys(o.fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. The values are maps at evaluation, so that the field needs no accessors.
func (p *provider) FindStructFieldType(name, property string) (*types.FieldType, bool) {
	o, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, property)
	}
	f, ok := o.fields[property]
	if !ok {
		p.missing = fmt.Sprintf("there is no property %q here; the declared ones are %s", property, names(o))
		return nil, false
	}
	return &types.FieldType{Type: f.typ}, true
}

// NewValue implements types.Provider.
func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok {
		return types.NewErr("%s cannot be constructed", name)
	}
	return p.Provider.NewValue(name, fields)
}

// names lists the properties of an object for a message, within some hundred characters.
func names(o *object) string {
	all := slices.Sorted(maps.Keys(o.fields))
	if len(all) == 0 {
		return "none: add them to properties in context_schema"
	}
	const most = 20
	if len(all) > most {
		all = append(all[:most], "...")
	}
	return strings.Join(all, ", ")
}
