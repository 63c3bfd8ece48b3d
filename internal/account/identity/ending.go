package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Why a key ended with its source, as the audit log names it.
const (
	CauseIssuerRevoked = "issuer_revoked"
	CausePersonRevoked = "person_revoked"
	CauseRolesChanged  = "roles_changed"
)

// Ending is the end of a person's authority in an environment: of all of it, or of what their roles do not cover any more.
type Ending struct {
	Scope     pg.Scope
	Person    string        // id
	Roles     []models.Role // that remain in the environment
	Cause     string
	Actor     string
	RequestID string
	At        time.Time
}

// EndKeys ends the keys of a person that their remaining roles do not allow them to issue, and all keys that rest on those. It runs in the
// transaction that changes the roles and has locked the person's row, and returns the ended keys.
func EndKeys(ctx context.Context, q *pg.Q, e Ending) ([]models.Credential, error) {
	rows, err := uncovered(ctx, q, e.Scope, e.Person, e.Roles)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, c := range rows {
		ids[i] = c.ID
	}
	q = q.AsStored()
	if _, err := lockCredential(ctx, q, e.Scope, ids...); err != nil {
		return nil, err
	}
	ended, err := revokeCredential(ctx, q, e.Scope, ids, e.At)
	if err != nil {
		return nil, err
	}
	for _, c := range ended {
		data := events.CredentialRevokedData{CredentialCreatedData: credentialData(c), Cause: e.Cause, Source: "person:" + e.Person}
		if err := events.Append(ctx, q, entry(e.Scope, data, e.At, e.Actor, e.RequestID)); err != nil {
			return nil, err
		}
	}
	return ended, nil
}

// uncovered returns the keys that a person issued directly and could not issue with these roles. The keys below them may do no more.
func uncovered(ctx context.Context, q *pg.Q, scope pg.Scope, person string, remaining []models.Role) ([]models.Credential, error) {
	rows, err := issuedCredentials(ctx, q, scope, person)
	return slices.DeleteFunc(rows, func(c models.Credential) bool { return MayIssue(remaining, c.Scope, c.Permissions) }), err
}

// Rooted returns the keys that would end if a person had these roles in the environment.
func (s *Service) Rooted(ctx context.Context, scope pg.Scope, person string, remaining []models.Role) ([]models.Credential, error) {
	rows, err := uncovered(ctx, s.store.Q, scope, person, remaining)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, c := range rows {
		ids[i] = c.ID
	}
	under, err := s.Under(ctx, scope, ids...)
	return append(rows, under...), err
}

// Under returns the keys that rest on these and would end with them, the highest first.
func (s *Service) Under(ctx context.Context, scope pg.Scope, ids ...string) ([]models.Credential, error) {
	return credentialsUnder(ctx, s.store.AsStored(), scope, ids...)
}

// Orphans returns the keys that are in force although the key or the person that they rest on is not.
func (s *Service) Orphans(ctx context.Context, scope pg.Scope) ([]models.Credential, error) {
	return orphanedCredentials(ctx, s.store.Q, scope, s.clock.Now())
}

// Revocation names a credential to revoke.
type Revocation struct {
	ID string
	// ChildrenTo is the id of the credential that is given the credentials that rest on this one; without it they end too.
	ChildrenTo string
	// Caller is who may give them only to a credential of their own principal, or of the same one as before; nil is the operator.
	Caller *Principal
}

