// Package people reads which values of a request name members of staff, its approvers and the person who requests it, and which one names the agent
// that acts.
//
// A property of the context_schema names one if it carries "x-countersign-approver", "x-countersign-requester" or "x-countersign-agent", with the value
// true. The package is pure: which member of staff a value names is found in internal/account/staff.
package people

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
)

// The keywords of a context_schema.
const (
	ApproverAnnotation  = "x-countersign-approver"
	RequesterAnnotation = "x-countersign-requester"
	AgentAnnotation     = "x-countersign-agent"
)

// MaxApprovers is how many properties of a schema may name approvers.
const MaxApprovers = 8

// maxName is the length of the longest value that is looked up, in bytes.
const maxName = 320

// Requester is the field of the person who requests, in what Plan.Names returns.
const Requester = "requester"

// FieldPrefix begins the fields of approvers, as a policy writes them.
const FieldPrefix = "context."

// Plan says which properties of a request name people. The zero value names none.
type Plan struct {
	approvers [][]string
	requester []string
	agent     []string
}

// Parse reads the annotations of a context_schema. One that cannot be used is an *annotation.Fault.
func Parse(schema []byte) (Plan, error) {
	var p Plan
	approvers, err := find(schema, ApproverAnnotation)
	if err != nil {
		return p, err
	}
	requesters, err := find(schema, RequesterAnnotation)
	if err != nil {
		return p, err
	}
	agents, err := find(schema, AgentAnnotation)
	switch {
	case err != nil:
		return p, err
	case len(agents) > 1:
		return p, &annotation.Fault{Place: agents[1].Place, Why: "one property can name the agent"}
	case len(approvers) > MaxApprovers:
		return p, &annotation.Fault{Why: fmt.Sprintf("at most %d properties can have %s, and %d have it", MaxApprovers, ApproverAnnotation, len(approvers))}
	case len(requesters) > 1:
		return p, &annotation.Fault{Place: requesters[1].Place, Why: "one property can name the requester"}
	}
	for _, f := range approvers {
		p.approvers = append(p.approvers, f.Path)
	}
	for _, f := range requesters {
		p.requester = f.Path
	}
	for _, f := range agents {
		p.agent = f.Path
	}
	return p, nil
}

func find(schema []byte, keyword string) ([]annotation.Found, error) {
	found, err := annotation.Find(schema, keyword)
	for _, f := range found {
		switch {
		case f.Value != true:
			return nil, &annotation.Fault{Place: f.Place, Why: "must be true; leave it out for a property that names no one"}
		case f.Path == nil:
			return nil, &annotation.Fault{Place: f.Place, Why: "belongs to a property of the context, not to the schema itself"}
		case f.Type != "string":
			return nil, &annotation.Fault{Place: f.Place, Why: `belongs to a property of type "string": the id of an agent or of a member of staff, or a verified mail address`}
		}
	}
	return found, err
}

// HasApprover reports whether a field such as context.cost_centre_owner names an approver.
func (p Plan) HasApprover(field string) bool {
	for _, path := range p.approvers {
		if fieldOf(path) == field {
			return true
		}
	}
	return false
}

func fieldOf(path []string) string { return FieldPrefix + strings.Join(path, ".") }

// Names returns the values that name people, by field. The requester is the subject if no property names them, or the request leaves it out. A
// property that the request leaves out is left out.
func (p Plan) Names(context map[string]any, subject string) map[string]string {
	out := map[string]string{Requester: subject}
	add := func(field string, path []string) {
		value, _ := annotation.Lookup(context, path)
		if text, ok := value.(string); ok && text != "" && len(text) <= maxName {
			out[field] = text
		}
	}
	if len(p.requester) > 0 {
		add(Requester, p.requester)
	}
	for _, path := range p.approvers {
		add(fieldOf(path), path)
	}
	return out
}

// NamesRequester reports whether a property names the person who requests.
func (p Plan) NamesRequester() bool { return len(p.requester) > 0 }

// NamesAgent reports whether a property names the agent that acts.
func (p Plan) NamesAgent() bool { return len(p.agent) > 0 }

// Agent returns the agent that a request names; empty for none.
func (p Plan) Agent(context map[string]any) string {
	value, _ := annotation.Lookup(context, p.agent)
	text, _ := value.(string)
	return text
}
