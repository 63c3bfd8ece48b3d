package staff

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Accounts are not people. Each person who sees the link of an invitation, or chose the address that it was mailed to, can be the account, so the approvals of an invited account count where two
// people are asked for only from the time on at which someone else confirmed it; an account of an identity provider is confirmed by the
// provider. And one person can have an account of each kind: linked accounts count as one principal.
//
// A hold asks for two people if it requires more than one approval or its environment has second_approver_required, and every change
// request does. Package store counts (Holds.CountsPerson, Principals.Confirmed).

// maxCandidates is how many accounts the form that links two offers.
const maxCandidates = 200

// ConfirmIdentity is ConfirmIdentityAs at the command line. Whom the command line invited, it confirms only as the first operator
// of an environment, who then confirms the others.
func (s *Service) ConfirmIdentity(ctx context.Context, scope pg.Scope, id, actor string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		op := operation{q: q, actor: actor, at: s.clock.Now()}
		operators, err := confirmedOperators(ctx, q, scope, id)
		if err != nil {
			return err
		}
		roles, err := identity.RolesIn(ctx, q, id, scope.Environment)
		if err != nil {
			return err
		}
		return op.confirm(ctx, scope, p, operators == 0 && slices.Contains(roles, models.RoleOperator))
	})
}

// ConfirmIdentityAs records that the member of staff knows the person of an account, whose approvals count from now on where two people are
// asked for. It refuses the person, those who saw a link of theirs, and an operator who is not confirmed.
func (s *Service) ConfirmIdentityAs(ctx context.Context, scope pg.Scope, id string, by By) error {
	return s.managed(ctx, scope, id, by, func(op operation, p models.Person, _, _ []models.Role) error {
		if err := op.mayVouch(ctx, scope, by, p); err != nil {
			return err
		}
		return op.confirm(ctx, scope, p, false)
	})
}

// confirm confirms a locked person. alone permits an actor who saw a link of the person.
func (op operation) confirm(ctx context.Context, scope pg.Scope, p models.Person, alone bool) error {
	if p.JoinedAt == nil {
		return problem.New(problem.Conflict, "The person has not joined yet. Confirm them after they have registered a passkey.")
	}
	saw, err := op.saw(ctx, scope, p)
	if err != nil {
		return err
	}
	if saw && !alone {
		return problem.New(problem.SelfApproval, "Those who saw a link that registered a passkey of this person, or chose the address that it was mailed to, cannot confirm them: it could be their own. A different operator does, in the console under People.")
	}
	confirmed, err := confirmPerson(ctx, op.q, p, op.actor, op.at)
	if err != nil || !confirmed {
		return err
	}
	return op.append(ctx, p, events.PersonIdentityConfirmedData{Person: p.ID, ShownTo: p.ShownTo, MailedBy: p.MailedBy})
}

// mayVouch refuses a member of staff who is one of the people, is not confirmed, or is not an operator wherever the people have a role.
func (op operation) mayVouch(ctx context.Context, scope pg.Scope, by By, people ...models.Person) error {
	own, err := op.principal(ctx, scope, "person:"+by.Person)
	if err != nil {
		return err
	}
	confirmed, err := identity.IsConfirmed(ctx, op.q, scope, own, op.at)
	if err != nil {
		return err
	}
	if !confirmed {
		return problem.New(problem.Forbidden, "You were invited by a link that others saw, and no second operator has confirmed you yet. Ask one to confirm you first, under People.")
	}
	mine, err := RolesOf(ctx, op.q, by.Person)
	if err != nil {
		return err
	}
	for _, p := range people {
		if p.CountsAs() == own {
			return problem.New(problem.SelfApproval, "This is an account of yours. Ask another operator.")
		}
		held, err := RolesOf(ctx, op.q, p.ID)
		if err != nil {
			return err
		}
		for _, r := range held {
			if !slices.ContainsFunc(mine, func(m models.PersonRole) bool {
				return m.EnvironmentID == r.EnvironmentID && m.Role == models.RoleOperator
			}) {
				return problem.New(problem.Forbidden, "The person has a role in an environment that you are no operator of. An operator of all of them does this.")
			}
		}
	}
	return nil
}

