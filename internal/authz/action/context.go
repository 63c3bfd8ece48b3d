package action

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

const (
	// maxFaults is the maximum number of faults in a response. The errors of the validator are searched until there are that
	// many different ones, but no more than maxLooked errors.
	maxFaults = 20
	maxLooked = 1000
	// maxFaultText is the maximum number of characters of a message, and of each name in a location: both may repeat input.
	maxFaultText = 300
)

// faults returns the violations of the schema in a context, as items of a 422 response. If validation could cost too much, it
// returns that as the only fault.
func (c contextSchema) faults(context map[string]any) []problem.Field {
	if c.refuse != nil {
		return tooComplex("The action's context_schema costs too much to check: " + c.refuse.why +
			". Create a policy version with a smaller context_schema.")
	}
	switch affordable, mistaken := c.graph.affordable(context); {
	case mistaken != "":
		return []problem.Field{{Loc: []any{"body", "context"}, Type: strictjson.TypeAmbiguousKey,
			Msg: "context has the property " + clip(mistaken, maxFaultText) + ", which differs in case only from one that the action's context_schema declares. Use the declared name."}}
	case !affordable:
		return tooComplex("Checking this context against the action's context_schema costs too much: " +
			"send fewer or smaller values, or create a policy version with a simpler context_schema.")
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(c.schema.Validate(any(context)), &invalid) {
		return nil
	}
	l := faultList{}
	l.collect(invalid)
	return l.fields
}

// tooComplex returns the fault of a context that is not validated.
func tooComplex(msg string) []problem.Field {
	return []problem.Field{{Loc: []any{"body", "context"}, Msg: msg, Type: "context_too_complex"}}
}

// faultList collects the leaves of the validator's tree of errors.
type faultList struct {
	fields []problem.Field
	looked int
}

// collect adds the leaves below an error.
func (l *faultList) collect(e *jsonschema.ValidationError) {
	if len(l.fields) == maxFaults || l.looked == maxLooked {
		return
	}
	if len(e.Causes) == 0 {
		l.looked++
		l.add(faultOf(e))
		return
	}
	for _, cause := range e.Causes {
		l.collect(cause)
	}
}

// add skips a fault that is listed already: a schema may state the same rule in several places.
func (l *faultList) add(f problem.Field) {
	same := func(other problem.Field) bool { return other.Msg == f.Msg && slices.Equal(other.Loc, f.Loc) }
	if !slices.ContainsFunc(l.fields, same) {
		l.fields = append(l.fields, f)
	}
}

// faultOf converts an error of the validator.
func faultOf(e *jsonschema.ValidationError) problem.Field {
	loc := []any{"body", "context"}
	for _, step := range e.InstanceLocation {
		loc = append(loc, clip(step, maxFaultText))
	}
	msg := "context breaks the action's context_schema"
	if e.ErrorKind != nil {
		if unit := e.DetailedOutput(); unit.Error != nil {
			msg += ": " + clip(unit.Error.String(), maxFaultText)
		}
	}
	return problem.Field{Loc: loc, Msg: msg + ".", Type: "context_schema"}
}
