package staff

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// By is a member of staff who manages others in the console.
type By struct {
	Person    string // id
	RequestID string
}

func (by By) operation(q *pg.Q, at time.Time) operation {
	return operation{q: q, actor: "person:" + by.Person, requestID: by.RequestID, at: at}
}

// InviteAs is Create by a member of staff. An environment that requires a second approver refuses it: a person who could invite others there
// could approve their own changes through them.
func (s *Service) InviteAs(ctx context.Context, scope pg.Scope, in Invitee, by By) (Invited, error) {
	p, err := s.newPerson(scope, in, "person:"+by.Person)
	if err != nil {
		return Invited{}, err
	}
	var out Invited
	err = s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		op := by.operation(q, p.CreatedAt)
		if err := op.mayManage(ctx, scope, by); err != nil {
			return err
		}
		if err := refuseAlone(ctx, q, scope); err != nil {
			return err
		}
		out, err = s.create(ctx, op, p, scope, in)
		return err
	})
	return out, err
}

// InviteAgainAs invites a person who has not joined, by mail if they have an address, and voids their earlier invitations. It refuses a person with a passkey or with
// roles in other environments: the invitation registers a passkey that has all of them.
func (s *Service) InviteAgainAs(ctx context.Context, scope pg.Scope, id string, by By) (Invited, error) {
	var out Invited
	err := s.managed(ctx, scope, id, by, func(op operation, p models.Person, _, elsewhere []models.Role) error {
		if p.Federated() {
			return problem.New(problem.Conflict, "An identity provider signs this person in. They register their passkey themselves, after signing in.")
		}
		keys, err := passkeysOfPerson(ctx, op.q, p.ID)
		if err != nil {
			return err
		}
		if len(keys) > 0 || len(elsewhere) > 0 {
			return problem.New(problem.Conflict, "The person has a passkey, or roles in another environment. The operator of the service invites them with countersign person invite --person.")
		}
		if err := refuseAlone(ctx, op.q, scope); err != nil {
			return err
		}
		if err := voidInvitations(ctx, op.q, p.ID, op.at); err != nil {
			return err
		}
		address, err := s.addressText(ctx, op.q, p)
		if err != nil {
			return err
		}
		out, err = s.inviteTo(ctx, op, scope, p, address)
		return err
	})
	return out, err
}

// ChangeRolesAs gives a person exactly these roles in the environment. If it removes any, it also ends the person's sessions.
func (s *Service) ChangeRolesAs(ctx context.Context, scope pg.Scope, id string, roles []models.Role, by By) error {
	if err := checkRoles(roles); err != nil {
		return err
	}
	return s.managed(ctx, scope, id, by, func(op operation, p models.Person, here, _ []models.Role) error {
		added := slices.DeleteFunc(slices.Clone(roles), func(r models.Role) bool { return slices.Contains(here, r) })
		gone := slices.DeleteFunc(slices.Clone(here), func(r models.Role) bool { return slices.Contains(roles, r) })
		if len(added) > 0 {
			if err := refuseAlone(ctx, op.q, scope); err != nil {
				return err
			}
		}
		return s.change(ctx, op, p, scope, added, gone)
	})
}

// RemoveAs withdraws all roles of a person in the environment, and revokes a person who has none elsewhere.
func (s *Service) RemoveAs(ctx context.Context, scope pg.Scope, id string, by By) error {
	return s.managed(ctx, scope, id, by, func(op operation, p models.Person, here, elsewhere []models.Role) error {
		if len(elsewhere) == 0 {
			return s.revoke(ctx, op, p)
		}
		return s.change(ctx, op, p, scope, nil, here)
	})
}

// managed locks a person with a role in the environment and calls f with their roles there and elsewhere. Others are not found. It refuses a member
// of staff who is not confirmed.
func (s *Service) managed(ctx context.Context, scope pg.Scope, id string, by By, f func(op operation, p models.Person, here, elsewhere []models.Role) error) error {
	now := s.clock.Now()
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		if id == by.Person {
			return problem.New(problem.Conflict, "You cannot change your own roles. Ask another operator.")
		}
		if err := by.operation(q, now).mayManage(ctx, scope, by); err != nil {
			return err
		}
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		held, err := grantsOf(ctx, q, p)
		if err != nil {
			return err
		}
		var here, elsewhere []models.Role
		for _, g := range held {
			if g.Environment.ID == scope.Environment {
				here = g.Roles
			} else {
				elsewhere = append(elsewhere, g.Roles...)
			}
		}
		if len(here) == 0 {
			return problem.NewNotFound()
		}
		return f(by.operation(q, now), p, here, elsewhere)
	})
}

// change grants and withdraws roles and records person.roles_changed if there are any.
func (s *Service) change(ctx context.Context, op operation, p models.Person, scope pg.Scope, added, gone []models.Role) error {
	data := events.PersonRolesChangedData{Person: p.ID}
	for _, r := range added {
		given, err := identity.GrantRole(ctx, op.q, models.PersonRole{
			PersonID: p.ID, EnvironmentID: scope.Environment, Role: r, GrantedAt: op.at, GrantedBy: op.actor,
		})
		if err != nil {
			return err
		}
		if given {
			data.Granted = append(data.Granted, string(r))
		}
	}
	for _, r := range gone {
		taken, err := withdrawRole(ctx, op.q, p.ID, scope.Environment, r)
		if err != nil {
			return err
		}
		if taken {
			data.Withdrawn = append(data.Withdrawn, string(r))
		}
	}
	if len(data.Withdrawn) > 0 {
		if err := s.endSessions(ctx, op.q, p.ID, op.at); err != nil {
			return err
		}
		if err := op.endWithoutRoles(ctx, scope, p); err != nil {
			return err
		}
	}
	if len(data.Granted)+len(data.Withdrawn) == 0 {
		return nil
	}
	return op.appendTo(ctx, scope, data)
}

// refuseAlone refuses to give access if the environment requires a second approver.
func refuseAlone(ctx context.Context, q *pg.Q, scope pg.Scope) error {
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err != nil || !env.SecondApproverRequired {
		return err
	}
	return problem.New(problem.Conflict, "The environment requires a second approver (second_approver_required), so one person cannot give access to it. The operator of the service gives roles with countersign person.")
}
