package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// maxIssuers is how many credentials may stand above one, so that an operator can follow where its authority comes from.
const maxIssuers = 8

// source is the authority that a new credential rests on.
type source struct {
	principal string
	former    *string
	issuers   []string   // ids of credentials, the first issuer first
	expires   *time.Time // when the issuer expires; nil is never
	lapses    *time.Time // models.Credential.LapsesAt
}

// sourceOf returns the source of a new credential and locks it until the transaction ends: an issuer that ends at the same time either
// ends first and is refused here, or waits and then ends the new credential too.
func sourceOf(ctx context.Context, q *pg.Q, scope pg.Scope, in Issue, id string, now time.Time) (source, error) {
	switch {
	case in.Issuer == nil:
		return source{principal: "credential:" + id}, nil
	case in.Issuer.Person != "":
		return personSource(ctx, q, scope, in)
	case in.Issuer.Client != nil || in.Issuer.CredentialID == "":
		return source{}, problem.New(problem.InsufficientScope, "A client token cannot issue keys.")
	}
	locked, err := lockCredential(ctx, q, scope, in.Issuer.CredentialID)
	if err != nil {
		return source{}, err
	}
	issuer, err := locked.Whole(in.Issuer.CredentialID)
	if errors.Is(err, pg.ErrNotFound) || err == nil && !issuer.Lives(now) {
		return source{}, errUnauthenticated()
	}
	return sourceUnder(issuer), err
}

func sourceUnder(issuer models.Credential) source {
	return source{
		principal: issuer.Principal, former: issuer.FormerPrincipal, issuers: append(slices.Clone(issuer.Issuers), issuer.ID), expires: issuer.ExpiresAt, lapses: issuer.LapsesAt,
	}
}

// personSource returns a person as the source, if they may still issue the credential.
func personSource(ctx context.Context, q *pg.Q, scope pg.Scope, in Issue) (source, error) {
	p, err := sharePerson(ctx, q, scope.Tenant, in.Issuer.Person)
	out := source{principal: p.CountsAs()}
	if errors.Is(err, pg.ErrNotFound) || err == nil && p.RevokedAt != nil {
		return out, problem.New(problem.Forbidden, "Your access to this console was revoked.")
	}
	if err != nil {
		return out, err
	}
	roles, err := RolesIn(ctx, q, p.ID, scope.Environment)
	if err == nil && !MayIssue(roles, in.Scope, in.Permissions) {
		err = problem.New(problem.Forbidden, "Your roles changed and do not allow you to issue this key any more.")
	}
	if err != nil || !p.Federated() {
		return out, err
	}
	env, err := tenancy.GetEnvironment(ctx, q, scope)
	if err == nil && env.FederatedKeyDays > 0 {
		last := p.CreatedAt
		if p.SignedInAt != nil {
			last = *p.SignedInAt
		}
		ends := last.AddDate(0, 0, env.FederatedKeyDays)
		out.lapses = &ends
	}
	return out, err
}

// MayIssue reports whether a person with the roles may issue a credential. The credentials that they issued end when it becomes false.
func MayIssue(roles []models.Role, scope models.Scope, permissions models.Permissions) bool {
	issues := slices.ContainsFunc(roles, func(r models.Role) bool { return r.Permissions().Has(models.PermissionCredentials) })
	return issues && (scope == models.ScopeClient || models.Issuable(roles).Covers(permissions))
}

// give checks what is asked for against the source and gives the credential its principal, its issuers and its ends.
func (s source) give(c *models.Credential) error {
	if len(s.issuers) > maxIssuers {
		return problem.Newf(problem.IssuerChainTooLong, "This key would have more than %d keys above it. Issue it with a key higher up, in the console or at the command line.", maxIssuers)
	}
	if s.expires != nil {
		if c.ExpiresAt == nil {
			c.ExpiresAt = s.expires
		} else if c.ExpiresAt.After(*s.expires) {
			return problem.Invalid([]any{"body", "expires_at"}, "expires_at is later than that of the issuing key, "+apitime.Time(*s.expires)+
				". A key ends with the key that issued it: choose an earlier time, or omit the field for the same.", "expires_after_issuer")
		}
	}
	c.Principal, c.FormerPrincipal, c.Issuers, c.LapsesAt = s.principal, s.former, s.issuers, s.lapses
	return nil
}