// saw reports whether the actor saw a link that registered a passkey of an account of the person, or chose the address that it was mailed to.
func (op operation) saw(ctx context.Context, scope pg.Scope, p models.Person) (bool, error) {
	own, err := op.principal(ctx, scope, op.actor)
	if err != nil {
		return false, err
	}
	accounts, err := accountsOfPerson(ctx, op.q, p.TenantID, p.CountsAs())
	if err != nil {
		return false, err
	}
	for _, a := range accounts {
		for _, actor := range slices.Concat(a.ShownTo, a.MailedBy) {
			principal, err := op.principal(ctx, scope, actor)
			if err != nil || principal == own {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// principal returns the principal of an actor; all commands of the command line are one.
func (op operation) principal(ctx context.Context, scope pg.Scope, actor string) (string, error) {
	if strings.HasPrefix(actor, "cli:") {
		return "cli", nil
	}
	return identity.GetPrincipal(ctx, op.q, scope, actor)
}

// Link is LinkAs at the command line.
func (s *Service) Link(ctx context.Context, scope pg.Scope, id, other, actor string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		return s.link(ctx, operation{q: q, actor: actor, at: s.clock.Now()}, scope, [2]string{id, other}, func([2]models.Person) error { return nil })
	})
}

// LinkAs makes two accounts count as one principal, because they are one person's: their roles and sign-ins stay apart, but what both approve
// counts once, also in what is still open. The member of staff must be able to confirm both. It cannot be undone.
func (s *Service) LinkAs(ctx context.Context, scope pg.Scope, id, other string, by By) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		op := by.operation(q, s.clock.Now())
		return s.link(ctx, op, scope, [2]string{id, other}, func(both [2]models.Person) error {
			if err := op.mayVouch(ctx, scope, by, both[:]...); err != nil {
				return err
			}
			for _, p := range both {
				held, err := grantsOf(ctx, q, p)
				if err != nil {
					return err
				}
				for _, g := range held {
					if err := refuseAlone(ctx, q, pg.Scope{Tenant: p.TenantID, Environment: g.Environment.ID}); err != nil {
						return err
					}
				}
				saw, err := op.saw(ctx, scope, p)
				if err != nil {
					return err
				}
				if saw {
					return problem.New(problem.SelfApproval, "Those who saw a link that registered a passkey of one of the accounts, or chose the address that it was mailed to, cannot link them. A different operator does.")
				}
			}
			return nil
		})
	})
}

// link links two accounts if permit allows it. Both must be confirmed: a linked account acts for the other, for example when it rotates a key.
func (s *Service) link(ctx context.Context, op operation, scope pg.Scope, ids [2]string, permit func(both [2]models.Person) error) error {
	if ids[0] == ids[1] {
		return badValue("other", "An account cannot be linked with itself. Choose the other account of the person.")
	}
	ordered := ids
	slices.Sort(ordered[:]) // one order, so that two links cannot wait for each other
	for _, id := range ordered {
		_, err := s.lockActive(ctx, op.q, scope.Tenant, id)
		if problem.Is(err, problem.NotFound) && id == ids[1] {
			return badValue("other", "The tenant has no such person. Choose the other account of the person.")
		}
		if err != nil {
			return err
		}
	}
	var both [2]models.Person
	for i, id := range ids {
		p, err := s.lockActive(ctx, op.q, scope.Tenant, id)
		if err != nil {
			return err
		}
		both[i] = p
	}
	if err := permit(both); err != nil {
		return err
	}
	if both[0].ConfirmedAt == nil || both[1].ConfirmedAt == nil {
		return problem.New(problem.Conflict, "An account that no second operator has confirmed cannot be linked. Confirm it first.")
	}
	from, to := both[0].CountsAs(), both[1].CountsAs()
	if from == to {
		return nil
	}
	credentials, err := identity.LinkPrincipals(ctx, op.q, scope.Tenant, from, to)
	if err != nil {
		return err
	}
	for i, p := range both {
		if err := op.append(ctx, p, events.PersonLinkedData{Person: p.ID, Other: both[1-i].ID, Principal: to, Credentials: credentials}); err != nil {
			return err
		}
	}
	return nil
}

// LinkCandidates returns the confirmed accounts of the tenant that do not count as the person's yet. The newest come first.
func (s *Service) LinkCandidates(ctx context.Context, p models.Person) ([]models.Person, error) {
	return linkablePeople(ctx, s.store.Q, p, maxCandidates)
}
