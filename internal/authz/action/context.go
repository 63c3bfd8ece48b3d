package action

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

const (
	// maxFaults is how many faults of a context are listed. What the validator finds is looked through until there are as many
	// different ones, and no further than maxLooked.
	maxFaults = 20
	maxLooked = 1000
	// maxFaultText is the most characters of a message, and of each name in a location: both may repeat what the caller sent.
	maxFaultText = 300
)

// faults lists what a context breaks of the schema, as items of a 422. Where validating could cost too much it says so instead.
func (c contextSchema) faults(context map[string]any) []problem.Field {
	switch {
	case c.refuse != nil:
		return tooComplex("The action's context_schema costs too much to check: " + c.refuse.why +
			". Create a policy version with a smaller context_schema.")
	case !c.graph.affordable(context):
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

func tooComplex(msg string) []problem.Field {
	return []problem.Field{{Loc: []any{"body", "context"}, Msg: msg, Type: "context_too_complex"}}
}

// faultList gathers the leaves of the validator's tree of errors.
type faultList struct {
	fields []problem.Field
	looked int
}

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

// add leaves out what is listed already: a schema may say the same thing in several places.
func (l *faultList) add(f problem.Field) {
	same := func(other problem.Field) bool { return other.Msg == f.Msg && slices.Equal(other.Loc, f.Loc) }
	if !slices.ContainsFunc(l.fields, same) {
		l.fields = append(l.fields, f)
	}
}

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
