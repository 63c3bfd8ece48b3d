package authorization

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// namePeople finds the members of staff whom the request names, if the decision may lead to a hold: the approvers that the policy has it name, and the
// person who requests, who is notified and may not break the glass. They are stored with the response, so that a follow-up decision, which has no
// context, names the same.
func (s *Service) namePeople(ctx context.Context, q *pg.Q, d *decision) error {
	wanted := d.in.force.Contract.Requirements
	asked := len(wanted.Approvers()) > 0 || wanted.BreakGlass != nil || d.in.force.People.NamesRequester()
	if d.verdict.Effect != policy.Hold && (d.verdict.Effect != policy.Challenge || !asked) {
		return nil
	}
	if d.in.people != nil {
		d.response.people = d.in.people
		return nil
	}
	named := d.in.named
	if named == nil { // the first decision looked no one up
		named = d.in.force.People.Names(nil, d.in.facts.Subject.ExternalID)
	}
	d.response.people = map[string]string{}
	for field, text := range named {
		person, err := staff.Named(ctx, q, s.keys, d.in.base.TenantID, text)
		if err != nil {
			return err
		}
		d.response.people[field] = person
	}
	return nil
}
