package action

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Draft is a policy version that is not stored, for tests of a policy without a service. Its conditions are not compiled.
type Draft struct {
	Requirements  policy.Requirements // resolved
	ContextSchema map[string]any
	Aggregates    aggregate.Plan
	schema        contextSchema
}

// NewDraft checks the requirements and the context_schema of a policy version as CreateVersion does, with the same errors.
func NewDraft(r policy.Requirements, schema json.RawMessage, kind policy.EnvironmentKind) (Draft, error) {
	if err := checkRequirements(r, kind); err != nil {
		return Draft{}, err
	}
	raw, err := checkContextSchema(schema)
	if err != nil {
		return Draft{}, err
	}
	d := Draft{Requirements: r.Resolve(kind)}
	if d.schema, err = compileSchema(raw); err != nil {
		return d, err
	}
	if d.Aggregates, err = aggregate.Parse(raw); err != nil {
		return d, err
	}
	return d, json.Unmarshal(raw, &d.ContextSchema)
}

// ContextFaults returns the violations of the context_schema in a request's context, as the items of the 422 response with which
// the service would refuse the request.
func (d Draft) ContextFaults(context map[string]any) []problem.Field {
	return append(d.schema.faults(context), amountFaults(d.Aggregates, context)...)
}