// Revoke ends a credential at once, with all of its keys and the client tokens that it issued, and with the credentials that rest on it unless
// they are given to a different issuer. Revoking it again has no effect.
func (s *Service) Revoke(ctx context.Context, scope pg.Scope, in Revocation, actor, requestID string) error {
	now := s.clock.Now()
	var ended []models.Credential
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if in.ChildrenTo == "" { // children that are given to another key are not ended
			q = q.AsStored()
		}
		locked, err := lockCredential(ctx, q, scope, slices.DeleteFunc([]string{in.ID, in.ChildrenTo}, func(id string) bool { return id == "" })...)
		if err != nil {
			return err
		}
		c, ok := locked[in.ID]
		if !ok {
			return problem.NewNotFound()
		}
		if c.RevokedAt != nil {
			return nil
		}
		data := events.CredentialRevokedData{CredentialCreatedData: credentialData(c)}
		if in.ChildrenTo != "" {
			if data.Given, err = give(ctx, q, scope, in, locked, now); err != nil {
				return err
			}
			data.GivenTo = in.ChildrenTo
		}
		if ended, err = revokeCredential(ctx, q, scope, []string{in.ID}, now); err != nil {
			return err
		}
		for _, e := range ended {
			if e.ID != c.ID {
				data = events.CredentialRevokedData{CredentialCreatedData: credentialData(e), Cause: CauseIssuerRevoked, Source: "credential:" + c.ID}
			}
			if err := events.Append(ctx, q, entry(scope, data, now, actor, requestID)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, e := range ended {
		s.Forget(e.ID)
	}
	return err
}

// refuseChildren returns the problem of a hand-over.
func refuseChildren(format string, args ...any) error {
	return problem.Invalid([]any{"query", "children_to"}, fmt.Sprintf(format, args...), "value_error")
}

// give gives the credentials that rest on a revoked one to a different issuer, and returns their ids.
func give(ctx context.Context, q *pg.Q, scope pg.Scope, in Revocation, locked Locked, now time.Time) ([]string, error) {
	from := locked[in.ID]
	to, err := locked.Whole(in.ChildrenTo)
	switch {
	case errors.Is(err, pg.ErrNotFound) || err == nil && !to.Lives(now):
		return nil, refuseChildren("children_to is not a valid key of this environment.")
	case err != nil:
		return nil, err
	case to.ID == from.ID || slices.Contains(to.Issuers, from.ID):
		return nil, refuseChildren("children_to ends with the revoked key. Name a key that does not depend on it.")
	case to.Scope != models.ScopeAdmin || !to.Permissions.Has(models.PermissionCredentials):
		return nil, refuseChildren("children_to cannot issue keys. Name an admin key with the permission %s.", models.PermissionCredentials)
	}
	if err := mayReceive(ctx, q, scope, in.Caller, from, to); err != nil {
		return nil, err
	}
	children, err := credentialsUnder(ctx, q, scope, from.ID)
	if err != nil {
		return nil, err
	}
	given := make([]string, len(children))
	for i, c := range children {
		if err := receives(to, from, c); err != nil {
			return nil, err
		}
		given[i] = c.ID
	}
	return given, moveCredentials(ctx, q, scope, from.ID, to)
}

// mayReceive refuses to give keys to a different principal unless that principal itself or the operator does so: with the name of a different
// party the caller's own keys would approve what the caller requests.
func mayReceive(ctx context.Context, q *pg.Q, scope pg.Scope, caller *Principal, from, to models.Credential) error {
	if to.FormerPrincipal != nil {
		return refuseChildren("children_to was itself given to a different principal, which is not known to be its only holder. Name a different key.")
	}
	if caller == nil || from.Principal == to.Principal {
		return nil
	}
	by, err := PrincipalBehind(ctx, q, scope, caller.Actor())
	if err == nil && (by.Principal != to.Principal || by.Former != "") {
		err = problem.New(problem.InsufficientScope, "children_to is a key of a different principal. Its owner gives it these keys, or the operator with countersign credential revoke --children-to.")
	}
	return err
}

// receives refuses a credential that its new issuer could not have issued.
func receives(to, from, c models.Credential) error {
	issuer := Principal{Scope: to.Scope, Permissions: to.Permissions}
	switch {
	case issuer.mayIssue(c.Scope, c.Permissions) != nil:
		return refuseChildren("The key %s has permissions that children_to does not have. Name a key with all of its permissions.", c.ID)
	case to.ExpiresAt != nil && (c.ExpiresAt == nil || c.ExpiresAt.After(*to.ExpiresAt)):
		return refuseChildren("The key %s would expire later than children_to. Name a key that expires later.", c.ID)
	case c.FormerPrincipal != nil && c.Principal != to.Principal:
		return refuseChildren("The key %s was given to a different principal before. Issue a new key in its place.", c.ID)
	case len(to.Issuers)+len(c.Issuers)-len(from.Issuers) > maxIssuers:
		return refuseChildren("The key %s would have more than %d keys above it. Name a key higher up.", c.ID, maxIssuers)
	}
	return nil
}
