// Package directory provisions a tenant's staff from the company's directory, which sends users and groups by SCIM 2.0 (package scim).
//
// A user becomes a person of package staff with the first role that a group gives. Deactivating or deleting the user ends the person as
// staff.Service.Revoke does; a user who returns is a new account that counts as the same person. What identifies a user is the external id, which is
// the subject at the tenant's identity provider, or an operator's link; a name or an address never does.
//
// The package makes no decision of its own about people: package staff does, in one transaction with the directory's change.
package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Path is the path of the service below the base URL.
const Path = "/scim/v2"

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store   *pg.Store
	Keys    *keyring.Keyring
	Clock   clock.Clock
	People  *staff.Service
	BaseURL string // without a slash at the end
}

// Service provisions the staff of all tenants. It is safe for concurrent use.
type Service struct{ Deps }

// New returns the service.
func New(d Deps) *Service { return &Service{d} }

// URL returns the address that a directory is configured with.
func (s *Service) URL() string { return s.BaseURL + Path }

// Settings are the settings of a tenant's directory.
type Settings struct {
	// Provider is the name of the identity provider whose subjects are the external ids, and whose groups give roles and teams; empty for none.
	Provider string
	Grants   []models.ProviderGrant // without an identity provider
	Required bool                   // only people of the directory sign in with the identity provider
}

// Set makes the tenant's directory or replaces its settings, which apply to all of its people at once.
func (s *Service) Set(ctx context.Context, tenant string, in Settings, actor string) error {
	return s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		row, err := s.check(ctx, p.Q, tenant, in)
		if err != nil {
			return err
		}
		row.UpdatedAt = p.At
		switch _, err := getDirectory(ctx, p.Q, tenant); {
		case errors.Is(err, pg.ErrNotFound):
			err = createDirectory(ctx, p.Q, row)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			if err := changeDirectory(ctx, p.Q, row); err != nil {
				return err
			}
		}
		if err := s.record(ctx, p, tenant, func(env models.Environment) events.Data {
			return events.DirectoryChangedData{IdentityProvider: text(row.IdentityProviderID), Groups: described(in.Grants, env.ID), Required: in.Required}
		}); err != nil {
			return err
		}
		return s.applyAll(ctx, p, tenant)
	})
}

// Apply gives the people of the tenant's directory what its settings give, after those of the identity provider changed. It does nothing for a tenant
// without a directory.
func (s *Service) Apply(ctx context.Context, tenant, actor string) error {
	return s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		_, err := getDirectory(ctx, p.Q, tenant)
		if errors.Is(err, pg.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.applyAll(ctx, p, tenant)
	})
}

func (s *Service) applyAll(ctx context.Context, p staff.Provisioning, tenant string) error {
	users, err := activeUsers(ctx, p.Q, tenant)
	if err != nil {
		return err
	}
	return s.apply(ctx, p, tenant, users)
}

// check returns the row of valid settings.
func (s *Service) check(ctx context.Context, q *pg.Q, tenant string, in Settings) (models.Directory, error) {
	row := models.Directory{TenantID: tenant, Required: in.Required, Grants: models.JSON("[]")}
	switch {
	case in.Provider == "" && in.Required:
		return row, problem.New(problem.BadRequest, "only is for a tenant with an identity provider: without one, no one signs in who was not provisioned or invited.")
	case in.Provider != "" && len(in.Grants) > 0:
		return row, problem.New(problem.BadRequest, "The groups of the identity provider give the roles. Set them with countersign tenant oidc set, or name no provider.")
	case in.Provider != "":
		p, err := sso.Named(ctx, q, tenant, in.Provider)
		if errors.Is(err, pg.ErrNotFound) {
			return row, problem.Newf(problem.BadRequest, "The tenant has no identity provider %q. countersign tenant oidc list shows them.", in.Provider)
		}
		row.IdentityProviderID = &p.ID
		return row, err
	}
	environments, err := tenancy.ListEnvironments(ctx, q, tenant)
	if err != nil {
		return row, err
	}
	if err := sso.CheckGrants(in.Grants, environments); err != nil {
		return row, err
	}
	row.Grants, err = json.Marshal(in.Grants)
	return row, err
}

// Remove removes the tenant's directory with its tokens. Its people keep what they have: from then on it follows from their sign-ins, or from an
// operator.
func (s *Service) Remove(ctx context.Context, tenant, actor string) error {
	return s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		removed, err := deleteDirectory(ctx, p.Q, tenant)
		if err == nil && !removed {
			err = problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		return s.record(ctx, p, tenant, func(models.Environment) events.Data { return events.DirectoryRemovedData{} })
	})
}

// Counts says what a directory has sent: users, of whom some are active, and of these some are people, who have or had a role; and groups.
type Counts struct{ Users, Active, People, Groups int }

// View is the directory of a tenant as its operators see it.
type View struct {
	models.Directory
	Provider string // name; empty for none
	Tokens   []models.DirectoryToken
	Counts
}

