package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/models"
)

// Resource is a user or a group as a response has it.
type Resource struct {
	Body           map[string]any
	Location, ETag string
}

// IfMatch is the precondition of a change: the ETag that the caller read; empty for none.
type IfMatch string

// check refuses a change of a resource that has changed since (RFC 7644, section 3.14).
func (m IfMatch) check(revision int64) error {
	// Some clients drop the mark of a weak ETag.
	if m == "" || m == "*" || strings.TrimPrefix(string(m), "W/") == strings.TrimPrefix(etag(revision), "W/") {
		return nil
	}
	return &scim.Error{Status: http.StatusPreconditionFailed, Detail: "The resource has changed since it was read (If-Match). Read it again and repeat the change."}
}

func etag(revision int64) string { return fmt.Sprintf(`W/"%d"`, revision) }

// attributesOf returns the attributes of a stored user.
func attributesOf(u models.DirectoryUser) scim.User {
	var a models.DirectoryAttributes
	_ = json.Unmarshal(u.Attributes, &a) // written by store
	return scim.User{
		ExternalID: text(u.ExternalID), UserName: u.UserName, DisplayName: a.DisplayName, Formatted: a.Formatted, GivenName: a.GivenName, FamilyName: a.FamilyName,
		Department: a.Department, Manager: text(u.Manager), Active: u.Active,
	}
}

// put puts attributes into a user's row.
func put(u *models.DirectoryUser, in scim.User) (err error) {
	u.ExternalID, u.UserName, u.Manager, u.Active = some(in.ExternalID), in.UserName, some(in.Manager), in.Active
	u.Attributes, err = json.Marshal(models.DirectoryAttributes{
		DisplayName: in.DisplayName, Formatted: in.Formatted, GivenName: in.GivenName, FamilyName: in.FamilyName, Department: in.Department,
	})
	return err
}

// CreateUser makes a user, who becomes a person with the first role.
func (s *Service) CreateUser(ctx context.Context, c Caller, body any) (Resource, error) {
	in, err := scim.NewUser(body, true)
	if err != nil {
		return Resource{}, err
	}
	u := models.DirectoryUser{ID: ids.New(ids.DirectoryUser), TenantID: c.Tenant, Revision: 1}
	if err := put(&u, in); err != nil {
		return Resource{}, err
	}
	return s.userAfter(ctx, c, u.ID, func(p staff.Provisioning) error {
		u.CreatedAt, u.UpdatedAt = p.At, p.At
		return taken(createUser(ctx, p.Q, u))
	})
}

// ReplaceUser replaces the attributes of a user. Without the attribute active, the user stays as active as before.
func (s *Service) ReplaceUser(ctx context.Context, c Caller, id string, match IfMatch, body any) (Resource, error) {
	return s.editUser(ctx, c, id, match, func(before scim.User) (scim.User, error) { return scim.NewUser(body, before.Active) })
}

// PatchUser applies the operations of a PATCH to a user.
func (s *Service) PatchUser(ctx context.Context, c Caller, id string, match IfMatch, body any) (Resource, error) {
	operations, err := scim.NewPatch(body)
	if err != nil {
		return Resource{}, err
	}
	return s.editUser(ctx, c, id, match, func(before scim.User) (scim.User, error) { return before.Patched(operations) })
}

// editUser changes a user, and the person with it. What changes nothing leaves the ETag.
func (s *Service) editUser(ctx context.Context, c Caller, id string, match IfMatch, edit func(scim.User) (scim.User, error)) (Resource, error) {
	return s.userAfter(ctx, c, id, func(p staff.Provisioning) error {
		u, err := lockUser(ctx, p.Q, c.Tenant, id, match)
		if err != nil {
			return err
		}
		before := attributesOf(u)
		after, err := edit(before)
		if err != nil || after == before {
			return err
		}
		u.Revision, u.UpdatedAt = u.Revision+1, p.At
		if err := put(&u, after); err != nil {
			return err
		}
		return taken(changeUser(ctx, p.Q, u))
	})
}

