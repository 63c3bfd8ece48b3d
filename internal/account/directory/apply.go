package directory

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// applying gives users of a directory what its mapping gives them.
type applying struct {
	staff.Provisioning
	tenant string
	mapping
	groups  map[string][]string // names and external ids of the groups of a user
	changed []string            // users whose person is a different one now
}

// apply has the people of users follow from the users, their groups and the mapping. The positions of those whom they manage follow too.
func (s *Service) apply(ctx context.Context, p staff.Provisioning, tenant string, users []string) error {
	d, err := getDirectory(ctx, p.Q, tenant)
	if err != nil {
		return err
	}
	m, err := mappingOf(ctx, p.Q, d)
	if err != nil {
		return err
	}
	a := &applying{Provisioning: p, tenant: tenant, mapping: m}
	if err := a.each(ctx, users); err != nil || len(a.changed) == 0 {
		return err
	}
	var reports []string
	for _, manager := range a.changed {
		found, err := reportsOf(ctx, p.Q, tenant, manager)
		if err != nil {
			return err
		}
		reports = append(reports, found...)
	}
	return a.each(ctx, reports)
}

// batch is how many users one query reads.
const batch = 500

func (a *applying) each(ctx context.Context, users []string) error {
	for part := range slices.Chunk(users, batch) {
		rows, err := usersByID(ctx, a.Q, a.tenant, part)
		if err != nil {
			return err
		}
		if err := a.readGroups(ctx, part); err != nil {
			return err
		}
		for _, u := range rows {
			if err := a.user(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// readGroups reads what the groups of users are called.
func (a *applying) readGroups(ctx context.Context, users []string) error {
	memberships, err := membershipsOf(ctx, a.Q, a.tenant, users)
	if err != nil {
		return err
	}
	var in []string
	for _, m := range memberships {
		if !slices.Contains(in, m.GroupID) {
			in = append(in, m.GroupID)
		}
	}
	groups, err := groupsByID(ctx, a.Q, a.tenant, in)
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for _, g := range groups {
		names[g.ID] = []string{g.DisplayName}
		if g.ExternalID != nil {
			names[g.ID] = append(names[g.ID], *g.ExternalID)
		}
	}
	a.groups = map[string][]string{}
	for _, m := range memberships {
		a.groups[m.UserID] = append(a.groups[m.UserID], names[m.GroupID]...)
	}
	return nil
}

// user has the person of a user follow from the user.
func (a *applying) user(ctx context.Context, u models.DirectoryUser) error {
	before := u
	roles := map[string][]models.Role{}
	if u.Active && u.DeletedAt == nil {
		roles = sso.RolesOf(a.grants, a.groups[u.ID])
	}
	person, err := a.account(ctx, u)
	known := err == nil
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return err
	}
	if known {
		u.PersonID = &person.ID
		if !u.Active || u.DeletedAt != nil || a.renamed(u, person) {
			if err := a.end(ctx, person); err != nil {
				return err
			}
			if person, err = a.Person(ctx, person.ID); err != nil {
				return err
			}
		}
		// Someone other than the directory decided that the person is out.
		if person.RevokedAt != nil && !staff.EndedByDirectory(person) {
			u.Active = false
		}
	}
	lives := known && person.RevokedAt == nil
	if !lives && u.Active && len(roles) > 0 {
		if person, lives, err = a.arrive(ctx, &u, person, roles); err != nil {
			return err
		}
	}
	// A directory sends users before their groups: an account that signed in before keeps what it has until the first group.
	adopted := known && before.PersonID == nil && len(a.groups[u.ID]) == 0
	if lives && u.Active && !adopted {
		if err := a.update(ctx, u, person, roles); err != nil {
			return err
		}
	}
	if text(before.PersonID) != text(u.PersonID) {
		a.changed = append(a.changed, u.ID)
	}
	if text(before.PersonID) == text(u.PersonID) && before.Active == u.Active {
		return nil
	}
	return changeUser(ctx, a.Q, u)
}

// account returns the newest person of a user: the one it had last, or the one whom the identity provider signs in with the external id.
func (a *applying) account(ctx context.Context, u models.DirectoryUser) (models.Person, error) {
	switch {
	case u.PersonID != nil:
		return a.Person(ctx, *u.PersonID)
	case a.provider != nil && u.ExternalID != nil:
		return a.AccountOf(ctx, *a.provider, *u.ExternalID)
	}
	return models.Person{}, pg.ErrNotFound
}

// renamed reports whether a person who has access is not the one of the external id any more. An operator's link stays.
func (a *applying) renamed(u models.DirectoryUser, p models.Person) bool {
	return p.RevokedAt == nil && !u.Linked && a.provider != nil && text(p.ProviderSubject) != text(u.ExternalID)
}

// end ends a person as the removal of a member of staff does.
func (a *applying) end(ctx context.Context, p models.Person) error {
	_, all := a.teams(nil)
	if err := joinTeams(ctx, a.Provisioning, p, nil, all); err != nil {
		return err
	}
	return a.Revoke(ctx, p)
}

// arrive makes a new account for a user who gets the first role, or who returns: then it counts as the same person. With an identity provider the
// user needs an external id. One whom someone other than the directory ended before stays out.
func (a *applying) arrive(ctx context.Context, u *models.DirectoryUser, former models.Person, roles map[string][]models.Role) (models.Person, bool, error) {
	if former.ID == "" {
		earlier, err := earlierUser(ctx, a.Q, *u)
		if err == nil {
			former, err = a.Person(ctx, *earlier.PersonID)
		}
		if err != nil && !errors.Is(err, pg.ErrNotFound) {
			return former, false, err
		}
	}
	in := staff.Arrival{Name: attributesOf(*u).Name(), Roles: roles}
	if former.ID != "" {
		if former.RevokedAt != nil && !staff.EndedByDirectory(former) {
			u.Active = false
			return former, false, nil
		}
		in.Principal = former.CountsAs()
	}
	if a.provider != nil {
		if in.Provider, in.Subject = a.provider.ID, text(u.ExternalID); in.Subject == "" {
			return former, false, nil
		}
	}
	u.Linked = false
	p, err := a.Arrive(ctx, in)
	u.PersonID = &p.ID
	return p, err == nil, err
}

// update gives a person who has access what the user has.
func (a *applying) update(ctx context.Context, u models.DirectoryUser, p models.Person, roles map[string][]models.Role) error {
	stored := attributesOf(u)
	at := staff.Position{Department: stored.Department}
	if u.Manager != nil {
		manager, err := getUser(ctx, a.Q, a.tenant, *u.Manager, false)
		if err != nil && !errors.Is(err, pg.ErrNotFound) {
			return err
		}
		at.Manager = text(manager.PersonID)
	}
	// Roles come before teams, whose members must be able to review.
	if err := a.Update(ctx, p, stored.Name(), roles, at); err != nil {
		return err
	}
	given, all := a.teams(a.groups[u.ID])
	return joinTeams(ctx, a.Provisioning, p, given, all)
}

// Lookup returns what the tenant's directory says of an account at the identity provider.
func (s *Service) Lookup(ctx context.Context, q *pg.Q, provider models.IdentityProvider, subject string) (staff.Provisioned, error) {
	d, err := getDirectory(ctx, q, provider.TenantID)
	if errors.Is(err, pg.ErrNotFound) || err == nil && d.IdentityProviderID == nil {
		return staff.Provisioned{}, nil
	}
	if err != nil {
		return staff.Provisioned{}, err
	}
	m, err := mappingOf(ctx, q, d)
	if err != nil || !staff.SameIssuer(m.provider.Issuer, provider.Issuer) {
		return staff.Provisioned{}, err
	}
	out := staff.Provisioned{Required: d.Required}
	person, err := staff.PersonOfSubject(ctx, q, provider.TenantID, m.provider.ID, subject)
	if err != nil {
		return out, err
	}
	u, err := userOf(ctx, q, provider.TenantID, person, subject)
	if errors.Is(err, pg.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	a := &applying{Provisioning: staff.Provisioning{Q: q}, tenant: provider.TenantID, mapping: m}
	if err := a.readGroups(ctx, []string{u.ID}); err != nil {
		return out, err
	}
	out.Known, out.Active, out.Roles = true, u.Active && u.DeletedAt == nil, sso.RolesOf(m.grants, a.groups[u.ID])
	return out, nil
}
