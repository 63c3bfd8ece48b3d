// Package storedvalues selects the values of a request that are stored so that a policy can be simulated on it later, from the
// annotations "x-countersign-keep" of an action's context_schema, and seals them for storage.
//
// Everything that is not marked is not kept: a simulation has to say so, and must not guess it. The package is pure except for
// Vault. It may not read a clock or the database.
package storedvalues

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
)

// Annotation is the keyword of a context_schema that marks a property to keep. On the schema itself it marks the id of the
// resource.
const Annotation = "x-countersign-keep"

// Bounds of what is kept of one request, at most some 16 KiB.
const (
	MaxProperties = 16
	MaxValue      = 1024 // bytes of JSON; a longer value is not kept
)

// Plan lists what an action keeps of its requests. The zero value keeps nothing.
type Plan struct {
	paths    [][]string // sorted; none is below another
	resource bool
}

// Empty reports whether nothing is kept.
// Most actions keep nothing, and their decisions then write no row.
func (p Plan) Empty() bool { return len(p.paths) == 0 && !p.resource }

// Parse reads the annotations of a context_schema. One that cannot be used is an *annotation.Fault.
func Parse(schema []byte) (Plan, error) {
	found, err := annotation.Find(schema, Annotation)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	for _, f := range found {
		if f.Value != true {
			return Plan{}, &annotation.Fault{Place: f.Place, Why: "must be true; leave it out for a property that is not kept"}
		}
		if f.Path == nil {
			p.resource = true
			continue
		}
		if above := p.covering(f.Path); above != nil {
			return Plan{}, &annotation.Fault{Place: f.Place, Why: annotation.Pointer(above) + " is kept whole; remove one of the two annotations"}
		}
		p.paths = append(p.paths, f.Path)
	}
	if len(p.paths) > MaxProperties {
		return Plan{}, &annotation.Fault{Why: fmt.Sprintf("at most %d properties can be kept, and %d have %s", MaxProperties, len(p.paths), Annotation)}
	}
	return p, nil
}

// With returns a plan that keeps further properties, and the id of the resource if resource is set. Beyond twice MaxProperties none is added:
// it is not known then.
func (p Plan) With(paths [][]string, resource bool) Plan {
	out := Plan{paths: slices.Clone(p.paths), resource: p.resource || resource}
	for _, path := range paths {
		if len(path) == 0 || out.covering(path) != nil || len(out.paths) == 2*MaxProperties {
			continue
		}
		out.paths = slices.DeleteFunc(out.paths, func(below []string) bool { return len(below) > len(path) && slices.Equal(path, below[:len(path)]) })
		out.paths = append(out.paths, path)
	}
	return out
}

// covering returns the kept path that contains another path. A schema is read from the top, so the containing one is found first.
func (p Plan) covering(path []string) []string {
	for _, above := range p.paths {
		if len(above) <= len(path) && slices.Equal(above, path[:len(above)]) {
			return above
		}
	}
	return nil
}

// Values are the values kept of one request.
type Values struct {
	// Kept are JSON pointers to the properties whose value is known. If Context has no value there, the request had none.
	Kept []string `json:"kept"`
	// Context has the known values. An object, or null, on the way to a kept property is there if the
	// request had it.
	Context json.RawMessage `json:"context"`
	// ResourceID is nil unless the action keeps it.
	ResourceID *string `json:"resource_id,omitempty"`
}

// Values returns what is kept of a request; nil if the plan is empty. The context is a JSON object, or empty. A value beyond
// MaxValue, and one whose parent is not an object, is not kept. That it is missing from Kept says so: a simulation must not take it
// for absent.
func (p Plan) Values(resourceID string, context []byte) (*Values, error) {
	if p.Empty() {
		return nil, nil
	}
	given := map[string]any{}
	if len(context) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(context))
		decoder.UseNumber() // the digits that were sent
		if err := decoder.Decode(&given); err != nil {
			return nil, fmt.Errorf("kept values of a context: %w", err)
		}
	}
	out, known := &Values{Kept: []string{}}, map[string]any{}
	for _, path := range p.paths {
		taken, err := take(known, given, path)
		if err != nil {
			return nil, err
		}
		if taken {
			out.Kept = append(out.Kept, annotation.Pointer(path))
		}
	}
	if p.resource && len(resourceID) <= MaxValue {
		out.ResourceID = &resourceID
	}
	var err error
	out.Context, err = json.Marshal(known)
	return out, err
}

// take copies the value at a path, with the objects above it. It returns whether the value, or its absence, is known now.
func take(into, from map[string]any, path []string) (bool, error) {
	for _, name := range path[:len(path)-1] {
		below, given := from[name]
		if !given {
			return true, nil
		}
		if below == nil {
			into[name] = nil
			return true, nil
		}
		object, ok := below.(map[string]any)
		if !ok {
			return false, nil
		}
		if _, made := into[name].(map[string]any); !made {
			into[name] = map[string]any{}
		}
		into, from = into[name].(map[string]any), object
	}
	last := path[len(path)-1]
	value, given := from[last]
	if !given {
		return true, nil
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > MaxValue {
		return false, err
	}
	into[last] = value
	return true, nil
}

// Knows reports whether the value at a path of property names, or its absence, is known.
func (v *Values) Knows(path []string) bool {
	return v.known(func(kept, asked string) bool { return asked == kept || strings.HasPrefix(asked, kept+"/") }, path)
}

// KnowsPresence reports whether it is known if the request had a property at a path: its value is known, or one below it.
func (v *Values) KnowsPresence(path []string) bool {
	return v.Knows(path) || v.known(func(kept, asked string) bool { return strings.HasPrefix(kept, asked+"/") }, path)
}

// Request returns the known values of the context, and the id of the resource, which is empty if it is not known.
func (v *Values) Request() (context json.RawMessage, resource string) {
	if v == nil {
		return json.RawMessage("{}"), ""
	}
	if v.ResourceID != nil {
		resource = *v.ResourceID
	}
	return v.Context, resource
}

// KnowsAll reports whether the values at all of the paths are known, and the id of the resource if it is asked for.
func (v *Values) KnowsAll(paths [][]string, resource bool) bool {
	return (!resource || v != nil && v.ResourceID != nil) && !slices.ContainsFunc(paths, func(p []string) bool { return !v.Knows(p) })
}

func (v *Values) known(covers func(kept, asked string) bool, path []string) bool {
	if v == nil || len(path) == 0 {
		return false
	}
	asked := annotation.Pointer(path)
	return slices.ContainsFunc(v.Kept, func(kept string) bool { return covers(kept, asked) })
}
