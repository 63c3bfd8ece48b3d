package directory

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/models"
)

const (
	// maxMembers bounds the members of a group.
	maxMembers = 50_000
	// pageMembers ends a page of groups once they have as many members together.
	pageMembers = 10_000
)

// CreateGroup makes a group, whose members get what the mapping gives it.
func (s *Service) CreateGroup(ctx context.Context, c Caller, body any) (Resource, error) {
	in, members, err := scim.NewGroup(body)
	if err != nil {
		return Resource{}, err
	}
	g := models.DirectoryGroup{ID: ids.New(ids.DirectoryGroup), TenantID: c.Tenant, ExternalID: some(in.ExternalID), DisplayName: in.DisplayName, Revision: 1}
	return s.groupAfter(ctx, c, g.ID, func(p staff.Provisioning) error {
		g.CreatedAt, g.UpdatedAt = p.At, p.At
		if err := taken(createGroup(ctx, p.Q, g)); err != nil {
			return err
		}
		affected, err := changeMembers(ctx, p.Q, g, members)
		if err != nil {
			return err
		}
		return s.follow(ctx, p, affected, g)
	})
}

// ReplaceGroup replaces the attributes and the members of a group.
func (s *Service) ReplaceGroup(ctx context.Context, c Caller, id string, match IfMatch, body any) (Resource, error) {
	return s.editGroup(ctx, c, id, match, func(scim.Group) (scim.Group, scim.Members, error) { return scim.NewGroup(body) })
}

// PatchGroup applies the operations of a PATCH to a group.
func (s *Service) PatchGroup(ctx context.Context, c Caller, id string, match IfMatch, body any) (Resource, error) {
	operations, err := scim.NewPatch(body)
	if err != nil {
		return Resource{}, err
	}
	return s.editGroup(ctx, c, id, match, func(g scim.Group) (scim.Group, scim.Members, error) { return g.Patched(operations) })
}

// editGroup changes a group and its members. What changes nothing leaves the ETag.
func (s *Service) editGroup(ctx context.Context, c Caller, id string, match IfMatch, edit func(scim.Group) (scim.Group, scim.Members, error)) (Resource, error) {
	return s.groupAfter(ctx, c, id, func(p staff.Provisioning) error {
		before, err := lockGroup(ctx, p.Q, c.Tenant, id, match)
		if err != nil {
			return err
		}
		stored := scim.Group{ExternalID: text(before.ExternalID), DisplayName: before.DisplayName}
		in, members, err := edit(stored)
		if err != nil {
			return err
		}
		affected, err := changeMembers(ctx, p.Q, before, members)
		if err != nil || in == stored && len(affected) == 0 {
			return err
		}
		g := before
		g.ExternalID, g.DisplayName, g.Revision, g.UpdatedAt = some(in.ExternalID), in.DisplayName, g.Revision+1, p.At
		if err := taken(changeGroup(ctx, p.Q, g)); err != nil {
			return err
		}
		if in != stored { // a different name may give something else to all members
			all, err := memberIDs(ctx, p.Q, c.Tenant, id)
			if err != nil {
				return err
			}
			affected = append(affected, all...)
		}
		return s.follow(ctx, p, affected, before, g)
	})
}

// follow has the people of users follow from a change of a group, as it was and as it is, unless it gives nothing.
func (s *Service) follow(ctx context.Context, p staff.Provisioning, users []string, groups ...models.DirectoryGroup) error {
	d, err := getDirectory(ctx, p.Q, groups[0].TenantID)
	if err != nil {
		return err
	}
	m, err := mappingOf(ctx, p.Q, d)
	if err != nil || !slices.ContainsFunc(groups, m.gives) {
		return err
	}
	slices.Sort(users)
	return s.apply(ctx, p, d.TenantID, slices.Compact(users))
}

func (s *Service) groupAfter(ctx context.Context, c Caller, id string, change func(p staff.Provisioning) error) (out Resource, err error) {
	err = s.People.Provision(ctx, c.provisioner(), func(p staff.Provisioning) error {
		if err := change(p); err != nil {
			return err
		}
		out, err = s.group(ctx, p.Q, c.Tenant, id, true)
		return err
	})
	return out, err
}

// DeleteGroup deletes a group; its members lose what it gave.
func (s *Service) DeleteGroup(ctx context.Context, c Caller, id string, match IfMatch) error {
	return s.People.Provision(ctx, c.provisioner(), func(p staff.Provisioning) error {
		g, err := lockGroup(ctx, p.Q, c.Tenant, id, match)
		if err != nil {
			return err
		}
		affected, err := changeMembers(ctx, p.Q, g, scim.Members{Whole: true})
		if err != nil {
			return err
		}
		if err := deleteGroup(ctx, p.Q, c.Tenant, id); err != nil {
			return err
		}
		return s.follow(ctx, p, affected, g)
	})
}

