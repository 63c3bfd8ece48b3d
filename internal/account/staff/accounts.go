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

// Accounts are not people. Everyone who saw the link of an invitation, or chose the address that it was mailed to, can be the account, and so can
// everyone who may be one of them. models.Person.MayBe lists them all. Confirming, linking, counting and self-review read that list and nothing else
// (identity.Behind). An account that is not confirmed counts for nothing where two people are asked for, and manages no one.
//
// An identity provider confirms its own accounts. It knows them apart from each other, but not from people who were invited or who come by another
// provider: until an operator links or confirms them, the two kinds do not count together.
//
// A hold asks for two people if it requires more than one approval, bars self-review, or its environment has second_approver_required; every change
// request does.

// maxCandidates is how many accounts the form that links two offers.
const maxCandidates = 200

// ConfirmIdentity is ConfirmIdentityAs at the command line. Whom the command line invited, it confirms only as the first operator
// of an environment, who then confirms the others.
func (s *Service) ConfirmIdentity(ctx context.Context, scope pg.Scope, id, actor string) error {
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		op := operation{q: q, actor: actor, at: s.clock.Now()}
		first, err := op.isFirstOperator(ctx, scope, p)
		if err != nil {
			return err
		}
		return op.confirm(ctx, scope, p, first)
	})
}

// isFirstOperator reports whether a person is an operator of an environment that has no other confirmed operator.
func (op operation) isFirstOperator(ctx context.Context, scope pg.Scope, p models.Person) (bool, error) {
	operators, err := confirmedOperators(ctx, op.q, scope, p.ID)
	if err != nil || operators > 0 {
		return false, err
	}
	roles, err := identity.RolesIn(ctx, op.q, p.ID, scope.Environment)
	return slices.Contains(roles, models.RoleOperator), err
}

// confirmFirst confirms the first operator of an environment, whom the command line invited, when they join: without it no one could be confirmed.
func (op operation) confirmFirst(ctx context.Context, p models.Person, invitedBy string) error {
	held, err := grantsOf(ctx, op.q, p)
	if err != nil || !strings.HasPrefix(invitedBy, "cli:") {
		return err
	}
	for _, g := range held {
		scope := pg.Scope{Tenant: p.TenantID, Environment: g.Environment.ID}
		first, err := op.isFirstOperator(ctx, scope, p)
		if err != nil {
			return err
		}
		if first {
			op.actor = invitedBy
			return op.confirm(ctx, scope, p, true)
		}
	}
	return nil
}

// ConfirmIdentityAs records that the member of staff knows the person of an account, whose approvals count from now on where two people are
// asked for. It refuses the person, everyone who may be the person, and an operator who is not confirmed.
func (s *Service) ConfirmIdentityAs(ctx context.Context, scope pg.Scope, id string, by By) error {
	return s.managed(ctx, scope, id, by, func(op operation, p models.Person, _, _ []models.Role) error {
		if err := op.mayVouch(ctx, scope, by, p); err != nil {
			return err
		}
		return op.confirm(ctx, scope, p, false)
	})
}

// confirm confirms a locked person. alone permits an actor who may be the person.
func (op operation) confirm(ctx context.Context, scope pg.Scope, p models.Person, alone bool) error {
	if p.JoinedAt == nil {
		return problem.New(problem.Conflict, "The person has not joined yet. Confirm them after they have registered a passkey.")
	}
	may, err := op.mayBe(ctx, scope, p, false)
	if err != nil {
		return err
	}
	if may && !alone {
		return problem.New(problem.SelfApproval, "Those who saw a link that registered a passkey of this person, or chose the address that it was mailed to, cannot confirm them, nor can anyone who may be "+
			"one of them: it could be their own account. An operator who was invited confirms no one whom an identity provider signs in. A different operator does, in the console under People.")
	}
	confirmed, err := confirmPerson(ctx, op.q, p, op.actor, op.at)
	if err != nil || !confirmed {
		return err
	}
	return op.append(ctx, p, events.PersonIdentityConfirmedData{Person: p.ID, ShownTo: p.MayBe, MailedBy: p.MailedBy})
}

// mayManage refuses a member of staff who is no operator of the environment any more, or is not confirmed: such an account may be anyone who
// invited it.
func (op operation) mayManage(ctx context.Context, scope pg.Scope, by By) error {
	roles, err := identity.RolesIn(ctx, op.q, by.Person, scope.Environment)
	if err != nil {
		return err
	}
	if !slices.Contains(roles, models.RoleOperator) {
		return problem.New(problem.Forbidden, "Your roles changed, and you manage no people in this environment any more.")
	}
	own, err := op.principal(ctx, scope, "person:"+by.Person)
	if err != nil {
		return err
	}
	confirmed, err := identity.IsConfirmed(ctx, op.q, scope, own, op.at)
	if err == nil && !confirmed {
		err = problem.New(problem.Forbidden, "You were invited by a link that others saw, and no second operator has confirmed you yet, so you cannot manage people. Ask one to confirm you first, "+
			"under People; countersign person confirm confirms the first operator of an environment.")
	}
	return err
}

