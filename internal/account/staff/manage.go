package staff

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// States of a person. They are derived and not stored.
const (
	StateInvited = "invited" // no passkey yet, but a usable invitation
	StateLapsed  = "lapsed"  // neither a passkey nor a usable invitation
	StateActive  = "active"  // at least one passkey
	StateRevoked = "revoked"
)

// Listed is a person with the state, the roles and the number of passkeys that a list shows.
type Listed struct {
	models.Person
	State    string
	Grants   []Grant
	Passkeys int
	// Same are the accounts that count as someone else and have the same confirmed e-mail address: they may be the same person's.
	Same []models.Person
}

// List returns a page of a tenant's staff, newest first, and the cursor of the next page. Revoked people are included.
func (s *Service) List(ctx context.Context, tenant string, page pg.Page) ([]Listed, string, error) {
	rows, next, err := listPeople(ctx, s.store.Q, tenant, page)
	if err != nil {
		return nil, "", err
	}
	environments, err := tenancy.ListEnvironments(ctx, s.store.Q, tenant)
	if err != nil {
		return nil, "", err
	}
	same, err := s.sameAddress(ctx, s.store.Q, tenant)
	if err != nil {
		return nil, "", err
	}
	out := make([]Listed, 0, len(rows))
	for _, p := range rows {
		roles, err := RolesOf(ctx, s.store.Q, p.ID)
		if err != nil {
			return nil, "", err
		}
		keys, err := passkeysOfPerson(ctx, s.store.Q, p.ID)
		if err != nil {
			return nil, "", err
		}
		invited, err := s.isInvited(ctx, p)
		if err != nil {
			return nil, "", err
		}
		out = append(out, Listed{Person: p, State: state(p, len(keys), invited), Grants: grants(environments, roles), Passkeys: len(keys), Same: same[p.ID]})
	}
	return out, next, nil
}

// isInvited reports whether a person has a usable invitation.
func (s *Service) isInvited(ctx context.Context, p models.Person) (bool, error) {
	open, err := openInvitations(ctx, s.store.Q, p.ID, s.clock.Now())
	for _, i := range open {
		if ok, err := stands(ctx, s.store.Q, i, p); ok || err != nil {
			return ok, err
		}
	}
	return false, err
}

func state(p models.Person, keys int, invited bool) string {
	switch {
	case p.RevokedAt != nil:
		return StateRevoked
	case keys > 0:
		return StateActive
	case invited:
		return StateInvited
	default:
		return StateLapsed
	}
}

// Revoke ends a person's access at once, with their sessions, event streams and open invitations. It is final: to return,
// the person must be created again. Revoking twice has no effect.
func (s *Service) Revoke(ctx context.Context, tenant, id, actor string) error {
	now := s.clock.Now()
	return s.staffWrite(ctx, tenant, func(q *pg.Q) error {
		q = q.AsStored()
		p, err := LockPerson(ctx, q, tenant, id)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		return s.revoke(ctx, operation{q: q, actor: actor, at: now}, p)
	})
}

// revoke ends the access of a locked person.
func (s *Service) revoke(ctx context.Context, op operation, p models.Person) error {
	revoked, err := revokePerson(ctx, op.q, p.TenantID, p.ID, op.actor, op.at)
	if err != nil || !revoked {
		return err
	}
	if err := voidInvitations(ctx, op.q, p.ID, op.at); err != nil {
		return err
	}
	if err := deleteSavedFiltersOf(ctx, op.q, p.ID); err != nil {
		return err
	}
	if err := op.endConfirmations(ctx, p, ""); err != nil {
		return err
	}
	if err := s.endSessions(ctx, op.q, p.ID, op.at); err != nil {
		return err
	}
	environments, err := tenancy.ListEnvironments(ctx, op.q, p.TenantID)
	if err != nil {
		return err
	}
	for _, env := range environments {
		if err := op.endKeys(ctx, pg.Scope{Tenant: p.TenantID, Environment: env.ID}, p.ID, nil, identity.CausePersonRevoked); err != nil {
			return err
		}
	}
	return op.append(ctx, p, events.PersonRevokedData{Person: p.ID})
}

// endKeys ends the API keys that the person issued in an environment and could not issue with the roles that remain.
func (op operation) endKeys(ctx context.Context, scope pg.Scope, person string, remaining []models.Role, cause string) error {
	_, err := identity.EndKeys(ctx, op.q, identity.Ending{
		Scope: scope, Person: person, Roles: remaining, Cause: cause, Actor: op.actor, RequestID: op.requestID, At: op.at,
	})
	return err
}

// endWithoutRoles ends the API keys and the confirmations that a person's roles in the environment do not cover any more, after roles were
// withdrawn.
func (op operation) endWithoutRoles(ctx context.Context, scope pg.Scope, p models.Person) error {
	remaining, err := identity.RolesIn(ctx, op.q, p.ID, scope.Environment)
	if err != nil {
		return err
	}
	if !slices.Contains(remaining, models.RoleOperator) {
		if err := op.endConfirmations(ctx, p, scope.Environment); err != nil {
			return err
		}
	}
	return op.endKeys(ctx, scope, p.ID, remaining, identity.CauseRolesChanged)
}

// endSessions ends all sessions of a person whose row is locked, with the links for a first passkey that were issued in them, and
// notifies every process, which then closes the sessions' event streams.
func (s *Service) endSessions(ctx context.Context, q *pg.Q, person string, now time.Time) error {
	if err := voidInvitationsOf(ctx, q, person, now); err != nil {
		return err
	}
	ended, err := EndConsoleSessions(ctx, q, person, now)
	if err != nil {
		return err
	}
	for _, id := range ended {
		if err := q.Notify(ctx, pg.ChannelCredential, id); err != nil {
			return err
		}
	}
	return nil
}