// changeMembers changes the members of a group and returns those who joined or left.
func changeMembers(ctx context.Context, q *pg.Q, g models.DirectoryGroup, m scim.Members) ([]string, error) {
	before, err := memberIDs(ctx, q, g.TenantID, g.ID)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, id := range before {
		in[id] = true
	}
	wanted, joining := map[string]bool{}, []string{}
	for _, id := range m.Add {
		if wanted[id] = true; !in[id] {
			joining = append(joining, id)
		}
	}
	leaving := slices.DeleteFunc(m.Remove, func(id string) bool { return !in[id] })
	if m.Whole {
		leaving = slices.DeleteFunc(before, func(id string) bool { return wanted[id] })
	}
	if len(in)+len(joining)-len(leaving) > maxMembers {
		return nil, scim.Bad(scim.InvalidValue, "A group has at most %d members.", maxMembers)
	}
	known, err := usersByID(ctx, q, g.TenantID, joining)
	if err != nil {
		return nil, err
	}
	if len(known) < len(joining) {
		return nil, scim.Bad(scim.InvalidValue, "members must be ids of users; %d of them are not.", len(joining)-len(known))
	}
	rows := make([]models.DirectoryMember, len(joining))
	for i, id := range joining {
		rows[i] = models.DirectoryMember{GroupID: g.ID, UserID: id, TenantID: g.TenantID}
	}
	if err := addMembers(ctx, q, rows); err != nil {
		return nil, err
	}
	return append(joining, leaving...), removeMembers(ctx, q, g.TenantID, g.ID, leaving)
}

// GetGroup returns a group.
func (s *Service) GetGroup(ctx context.Context, c Caller, id string, q scim.Query) (Resource, error) {
	out, err := s.group(ctx, s.Store.Q, c.Tenant, id, q.Members())
	out.Body = q.Project(out.Body)
	return out, err
}

// ListGroups returns a page of groups. It has fewer than were asked for if they have many members.
func (s *Service) ListGroups(ctx context.Context, c Caller, q scim.Query) (map[string]any, error) {
	bodies, total, err := s.groupPage(ctx, c, q)
	return scim.List(bodies, total, q.Start), err
}

func (s *Service) groupPage(ctx context.Context, c Caller, q scim.Query) ([]map[string]any, int, error) {
	rows, total, err := listGroups(ctx, s.Store.Q, c.Tenant, q)
	if err != nil {
		return nil, 0, err
	}
	bodies, members := []map[string]any{}, 0
	for _, g := range rows {
		var ids []string
		if q.Members() {
			if ids, err = memberIDs(ctx, s.Store.Q, c.Tenant, g.ID); err != nil {
				return nil, 0, err
			}
		}
		if members += len(ids); members > pageMembers && len(bodies) > 0 {
			break
		}
		bodies = append(bodies, q.Project(s.groupBody(g, ids)))
	}
	return bodies, total, nil
}

func (s *Service) group(ctx context.Context, q *pg.Q, tenant, id string, withMembers bool) (Resource, error) {
	g, err := getGroup(ctx, q, tenant, id, false)
	if errors.Is(err, pg.ErrNotFound) {
		return Resource{}, scim.NotFound()
	}
	if err != nil {
		return Resource{}, err
	}
	var members []string
	if withMembers {
		if members, err = memberIDs(ctx, q, tenant, id); err != nil {
			return Resource{}, err
		}
	}
	return Resource{Body: s.groupBody(g, members), Location: s.location("Groups", id), ETag: etag(g.Revision)}, nil
}

func lockGroup(ctx context.Context, q *pg.Q, tenant, id string, match IfMatch) (models.DirectoryGroup, error) {
	g, err := getGroup(ctx, q, tenant, id, true)
	if errors.Is(err, pg.ErrNotFound) {
		return g, scim.NotFound()
	}
	if err != nil {
		return g, err
	}
	return g, match.check(g.Revision)
}

func (s *Service) groupBody(g models.DirectoryGroup, members []string) map[string]any {
	body := map[string]any{
		"schemas": []string{scim.SchemaGroup}, "id": g.ID, "displayName": g.DisplayName,
		"meta": s.meta("Group", "Groups", g.ID, g.Revision, g.CreatedAt, g.UpdatedAt),
	}
	if g.ExternalID != nil {
		body["externalId"] = *g.ExternalID
	}
	if len(members) > 0 {
		list := make([]any, len(members))
		for i, id := range members {
			list[i] = map[string]any{"value": id, "$ref": s.location("Users", id), "type": "User"}
		}
		body["members"] = list
	}
	return body
}