// userAfter makes a change of a user, has the person follow and returns the user.
func (s *Service) userAfter(ctx context.Context, c Caller, id string, change func(p staff.Provisioning) error) (out Resource, err error) {
	err = s.People.Provision(ctx, c.provisioner(), func(p staff.Provisioning) error {
		if err := change(p); err != nil {
			return err
		}
		if err := s.apply(ctx, p, c.Tenant, []string{id}); err != nil {
			return err
		}
		out, err = s.user(ctx, p.Q, c.Tenant, id)
		return err
	})
	return out, err
}

// DeleteUser deletes a user and ends the person. The identity stays, so that one who returns counts as the same person.
func (s *Service) DeleteUser(ctx context.Context, c Caller, id string, match IfMatch) error {
	return s.People.Provision(ctx, c.provisioner(), func(p staff.Provisioning) error {
		u, err := lockUser(ctx, p.Q, c.Tenant, id, match)
		if err != nil {
			return err
		}
		if err := removeMemberships(ctx, p.Q, c.Tenant, id); err != nil {
			return err
		}
		u.Active, u.UpdatedAt = false, p.At
		if err := changeUser(ctx, p.Q, u); err != nil {
			return err
		}
		if err := s.apply(ctx, p, c.Tenant, []string{id}); err != nil {
			return err
		}
		if u, err = getUser(ctx, p.Q, c.Tenant, id, false); err != nil {
			return err
		}
		u.Attributes, u.Manager, u.DeletedAt = models.JSON("{}"), nil, &p.At
		return changeUser(ctx, p.Q, u)
	})
}

// GetUser returns a user.
func (s *Service) GetUser(ctx context.Context, c Caller, id string, q scim.Query) (Resource, error) {
	out, err := s.user(ctx, s.Store.Q, c.Tenant, id)
	out.Body = q.Project(out.Body)
	return out, err
}

// ListUsers returns a page of users.
func (s *Service) ListUsers(ctx context.Context, c Caller, q scim.Query) (map[string]any, error) {
	rows, total, err := listUsers(ctx, s.Store.Q, c.Tenant, q)
	if err != nil {
		return nil, err
	}
	bodies, err := s.userBodies(ctx, s.Store.Q, c.Tenant, rows)
	for i := range bodies {
		bodies[i] = q.Project(bodies[i])
	}
	return scim.List(bodies, total, q.Start), err
}

// Search returns a page of users and groups, the users first.
func (s *Service) Search(ctx context.Context, c Caller, q scim.Query) (map[string]any, error) {
	users, total, err := listUsers(ctx, s.Store.Q, c.Tenant, q)
	if err != nil {
		return nil, err
	}
	bodies, err := s.userBodies(ctx, s.Store.Q, c.Tenant, users)
	if err != nil {
		return nil, err
	}
	for i := range bodies {
		bodies[i] = q.Project(bodies[i])
	}
	rest := q
	rest.Start, rest.Count = max(1, q.Start-total), q.Count-len(users)
	groups, more, err := s.groupPage(ctx, c, rest)
	return scim.List(append(bodies, groups...), total+more, q.Start), err
}

func (s *Service) user(ctx context.Context, q *pg.Q, tenant, id string) (Resource, error) {
	u, err := getUser(ctx, q, tenant, id, false)
	if errors.Is(err, pg.ErrNotFound) {
		return Resource{}, scim.NotFound()
	}
	if err != nil {
		return Resource{}, err
	}
	bodies, err := s.userBodies(ctx, q, tenant, []models.DirectoryUser{u})
	if err != nil {
		return Resource{}, err
	}
	return Resource{Body: bodies[0], Location: s.location("Users", id), ETag: etag(u.Revision)}, nil
}

func (s *Service) location(kind, id string) string { return s.URL() + "/" + kind + "/" + id }

