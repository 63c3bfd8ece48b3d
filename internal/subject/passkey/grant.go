package passkey

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Visit is what a registration grant opens in a browser.
type GrantInfo struct {
	Environment models.Environment
	Subject     string // the relying party's id of whom the passkey will be for
	Passkeys    int    // that the subject has already
	ExpiresAt   time.Time
}

// Scope is where the visit acts.
func (v GrantInfo) Scope() store.Scope {
	return store.Scope{Tenant: v.Environment.TenantID, Environment: v.Environment.ID}
}

// ByGrant finds what a grant's token alone opens; a token has 256 random bits. One that is unknown, used or over, or whose
// subject is gone or revoked, is refused with the one answer for all of these.
func (s *Service) ByGrant(ctx context.Context, token string) (GrantInfo, error) {
	grant, err := s.store.RegistrationGrants().Get(ctx, s.keys.MACs(grantPurpose, []byte(token)))
	if errors.Is(err, store.ErrNotFound) {
		return GrantInfo{}, errGrantInvalid()
	}
	if err != nil {
		return GrantInfo{}, err
	}
	if grant.UsedAt != nil || !s.clock.Now().Before(grant.ExpiresAt) {
		return GrantInfo{}, errGrantInvalid()
	}
	scope := store.Scope{Tenant: grant.TenantID, Environment: grant.EnvironmentID}
	sub, err := s.store.Subjects().ByUID(ctx, scope, grant.SubjectUID)
	if errors.Is(err, store.ErrNotFound) || err == nil && sub.Status != models.SubjectActive {
		return GrantInfo{}, errGrantInvalid()
	}
	if err != nil {
		return GrantInfo{}, err
	}
	env, err := s.store.Environments().Get(ctx, scope)
	if err != nil {
		return GrantInfo{}, err
	}
	passkeys, err := s.store.Passkeys().Active(ctx, scope, sub.UID)
	return GrantInfo{Environment: env, Subject: sub.ExternalID, Passkeys: len(passkeys), ExpiresAt: grant.ExpiresAt}, err
}
