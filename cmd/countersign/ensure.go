package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The names of the tenants that a development machine has: the developer's, and that of the visitors of the page under /try, whose holds
// must not be among a reviewer's.
const (
	devTenant = "Development"
	tryTenant = "Try-it Bank"
)

// devRateLimit is the rate limit of its credentials, in requests an hour. No load test reaches it.
const devRateLimit = 100_000_000

// ensureTenants makes the tenants of a development machine, or new keys where the stored ones are not of this database. It
// reports whether keys were made.
func ensureTenants(ctx context.Context, c *core, state *dev.State, origin string) (made bool, err error) {
	own, err := ensureTenant(ctx, c, devTenant, state.Tenant, origin)
	if err != nil {
		return false, err
	}
	visited, err := ensureTenant(ctx, c, tryTenant, "", origin)
	if err != nil {
		return false, err
	}
	state.Tenant = own[0].TenantID
	for _, env := range append(own, visited...) {
		if env.TenantID != state.Tenant && env.Kind == models.Live {
			continue // the page works in the sandbox
		}
		if err := allowOrigin(ctx, c, env, origin); err != nil {
			return made, err
		}
		if err := raiseCeiling(ctx, c, env); err != nil {
			return made, err
		}
		issued, err := ensureKeys(ctx, c, env, keysOf(state, env))
		if err != nil {
			return made, err
		}
		made = made || issued
	}
	return made, nil
}

// ensureTenant returns the environments of a tenant, which it makes if the database does not have it.
func ensureTenant(ctx context.Context, c *core, name, stored, origin string) ([]models.Environment, error) {
	tenant, err := findTenant(ctx, c, name, stored)
	if err != nil {
		return nil, err
	}
	if tenant == "" {
		spec := tenancy.Spec{Name: name, RPID: "localhost", Origins: []string{origin}, AllowLocal: true}
		m, err := c.Tenancy.Create(ctx, spec, "cli:dev")
		if err != nil {
			return nil, err
		}
		tenant = m.Tenant.ID
	}
	return tenancy.ListEnvironments(ctx, c.Store.Q, tenant)
}

// findTenant is the stored tenant if the database has it, or else the one of that name.
func findTenant(ctx context.Context, c *core, name, stored string) (string, error) {
	tenants, err := tenancy.ListTenants(ctx, c.Store.Q)
	if err != nil {
		return "", err
	}
	found := ""
	for _, t := range tenants {
		if t.ID == stored {
			return stored, nil
		}
		if t.Name == name {
			found = t.ID
		}
	}
	return found, nil
}

// devPerson is who a development machine invites to its console.
const devPerson = "Development reviewer"

// ensurePerson returns an invitation to the console of the sandbox until a reviewer has registered, and an empty string
// from then on. A registered reviewer signs in with their passkey.
func ensurePerson(ctx context.Context, c *core, state dev.State) (invitation string, err error) {
	scope := pg.Scope{Tenant: state.Tenant, Environment: state.Environments.Sandbox.Environment}
	rows, _, err := c.People.List(ctx, scope.Tenant, pg.Page{Limit: 200})
	if err != nil {
		return "", err
	}
	invited := ""
	for _, p := range rows {
		switch {
		case p.State == staff.StateActive:
			return "", nil
		case p.State != staff.StateRevoked && p.Name == devPerson:
			invited = p.ID
		}
	}
	var in staff.Invited
	if invited != "" {
		// Only the MAC of the last invitation is kept, so it cannot be shown again: a new one takes its place.
		in, err = c.People.Invite(ctx, scope, invited, "", "cli:dev")
	} else {
		in, err = c.People.Create(ctx, scope, staff.Invitee{
			Name: devPerson, Roles: []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor},
		}, "cli:dev")
	}
	return in.URL, err
}

func keysOf(state *dev.State, env models.Environment) *dev.Keys {
	switch {
	case env.TenantID != state.Tenant:
		return &state.Try
	case env.Kind == models.Live:
		return &state.Environments.Live
	default:
		return &state.Environments.Sandbox
	}
}

// allowOrigin lets passkeys be used from where the API is this time.
func allowOrigin(ctx context.Context, c *core, env models.Environment, origin string) error {
	if slices.Contains(env.RPOrigins, origin) {
		return nil
	}
	scope := pg.Scope{Tenant: env.TenantID, Environment: env.ID}
	return c.Store.Write(ctx, func(q *pg.Q) error { return tenancy.SetRP(ctx, q, scope, "localhost", append(env.RPOrigins, origin)) })
}

// raiseCeiling lets the developer, who is the operator here, give keys of their own the same quota.
func raiseCeiling(ctx context.Context, c *core, env models.Environment) error {
	if env.RateLimitCeiling != nil {
		return nil
	}
	ceiling := devRateLimit
	_, err := c.Tenancy.UpdateRateLimitCeiling(ctx, pg.Scope{Tenant: env.TenantID, Environment: env.ID}, &ceiling, "cli:dev")
	return err
}

// ensureKeys issues what of an environment's keys is missing or does not work.
func ensureKeys(ctx context.Context, c *core, env models.Environment, keys *dev.Keys) (made bool, err error) {
	keys.Environment = env.ID
	type wanted struct {
		scope models.Scope
		key   *string
	}
	all := []wanted{{models.ScopeServer, &keys.ServerKey}, {models.ScopeAdmin, &keys.AdminKey}, {models.ScopeClient, &keys.PublishableKey}}
	if env.Kind == models.Sandbox {
		all = append(all, wanted{models.ScopeAdmin, &keys.ApproverKey})
	}
	for _, k := range all {
		if p, err := c.Identity.Authenticate(ctx, *k.key); err == nil && p.EnvironmentID == env.ID && p.Scope == k.scope {
			continue
		}
		limit := devRateLimit
		in := identity.Issue{Scope: k.scope, Name: "make run", RateLimit: &limit}
		issued, err := c.Identity.Issue(ctx, pg.Scope{Tenant: env.TenantID, Environment: env.ID}, in, "cli:dev", "")
		if err != nil {
			return made, fmt.Errorf("a %s key cannot be issued: %w", k.scope, err)
		}
		*k.key, made = issued.Key, true
	}
	return made, nil
}