// Get returns the directory of a tenant; not_found if there is none.
func (s *Service) Get(ctx context.Context, tenant string) (View, error) {
	row, err := getDirectory(ctx, s.Store.Q, tenant)
	if errors.Is(err, pg.ErrNotFound) {
		return View{}, problem.NewNotFound()
	}
	out := View{Directory: row}
	if err != nil {
		return out, err
	}
	if row.IdentityProviderID != nil {
		p, err := providerOf(ctx, s.Store.Q, tenant, *row.IdentityProviderID)
		if err != nil {
			return out, err
		}
		out.Provider = p.Name
	}
	if out.Tokens, err = listTokens(ctx, s.Store.Q, tenant); err != nil {
		return out, err
	}
	out.Counts, err = countDirectory(ctx, s.Store.Q, tenant)
	return out, err
}

// record appends an event to the log of each environment of the tenant.
func (s *Service) record(ctx context.Context, p staff.Provisioning, tenant string, data func(models.Environment) events.Data) error {
	environments, err := tenancy.ListEnvironments(ctx, p.Q, tenant)
	if err != nil {
		return err
	}
	for _, env := range environments {
		entry := events.Entry{Scope: pg.Scope{Tenant: tenant, Environment: env.ID}, At: p.At, Actor: p.Actor, Data: data(env)}
		if err := events.Append(ctx, p.Q, entry); err != nil {
			return err
		}
	}
	return nil
}

// described returns the grants in an environment, such as "payments-leads: reviewer, team finance".
func described(grants []models.ProviderGrant, environment string) []string {
	var out []string
	for _, g := range grants {
		if g.Environment != environment {
			continue
		}
		var gives []string
		for _, r := range g.Roles {
			gives = append(gives, string(r))
		}
		for _, t := range g.Teams {
			gives = append(gives, "team "+t)
		}
		out = append(out, fmt.Sprintf("%s: %s", g.Group, strings.Join(gives, ", ")))
	}
	return out
}

// mapping says what the groups of a directory give.
type mapping struct {
	provider *models.IdentityProvider // nil for none
	grants   []models.ProviderGrant
}

// mappingOf returns the mapping of a directory. Groups of a provider that was removed give nothing.
func mappingOf(ctx context.Context, q *pg.Q, d models.Directory) (m mapping, err error) {
	grants := d.Grants
	if d.IdentityProviderID != nil {
		p, err := providerOf(ctx, q, d.TenantID, *d.IdentityProviderID)
		if err != nil {
			return m, err
		}
		if m.provider, grants = &p, p.Grants; p.RemovedAt != nil {
			return m, nil
		}
	}
	return m, json.Unmarshal(grants, &m.grants)
}

// gives reports whether a group of this name or external id gives anything.
func (m mapping) gives(g models.DirectoryGroup) bool {
	return slices.ContainsFunc(m.grants, func(grant models.ProviderGrant) bool {
		return grant.Group == g.DisplayName || grant.Group == text(g.ExternalID)
	})
}

// teams returns the teams that groups give, by environment, and all that the mapping names.
func (m mapping) teams(groups []string) (given, all map[string][]string) {
	given, all = map[string][]string{}, map[string][]string{}
	for _, g := range m.grants {
		for _, key := range g.Teams {
			all[g.Environment] = append(all[g.Environment], key)
			if slices.Contains(groups, g.Group) {
				given[g.Environment] = append(given[g.Environment], key)
			}
		}
	}
	return given, all
}

// joinTeams makes a person a member of exactly those of the mapping's teams that their groups give. Teams that do not exist are passed over.
func joinTeams(ctx context.Context, p staff.Provisioning, person models.Person, given, all map[string][]string) error {
	actor := "person:" + person.ID
	for environment, keys := range all {
		scope := pg.Scope{Tenant: person.TenantID, Environment: environment}
		of, err := team.TeamsOf(ctx, p.Q, scope, []string{actor})
		if err != nil {
			return err
		}
		rows, err := team.ByName(ctx, p.Q, scope, keys)
		if err != nil {
			return err
		}
		op := team.Operation{Q: p.Q, Scope: scope, By: team.By{Actor: p.Actor}, At: p.At}
		for _, t := range rows {
			var change team.Update
			switch in, wanted := slices.Contains(of[actor], t.Key), slices.Contains(given[environment], t.Key); {
			case wanted && !in:
				change.Add = []string{actor}
			case in && !wanted:
				change.Remove = []string{actor}
			default:
				continue
			}
			if _, err := op.Update(ctx, t.ID, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// text returns a text that may be missing, and empty if it is.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// some returns a text for a column, and nil for an empty one.
func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Overlap is how long a token lasts after it was rotated unless the caller says otherwise; MaxOverlap is the longest.
const (
	Overlap    = 24 * time.Hour
	MaxOverlap = 30 * 24 * time.Hour
)
