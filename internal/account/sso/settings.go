package sso

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Bounds of the settings.
const (
	maxText   = 512
	maxGrants = 100
	maxScopes = 20
	// maxListed is how many providers the sign-in page shows.
	maxListed = 20
)

var (
	validName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	validScope = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,128}$`) // RFC 6749, section 3.3
	validRoles = []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}
)

// Settings are the settings of an identity provider.
type Settings struct {
	Name         string // in URLs: 1 to 32 lower-case letters, digits and hyphens
	Label        string // on the sign-in page; empty for the name
	Issuer       string // as in the provider's metadata; it cannot be changed later
	ClientID     string
	ClientSecret string   // empty keeps the stored one
	Scopes       []string // besides openid and profile
	GroupsClaim  string   // claim of the ID token, or of the userinfo response, that lists the groups; empty for groups
	Grants       []models.ProviderGrant
	Listed       bool // show the provider on the sign-in page, which all tenants share
}

// Set makes the provider of the tenant with this name, or replaces its settings and ends the sessions of its people, so that the
// settings apply to all of them. It returns a bad_request problem that names the field for settings that are not valid.
func (s *Service) Set(ctx context.Context, tenant string, in Settings, actor string) (models.IdentityProvider, error) {
	in.Label, in.GroupsClaim = cmp.Or(in.Label, in.Name), cmp.Or(in.GroupsClaim, "groups")
	if err := s.check(in); err != nil {
		return models.IdentityProvider{}, err
	}
	var out models.IdentityProvider
	err := s.Store.Write(ctx, func(q *pg.Q) error {
		if err := staff.LockStaff(ctx, q, tenant); err != nil {
			return err
		}
		environments, err := tenancy.ListEnvironments(ctx, q, tenant)
		if err != nil {
			return err
		}
		if err := CheckGrants(in.Grants, environments); err != nil {
			return err
		}
		if out, err = s.save(ctx, q, tenant, in, actor); err != nil {
			return err
		}
		return s.record(ctx, q, change{provider: out, settings: in, environments: environments, actor: actor})
	})
	return out, err
}

// save inserts or updates the provider's row.
func (s *Service) save(ctx context.Context, q *pg.Q, tenant string, in Settings, actor string) (models.IdentityProvider, error) {
	now := s.Clock.Now()
	grants, err := json.Marshal(in.Grants)
	if err != nil {
		return models.IdentityProvider{}, err
	}
	p, err := lockIdentityProvider(ctx, q, tenant, in.Name)
	fresh := errors.Is(err, pg.ErrNotFound)
	switch {
	case fresh:
		if err := refuseIssuer(ctx, q, tenant, in); err != nil {
			return p, err
		}
		p = models.IdentityProvider{ID: ids.New(ids.IdentityProvider), TenantID: tenant, Name: in.Name, Issuer: in.Issuer, CreatedAt: now}
	case err != nil:
		return p, err
	case p.Issuer != in.Issuer:
		// The subjects of a different issuer could be those of people whom this one named.
		return p, problem.New(problem.Conflict, "issuer cannot be changed. Remove the provider and set it up again; its people then sign in as new ones.")
	}
	// With a new client, a provider may name its accounts differently: those of before keep nothing until they sign in again.
	renamed := !fresh && p.ClientID != in.ClientID
	// The id is part of the sealed value: a secret copied to another row cannot be opened.
	if in.ClientSecret != "" {
		if p.ClientSecret, err = s.Keys.Seal(secretPurpose, []byte(in.ClientSecret), []byte(p.ID)); err != nil {
			return p, err
		}
	}
	if len(p.ClientSecret) == 0 {
		return p, problem.New(problem.BadRequest, "client_secret is not set: a new provider requires one.")
	}
	p.Label, p.ClientID, p.Scopes, p.GroupsClaim = in.Label, in.ClientID, append(models.Strings{"openid", "profile"}, in.Scopes...), in.GroupsClaim
	p.Grants, p.Listed, p.UpdatedAt = grants, in.Listed, now
	if fresh {
		return p, CreateIdentityProvider(ctx, q, p)
	}
	updated, err := updateIdentityProvider(ctx, q, p)
	if err == nil && !updated {
		err = problem.New(problem.Conflict, "The provider was removed meanwhile. Set it up again.")
	}
	if err != nil {
		return p, err
	}
	return p, s.People.Dismiss(ctx, q, dismissal(p, actor, renamed))
}

// refuseIssuer refuses a second provider of one issuer: a person would have an account of each.
func refuseIssuer(ctx context.Context, q *pg.Q, tenant string, in Settings) error {
	rows, err := listIdentityProviders(ctx, q, tenant)
	for _, p := range rows {
		if staff.SameIssuer(p.Issuer, in.Issuer) {
			return problem.Newf(problem.Conflict, "The tenant has the issuer already, as the provider %q. An issuer stands once in a tenant: change that provider, or remove it first.", p.Name)
		}
	}
	return err
}

// List returns the providers of a tenant by name.
func (s *Service) List(ctx context.Context, tenant string) ([]models.IdentityProvider, error) {
	return listIdentityProviders(ctx, s.Store.Q, tenant)
}

// Listed returns the providers that the sign-in page shows.
func (s *Service) Listed(ctx context.Context) ([]models.IdentityProvider, error) {
	return identityProviderListed(ctx, s.Store.Q, maxListed)
}

// Remove removes a provider. Its people lose their roles and sessions at once.
func (s *Service) Remove(ctx context.Context, tenant, name, actor string) error {
	return s.Store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		if err := staff.LockStaff(ctx, q, tenant); err != nil {
			return err
		}
		p, err := lockIdentityProvider(ctx, q, tenant, name)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if _, err := removeIdentityProvider(ctx, q, tenant, p.ID, s.Clock.Now()); err != nil {
			return err
		}
		if err := s.People.Dismiss(ctx, q, dismissal(p, actor, true)); err != nil {
			return err
		}
		environments, err := tenancy.ListEnvironments(ctx, q, tenant)
		if err != nil {
			return err
		}
		for _, env := range environments {
			entry := s.entry(env, actor)
			entry.Data = events.IdentityProviderRemovedData{IdentityProvider: p.ID}
			if err := events.Append(ctx, q, entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// check rejects settings that are not valid in themselves.
func (s *Service) check(in Settings) error {
	bad := func(format string, args ...any) error { return problem.Newf(problem.BadRequest, format, args...) }
	if !validName.MatchString(in.Name) {
		return bad("name must be 1 to 32 lower-case letters, digits and hyphens, beginning with a letter or digit.")
	}
	for field, text := range map[string]string{"label": in.Label, "issuer": in.Issuer, "client_id": in.ClientID, "groups_claim": in.GroupsClaim} {
		if n := utf8.RuneCountInString(text); n < 1 || n > maxText || displaytext.Fault(text) != "" {
			return bad("%s must have 1 to %d printable characters; it has %d.", field, maxText, n)
		}
	}
	if len(in.ClientSecret) > maxText {
		return bad("client_secret must have at most %d characters; it has %d.", maxText, len(in.ClientSecret))
	}
	if fault := s.CheckURL(in.Issuer); fault != "" {
		return bad("issuer cannot be used: %s Networks of your own are allowed by COUNTERSIGN_OIDC_NETWORKS.", fault)
	}
	if strings.Contains(in.Issuer, "?") {
		return bad("issuer must not have a query.")
	}
	if len(in.Scopes) > maxScopes || slices.ContainsFunc(in.Scopes, func(scope string) bool { return !validScope.MatchString(scope) }) {
		return bad("scopes must be at most %d names of printable ASCII characters without spaces.", maxScopes)
	}
	return nil
}

// CheckGrants rejects grants that are too many, have no role, name a group that a person could not read in the audit log, or an environment that is
// not the tenant's.
func CheckGrants(grants []models.ProviderGrant, environments []models.Environment) error {
	if len(grants) < 1 || len(grants) > maxGrants {
		return problem.Newf(problem.BadRequest, "groups must map 1 to %d groups to roles; it maps %d.", maxGrants, len(grants))
	}
	for _, g := range grants {
		if n := utf8.RuneCountInString(g.Group); n < 1 || n > maxText || displaytext.Fault(g.Group) != "" {
			return problem.Newf(problem.BadRequest, "The name of a group must have 1 to %d printable characters; it has %d.", maxText, n)
		}
		if len(g.Roles) == 0 || slices.ContainsFunc(g.Roles, func(r models.Role) bool { return !slices.Contains(validRoles, r) }) {
			return problem.New(problem.BadRequest, "A group needs at least one role: reviewer, operator or auditor.")
		}
		if len(g.Teams) > 0 && !slices.Contains(g.Roles, models.RoleReviewer) {
			return problem.New(problem.BadRequest, "A group whose members join a team needs the role reviewer: others cannot be members.")
		}
		if !slices.ContainsFunc(environments, func(e models.Environment) bool { return e.ID == g.Environment }) {
			return problem.New(problem.BadRequest, "A group names an environment that is not one of the tenant's. countersign tenant list shows them.")
		}
	}
	return nil
}