func lockUser(ctx context.Context, q *pg.Q, tenant, id string, match IfMatch) (models.DirectoryUser, error) {
	u, err := getUser(ctx, q, tenant, id, true)
	if errors.Is(err, pg.ErrNotFound) {
		return u, scim.NotFound()
	}
	if err != nil {
		return u, err
	}
	return u, match.check(u.Revision)
}

// taken returns the refusal of a value that must be unique.
func taken(err error) error {
	for index, attribute := range map[string]string{
		"directory_users_name": "userName", "directory_users_external": "externalId", "directory_groups_name": "displayName", "directory_groups_external": "externalId",
	} {
		if pg.Violates(err, index) {
			return scim.Taken(attribute)
		}
	}
	return err
}

// userBodies returns users with the names of their groups and of their managers.
func (s *Service) userBodies(ctx context.Context, q *pg.Q, tenant string, rows []models.DirectoryUser) ([]map[string]any, error) {
	var users, managers, in []string
	for _, u := range rows {
		users = append(users, u.ID)
		if u.Manager != nil {
			managers = append(managers, *u.Manager)
		}
	}
	memberships, err := membershipsOf(ctx, q, tenant, users)
	if err != nil {
		return nil, err
	}
	for _, m := range memberships {
		in = append(in, m.GroupID)
	}
	groups, err := groupsByID(ctx, q, tenant, in)
	if err != nil {
		return nil, err
	}
	above, err := usersByID(ctx, q, tenant, managers)
	if err != nil {
		return nil, err
	}
	names, of := map[string]string{}, map[string][]any{}
	for _, g := range groups {
		names[g.ID] = g.DisplayName
	}
	for _, m := range above {
		names[m.ID] = attributesOf(m).Name()
	}
	for _, m := range memberships {
		of[m.UserID] = append(of[m.UserID], map[string]any{"value": m.GroupID, "$ref": s.location("Groups", m.GroupID), "display": names[m.GroupID], "type": "direct"})
	}
	out := make([]map[string]any, len(rows))
	for i, u := range rows {
		out[i] = s.userBody(u, of[u.ID], names[text(u.Manager)])
	}
	return out, nil
}

func (s *Service) userBody(u models.DirectoryUser, groups []any, manager string) map[string]any {
	a := attributesOf(u)
	body := map[string]any{"schemas": []string{scim.SchemaUser, scim.SchemaEnterprise}, "id": u.ID, "userName": a.UserName, "active": a.Active}
	set := func(to map[string]any, name, value string) {
		if value != "" {
			to[name] = value
		}
	}
	set(body, "externalId", a.ExternalID)
	set(body, "displayName", a.DisplayName)
	name, enterprise := map[string]any{}, map[string]any{}
	set(name, "formatted", a.Formatted)
	set(name, "givenName", a.GivenName)
	set(name, "familyName", a.FamilyName)
	if len(name) > 0 {
		body["name"] = name
	}
	set(enterprise, "department", a.Department)
	if a.Manager != "" {
		of := map[string]any{"value": a.Manager}
		set(of, "displayName", manager)
		enterprise["manager"] = of
	}
	if len(enterprise) > 0 {
		body[scim.SchemaEnterprise] = enterprise
	} else {
		body["schemas"] = []string{scim.SchemaUser}
	}
	if len(groups) > 0 {
		body["groups"] = groups
	}
	body["meta"] = s.meta("User", "Users", u.ID, u.Revision, u.CreatedAt, u.UpdatedAt)
	return body
}

func (s *Service) meta(kind, plural, id string, revision int64, created, updated time.Time) map[string]any {
	const form = "2006-01-02T15:04:05.000Z"
	return map[string]any{
		"resourceType": kind, "location": s.location(plural, id), "version": etag(revision), "created": created.UTC().Format(form), "lastModified": updated.UTC().Format(form),
	}
}
