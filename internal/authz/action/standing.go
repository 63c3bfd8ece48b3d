package action

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// checkStanding refuses standing approvals that name an amount or an agent which the schema does not mark.
func checkStanding(s *policy.Standing, schema []byte) error {
	if s == nil {
		return nil
	}
	counted, err := aggregate.Parse(schema)
	if err != nil {
		return err
	}
	named, err := people.Parse(schema)
	if err != nil {
		return err
	}
	var fields []problem.Field
	if a := s.MaxAmount; a != nil {
		if f, known := counted.Field(a.Field); !known || f.Kind != aggregate.Sum {
			fields = append(fields, problem.Field{
				Loc: []any{"body", "requirements", "standing", "max_amount", "field"}, Type: "unknown_amount",
				Msg: fmt.Sprintf("no property %q of context_schema has %q: %q; mark it, or correct the name", a.Field, aggregate.Annotation, aggregate.Sum),
			})
		}
	}
	if s.Agent == policy.StandingNamed && !named.NamesAgent() {
		fields = append(fields, problem.Field{
			Loc: []any{"body", "requirements", "standing", "agent"}, Type: "unknown_agent",
			Msg: fmt.Sprintf("no property of context_schema has %q: true; mark the one that names the agent, or permit any agent", people.AgentAnnotation),
		})
	}
	if len(fields) == 0 {
		return nil
	}
	return problem.InvalidFields(fields)
}
