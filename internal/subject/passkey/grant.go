package passkey

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GrantInfo describes a usable registration grant for the hosted registration page.
type GrantInfo struct {
	Environment models.Environment
	Subject     string    // the relying party's id of the subject
	Passkeys    int       // number of active passkeys that the subject has
	ExpiresAt   time.Time // of the grant
}

// Scope returns the scope of the grant's environment.
func (v GrantInfo) Scope() pg.Scope {
	return pg.Scope{Tenant: v.Environment.TenantID, Environment: v.Environment.ID}
}

// GrantState is the reason why a registration grant cannot be used.
type GrantState string

// The reasons.
const (
	GrantUnknown GrantState = "unknown" // incomplete, mistyped, past its retention, or of an account that is gone
	GrantExpired GrantState = "expired" // or ended with the credential that requested it
	GrantUsed    GrantState = "used"
)

// ended returns why a grant is over; empty if it is not.
func (s *Service) ended(ctx context.Context, q *pg.Q, g models.RegistrationGrant) (GrantState, error) {
	if g.UsedAt != nil {
		return GrantUsed, nil
	}
	now := s.clock.Now()
	lives, err := identity.CredentialLives(ctx, q, pg.Scope{Tenant: g.TenantID, Environment: g.EnvironmentID}, g.CredentialID, now)
	if err == nil && (!lives || !now.Before(g.ExpiresAt)) {
		return GrantExpired, nil
	}
	return "", err
}

// EndedGrant returns why a grant cannot be used, for the page on which the holder of the token opens it, and the environment of a grant that
// was used or has expired.
func (s *Service) EndedGrant(ctx context.Context, token string) (GrantState, models.Environment, error) {
	grant, err := getRegistrationGrant(ctx, s.store.Q, s.keys.MACs(grantPurpose, []byte(token)))
	if errors.Is(err, pg.ErrNotFound) {
		return GrantUnknown, models.Environment{}, nil
	}
	if err != nil {
		return "", models.Environment{}, err
	}
	state, err := s.ended(ctx, s.store.Q, grant)
	if err != nil {
		return "", models.Environment{}, err
	}
	if state == "" {
		state = GrantUnknown
	}
	env, err := tenancy.BrandedEnvironment(ctx, s.store.Q, pg.Scope{Tenant: grant.TenantID, Environment: grant.EnvironmentID})
	return state, env, err
}

// GrantByToken returns the grant of a token, which has 256 random bits and is the only credential. A grant that is unknown or over, or
// whose subject is erased or revoked, is the problem grant_invalid in every case.
func (s *Service) GrantByToken(ctx context.Context, token string) (GrantInfo, error) {
	grant, err := getRegistrationGrant(ctx, s.store.Q, s.keys.MACs(grantPurpose, []byte(token)))
	if errors.Is(err, pg.ErrNotFound) {
		return GrantInfo{}, errGrantInvalid()
	}
	if err != nil {
		return GrantInfo{}, err
	}
	state, err := s.ended(ctx, s.store.Q, grant)
	if err == nil && state != "" {
		err = errGrantInvalid()
	}
	if err != nil {
		return GrantInfo{}, err
	}
	scope := pg.Scope{Tenant: grant.TenantID, Environment: grant.EnvironmentID}
	sub, err := subjectrow.GetByUID(ctx, s.store.Q, scope, grant.SubjectUID)
	if errors.Is(err, pg.ErrNotFound) || err == nil && sub.Status != models.SubjectActive {
		return GrantInfo{}, errGrantInvalid()
	}
	if err != nil {
		return GrantInfo{}, err
	}
	env, err := tenancy.BrandedEnvironment(ctx, s.store.Q, scope)
	if err != nil {
		return GrantInfo{}, err
	}
	passkeys, err := challenge.ActivePasskeys(ctx, s.store.Q, scope, sub.UID)
	return GrantInfo{Environment: env, Subject: sub.ExternalID, Passkeys: len(passkeys), ExpiresAt: grant.ExpiresAt}, err
}