// Grant gives a person roles in an environment of their tenant. Roles that the person already has are ignored.
func (s *Service) Grant(ctx context.Context, scope pg.Scope, id string, roles []models.Role, actor string) error {
	if err := checkRoles(roles); err != nil {
		return err
	}
	now := s.clock.Now()
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		return operation{q: q, actor: actor, at: now}.grant(ctx, p, scope, roles)
	})
}

// grant gives the person the roles that they do not have and records person.roles_changed if there are any.
func (op operation) grant(ctx context.Context, p models.Person, scope pg.Scope, roles []models.Role) error {
	var added []string
	for _, r := range roles {
		given, err := identity.GrantRole(ctx, op.q, models.PersonRole{
			PersonID: p.ID, EnvironmentID: scope.Environment, Role: r, GrantedAt: op.at, GrantedBy: op.actor,
		})
		if err != nil {
			return err
		}
		if given {
			added = append(added, string(r))
		}
	}
	if len(added) == 0 {
		return nil
	}
	return op.appendTo(ctx, scope, events.PersonRolesChangedData{Person: p.ID, Granted: added})
}

// Withdraw removes roles of a person in an environment. If it removed any, it also ends the person's sessions, so that no
// open stream or page outlives the role.
func (s *Service) Withdraw(ctx context.Context, scope pg.Scope, id string, roles []models.Role, actor string) error {
	if err := checkRoles(roles); err != nil {
		return err
	}
	now := s.clock.Now()
	return s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		q = q.AsStored()
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		op := operation{q: q, actor: actor, at: now}
		taken, err := op.withdraw(ctx, p, scope, roles)
		if err != nil || !taken {
			return err
		}
		return s.endSessions(ctx, q, p.ID, now)
	})
}

// withdraw removes the roles that the person has and records person.roles_changed. It returns false if there were none. The caller
// ends the person's sessions.
func (op operation) withdraw(ctx context.Context, p models.Person, scope pg.Scope, roles []models.Role) (bool, error) {
	var taken []string
	for _, r := range roles {
		gone, err := withdrawRole(ctx, op.q, p.ID, scope.Environment, r)
		if err != nil {
			return false, err
		}
		if gone {
			taken = append(taken, string(r))
		}
	}
	if len(taken) == 0 {
		return false, nil
	}
	if err := op.endWithoutRoles(ctx, scope, p); err != nil {
		return false, err
	}
	return true, op.appendTo(ctx, scope, events.PersonRolesChangedData{Person: p.ID, Withdrawn: taken})
}

// staffWrite is a transaction that changes who may do what in a tenant. One runs at a time, so that what it reads of the author still holds when it
// commits.
func (s *Service) staffWrite(ctx context.Context, tenant string, f func(q *pg.Q) error) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		if err := LockStaff(ctx, q, tenant); err != nil {
			return err
		}
		return f(q)
	})
}

// lockActive locks the row of a person and rejects one whose access was revoked.
func (s *Service) lockActive(ctx context.Context, q *pg.Q, tenant, id string) (models.Person, error) {
	p, err := LockPerson(ctx, q, tenant, id)
	switch {
	case errors.Is(err, pg.ErrNotFound):
		return p, problem.NewNotFound()
	case err == nil && p.RevokedAt != nil:
		return p, problem.New(problem.Conflict, "The person's access was revoked. Create the person again to invite them.")
	}
	return p, err
}

// grantsOf returns the roles of a person in all environments of their tenant.
func grantsOf(ctx context.Context, q *pg.Q, p models.Person) ([]Grant, error) {
	environments, err := tenancy.ListEnvironments(ctx, q, p.TenantID)
	if err != nil {
		return nil, err
	}
	roles, err := RolesOf(ctx, q, p.ID)
	return grants(environments, roles), err
}

// operation is the context of one change: the transaction that makes it, and the actor, request and time that its events have.
type operation struct {
	q         *pg.Q
	actor     string // such as "cli:person create" or "person:prs_..."
	requestID string // empty for the command line
	at        time.Time
}

// byPerson returns the operation of a person on themselves, such as a sign-in.
func byPerson(q *pg.Q, p models.Person, requestID string, at time.Time) operation {
	return operation{q: q, actor: "person:" + p.ID, requestID: requestID, at: at}
}

// appendTo appends an event to the log of one environment.
func (op operation) appendTo(ctx context.Context, scope pg.Scope, data events.Data) error {
	return events.Append(ctx, op.q, events.Entry{Scope: scope, At: op.at, Actor: op.actor, RequestID: op.requestID, Data: data})
}

// append appends an event to the log of every environment that the person has a role in. People belong to a tenant and logs to
// an environment, so that the auditors of each see what concerns them.
func (op operation) append(ctx context.Context, p models.Person, data events.Data) error {
	held, err := grantsOf(ctx, op.q, p)
	if err != nil {
		return err
	}
	return op.appendEach(ctx, p.TenantID, held, data)
}

// appendEach appends an event to the log of each environment of the grants.
func (op operation) appendEach(ctx context.Context, tenant string, held []Grant, data events.Data) error {
	for _, g := range held {
		if err := op.appendTo(ctx, pg.Scope{Tenant: tenant, Environment: g.Environment.ID}, data); err != nil {
			return err
		}
	}
	return nil
}
