package directory

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	tokenPurpose = "directory-token" // of the keyring
	tokenPrefix  = "scim_"
	tokenLength  = len(tokenPrefix) + 43 // 256 bits in base64url
	// maxTokens bounds the tokens of a tenant, so that a forgotten rotation is noticed.
	maxTokens  = 10
	touchEvery = time.Minute
)

// CreateToken returns a new token of the tenant's directory. It is shown this once.
func (s *Service) CreateToken(ctx context.Context, tenant, actor string) (models.DirectoryToken, string, error) {
	return s.issue(ctx, tenant, actor, func(_ staff.Provisioning, t models.DirectoryToken) (events.Data, error) {
		return events.DirectoryTokenCreatedData{Token: t.ID}, nil
	})
}

// RotateToken returns a new token. The tokens of before end after the overlap, which is 0 to MaxOverlap.
func (s *Service) RotateToken(ctx context.Context, tenant string, overlap time.Duration, actor string) (models.DirectoryToken, string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return models.DirectoryToken{}, "", problem.New(problem.BadRequest, "The overlap must be between 0 and 30 days (720h).")
	}
	return s.issue(ctx, tenant, actor, func(p staff.Provisioning, t models.DirectoryToken) (events.Data, error) {
		ends := p.At.Add(overlap)
		return events.DirectoryTokenRotatedData{Token: t.ID, EndsAt: apitime.Time(ends)}, expireTokens(ctx, p.Q, tenant, ends)
	})
}

// issue creates a token after before has been called with it.
func (s *Service) issue(ctx context.Context, tenant, actor string, before func(staff.Provisioning, models.DirectoryToken) (events.Data, error)) (models.DirectoryToken, string, error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	row := models.DirectoryToken{ID: ids.New(ids.DirectoryToken), TenantID: tenant, MAC: s.Keys.MAC(tokenPurpose, []byte(token)), CreatedBy: actor}
	err := s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		row.CreatedAt = p.At
		_, err := getDirectory(ctx, p.Q, tenant)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.New(problem.Conflict, "The tenant has no directory yet. Set it up with countersign tenant scim set.")
		}
		if err != nil {
			return err
		}
		existing, err := listTokens(ctx, p.Q, tenant)
		if err != nil {
			return err
		}
		if len(existing) >= maxTokens {
			return problem.Newf(problem.Conflict, "The directory has %d tokens, which is the maximum. Revoke those that are not in use.", maxTokens)
		}
		data, err := before(p, row)
		if err != nil {
			return err
		}
		if err := createToken(ctx, p.Q, row); err != nil {
			return err
		}
		return s.record(ctx, p, tenant, func(models.Environment) events.Data { return data })
	})
	return row, token, err
}

// RevokeToken ends a token at once.
func (s *Service) RevokeToken(ctx context.Context, tenant, id, actor string) error {
	return s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		deleted, err := deleteToken(ctx, p.Q, tenant, id)
		if err == nil && !deleted {
			err = problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		return s.record(ctx, p, tenant, func(models.Environment) events.Data { return events.DirectoryTokenRevokedData{Token: id} })
	})
}

// Caller is a directory that has been authenticated.
type Caller struct{ Tenant, Token, RequestID string }

func (c Caller) provisioner() staff.Provisioner {
	return staff.Provisioner{Tenant: c.Tenant, Actor: staff.DirectoryActor + c.Token, RequestID: c.RequestID}
}

// Authenticate returns the directory of a token. Every rejection is the same problem, unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (Caller, error) {
	refused := problem.New(problem.Unauthenticated, "The token is missing, malformed, expired or revoked.")
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return Caller{}, refused
	}
	row, err := tokenByMAC(ctx, s.Store.Q, s.Keys.MACs(tokenPurpose, []byte(token)))
	if errors.Is(err, pg.ErrNotFound) {
		return Caller{}, refused
	}
	if err != nil {
		return Caller{}, err
	}
	now := s.Clock.Now()
	if row.ExpiresAt != nil && !now.Before(*row.ExpiresAt) {
		return Caller{}, refused
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) > touchEvery {
		if err := touchToken(ctx, s.Store.Q, row.ID, now); err != nil {
			return Caller{}, err
		}
	}
	return Caller{Tenant: row.TenantID, Token: row.ID}, nil
}