// mayVouch refuses a member of staff who is one of the people, or is not an operator wherever the people have a role.
func (op operation) mayVouch(ctx context.Context, scope pg.Scope, by By, people ...models.Person) error {
	own, err := op.principal(ctx, scope, "person:"+by.Person)
	if err != nil {
		return err
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

// mayBe reports whether the actor may be a person, as far as the invitations of all their accounts say, confirmed or not. Unless invitedOnly is
// set, it counts a person of an identity provider as possibly anyone who came in a different way.
func (op operation) mayBe(ctx context.Context, scope pg.Scope, p models.Person, invitedOnly bool) (bool, error) {
	own, err := identity.PrincipalBehind(ctx, op.q, scope, op.actor)
	if err != nil {
		return false, err
	}
	person, err := identity.PrincipalBehind(ctx, op.q, scope, "person:"+p.ID)
	if err != nil {
		return false, err
	}
	if person.MayBe, err = op.everyone(ctx, p.TenantID, p.CountsAs()); err != nil {
		return false, err
	}
	if invitedOnly {
		own.ByProvider, person.ByProvider = false, false
	}
	if own.MayBeSame(person) {
		return true, nil
	}
	// An operator who may be one of those is refused too, such as one who was invited and whom an identity provider signs in as well.
	for _, principal := range person.MayBe {
		if principal == identity.CommandLine || invitedOnly {
			continue
		}
		one, err := identity.PrincipalBehind(ctx, op.q, scope, principal)
		if err != nil || own.MayBeSame(one) {
			return err == nil, err
		}
	}
	return false, nil
}

// everyone returns the principals that may be one of a principal's accounts: those whom their sets list, and those whom the sets of these list, for
// sets that version 1.0 stored. The command line invites everyone at first, so that it counts only if it made the account itself.
func (op operation) everyone(ctx context.Context, tenant, principal string) ([]string, error) {
	var out []string
	next, direct := []string{principal}, true
	for len(next) > 0 {
		accounts, err := identity.AccountsOf(ctx, op.q, tenant, next)
		if err != nil {
			return nil, err
		}
		next = nil
		for _, a := range accounts {
			for _, one := range identity.SetOf(a) {
				if one == principal || slices.Contains(out, one) || one == identity.CommandLine && !direct {
					continue
				}
				out = append(out, one)
				if strings.HasPrefix(one, "person:") {
					next = append(next, one)
				}
			}
		}
		direct = false
	}
	return out, nil
}

// shown records who may be the account from now on, because an actor saw a link that registered a passkey of it or chose the address that the link
// was mailed to. It ends the confirmation of the person, and those that the person gave.
func (op operation) shown(ctx context.Context, p models.Person, actor string) error {
	scope := pg.Scope{Tenant: p.TenantID}
	one, err := identity.PrincipalBehind(ctx, op.q, scope, actor)
	if err != nil {
		return err
	}
	behind, err := op.everyone(ctx, p.TenantID, one.Principal)
	if err != nil {
		return err
	}
	set := identity.SetOf(p)
	for _, principal := range append([]string{one.Principal}, behind...) {
		if principal != p.CountsAs() && !slices.Contains(set, principal) && (principal == one.Principal || principal != identity.CommandLine) {
			set = append(set, principal)
		}
	}
	if err := putSet(ctx, op.q, p, set); err != nil {
		return err
	}
	return op.unconfirm(ctx, p)
}

// unconfirm ends the confirmation of a person and, because an unconfirmed account confirms no one, those that the person gave.
func (op operation) unconfirm(ctx context.Context, p models.Person) error {
	ended, err := unconfirm(ctx, op.q, p, op.at)
	if err != nil {
		return err
	}
	for _, account := range ended {
		if err := op.append(ctx, account, events.PersonConfirmationEndedData{Person: account.ID}); err != nil {
			return err
		}
		if err := op.endConfirmations(ctx, account, ""); err != nil {
			return err
		}
	}
	return nil
}

// endConfirmations ends the confirmations that a person gave and could not give any more: of the people with a role in an environment, or of all if
// it is empty.
func (op operation) endConfirmations(ctx context.Context, giver models.Person, environment string) error {
	confirmed, err := confirmedBy(ctx, op.q, giver, environment)
	if err != nil {
		return err
	}
	for _, p := range confirmed {
		if err := op.unconfirm(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// principal returns the principal of an actor; all commands of the command line are one.
func (op operation) principal(ctx context.Context, scope pg.Scope, actor string) (string, error) {
	return identity.GetPrincipal(ctx, op.q, scope, actor)
}

// Link is LinkAs at the command line.
func (s *Service) Link(ctx context.Context, scope pg.Scope, id, other, actor string) error {
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		return s.link(ctx, operation{q: q, actor: actor, at: s.clock.Now()}, scope, [2]string{id, other}, func([2]models.Person) error { return nil })
	})
}

// LinkAs makes two accounts count as one principal, because they are one person's: their roles and sign-ins stay apart, but what both approve
// counts once, also in what is still open. The member of staff must be able to confirm both. It cannot be undone.
func (s *Service) LinkAs(ctx context.Context, scope pg.Scope, id, other string, by By) error {
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		op := by.operation(q, s.clock.Now())
		if err := op.mayManage(ctx, scope, by); err != nil {
			return err
		}
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
				may, err := op.mayBe(ctx, scope, p, true)
				if err != nil {
					return err
				}
				if may {
					return problem.New(problem.SelfApproval, "Those who saw a link that registered a passkey of one of the accounts, or chose the address that it was mailed to, cannot link them, nor can anyone who may be "+
						"one of them. A different operator does.")
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
