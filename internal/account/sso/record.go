package sso

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// change is a change of a provider's settings.
type change struct {
	provider     models.IdentityProvider
	settings     Settings
	environments []models.Environment
	actor        string
}

// record appends the change to the log of every environment of the tenant. Each log has the groups that give roles in its own
// environment, so that its auditors see who can come in.
func (s *Service) record(ctx context.Context, q *pg.Q, c change) error {
	for _, env := range c.environments {
		entry := s.entry(env, c.actor)
		entry.Data = events.IdentityProviderChangedData{
			IdentityProvider: c.provider.ID, Name: c.provider.Name, Issuer: c.provider.Issuer, ClientID: c.provider.ClientID,
			SecretChanged: c.settings.ClientSecret != "", Scopes: c.provider.Scopes, GroupsClaim: c.provider.GroupsClaim,
			Groups: described(c.settings.Grants, env.ID), Listed: c.provider.Listed,
		}
		if err := events.Append(ctx, q, entry); err != nil {
			return err
		}
	}
	return nil
}

// entry returns the audit entry of a change in an environment, without its data.
func (s *Service) entry(env models.Environment, actor string) events.Entry {
	return events.Entry{Scope: pg.Scope{Tenant: env.TenantID, Environment: env.ID}, At: s.Clock.Now(), Actor: actor}
}

// described returns the grants in an environment, such as "payments-leads: reviewer, auditor".
func described(grants []models.ProviderGrant, environment string) []string {
	var out []string
	for _, g := range grants {
		if g.Environment != environment {
			continue
		}
		roles := make([]string, len(g.Roles))
		for i, r := range g.Roles {
			roles[i] = string(r)
		}
		out = append(out, fmt.Sprintf("%s: %s", g.Group, strings.Join(roles, ", ")))
	}
	return out
}

// dismissal ends the sessions of the provider's people, and takes their roles too if roles is set.
func dismissal(p models.IdentityProvider, actor string, roles bool) staff.Dismissal {
	return staff.Dismissal{Tenant: p.TenantID, Provider: p.ID, Actor: actor, Roles: roles}
}

// union returns the roles of both lists, without repetition.
func union(a, b []models.Role) []models.Role {
	for _, r := range b {
		if !slices.Contains(a, r) {
			a = append(a, r)
		}
	}
	return a
}
