package integration_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// linked makes an invited person a user of a new directory, with the roles of a group.
func linked(t *testing.T, w world, person string, roles ...models.Role) (companyDirectory, string) {
	t.Helper()
	d := newDirectory(t, w, grantOf(w, "staff", roles...))
	user := d.user("ann", nil)
	d.group("staff", user)
	unused := d.person(user)
	require.NoError(t, shared.Directories.Link(t.Context(), w.TenantID, user, person, "cli:test"))
	require.Equal(t, person, d.person(user))
	require.Len(t, d.roles(person), len(roles))
	require.Empty(t, d.roles(unused))
	return d, user
}

// A deactivation ends a session and the approvals of before with the response; nothing waits for a cache.
func TestDirectoryEndsApprovalsAndSessionsAtOnce(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(d companyDirectory, user string){
		"deactivated": func(d companyDirectory, user string) {
			d.patch("/Users/"+user, object{"op": "Replace", "path": "active", "value": "False"})
		},
		"deleted": func(d companyDirectory, user string) {
			d.do(http.StatusNoContent, http.MethodDelete, "/Users/"+user, nil)
		},
		"activated again": func(d companyDirectory, user string) {
			d.patch("/Users/"+user, object{"op": "replace", "value": object{"active": false}})
			d.patch("/Users/"+user, object{"op": "replace", "value": object{"active": true}})
		},
		"without the group": func(d companyDirectory, user string) {
			group := d.find("/Groups", `displayName eq "staff"`)[0].(object)["id"].(string)
			d.do(http.StatusOK, http.MethodPut, "/Groups/"+group, object{"displayName": "staff", "members": []object{}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
			ann := w.signedIn(t, models.RoleReviewer)
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			d, user := linked(t, w, ann.person, models.RoleReviewer)
			ann.review(w, held, "approve")
			given := func() any { return w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["approvals"] }
			require.Equal(t, object{"given": 1.0, "required": 2.0}, given())
			sent := time.Now()
			leave(d, user)
			refused := ann.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {"reject"}, "note": {"Not expected."}})
			t.Logf("from the request of the directory to the refused review: %s", time.Since(sent))
			require.Equal(t, "/console/sign-in", refused.location)
			require.Equal(t, object{"given": 0.0, "required": 2.0}, given())
			require.NotEqual(t, http.StatusOK, ann.get("/console/"+w.ID+"/reviews").status, "the session has ended")
		})
	}
}

func TestDirectoryLeavesTheLastOperator(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.signedIn(t, models.RoleOperator)
	d, user := linked(t, w, ann.person, models.RoleOperator)
	group := d.find("/Groups", `displayName eq "staff"`)[0].(object)["id"].(string)
	off := object{"Operations": []object{{"op": "replace", "path": "active", "value": false}}}
	for name, c := range map[string]struct {
		method, path string
		body         any
	}{
		"deactivated":         {http.MethodPatch, "/Users/" + user, off},
		"deleted":             {http.MethodDelete, "/Users/" + user, nil},
		"the group is empty":  {http.MethodPut, "/Groups/" + group, object{"displayName": "staff"}},
		"the group is gone":   {http.MethodDelete, "/Groups/" + group, nil},
		"the group is others": {http.MethodPut, "/Groups/" + group, object{"displayName": "x", "members": []object{{"value": user}}}},
	} {
		out := d.send(c.method, c.path, c.body)
		require.Equal(t, http.StatusConflict, out.status, name)
		require.Contains(t, out.raw, "operator", name)
		require.Equal(t, []string{"operator"}, d.roles(ann.person), name)
	}
	require.Error(t, shared.Directories.Set(t.Context(), w.TenantID, directory.Settings{Grants: []models.ProviderGrant{grantOf(w, "none", models.RoleAuditor)}}, "cli:test"))
	w.signedIn(t, models.RoleOperator)
	require.Equal(t, http.StatusOK, d.send(http.MethodPatch, "/Users/"+user, off).status, "another operator is there")
	require.Empty(t, d.roles(ann.person))
}

func TestDirectoryDoesNotBringBackWhomAnOperatorRevoked(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "staff", models.RoleReviewer))
	user := d.user("ann", nil)
	d.group("staff", user)
	person := d.person(user)
	require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, person, "cli:person revoke"))
	require.Equal(t, false, d.patch("/Users/"+user, object{"op": "replace", "path": "displayName", "value": "Ann"})["active"])
	require.Equal(t, false, d.patch("/Users/"+user, object{"op": "replace", "path": "active", "value": true})["active"])
	d.do(http.StatusNoContent, http.MethodDelete, "/Users/"+user, nil)
	again := d.user("ann", nil)
	group := d.find("/Groups", `displayName eq "staff"`)[0].(object)["id"].(string)
	d.patch("/Groups/"+group, object{"op": "add", "path": "members", "value": []object{{"value": again}}})
	require.Empty(t, d.person(again))
	require.Equal(t, false, d.do(http.StatusOK, http.MethodGet, "/Users/"+again, nil)["active"])
}

func TestDirectoryKeepsManagersTeamsAndNames(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance"}).is(201)
	grant := grantOf(w, "staff", models.RoleReviewer)
	grant.Teams = []string{"finance", "missing"}
	d := newDirectory(t, w, grant)
	boss := d.user("boss", nil)
	ann := d.user("ann", object{"displayName": "Ann", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": object{"manager": object{"value": boss}, "department": "Cards"}})
	staffGroup := d.group("staff", ann)
	manager := func() string {
		id, err := staff.Manager(t.Context(), shared.Store.Q, w.TenantID, d.person(ann))
		require.NoError(t, err)
		return id
	}
	require.Empty(t, manager(), "the manager has no role yet")
	d.patch("/Groups/"+staffGroup, object{"op": "add", "path": "members", "value": []object{{"value": boss}}})
	require.Equal(t, d.person(boss), manager())
	members := func() int {
		return len(w.Admin.get(t, "/api/v1/teams").is(200).list()[0]["members"].([]any))
	}
	require.Equal(t, 2, members())
	d.patch("/Users/"+boss, object{"op": "replace", "path": "active", "value": false})
	require.Empty(t, manager())
	require.Equal(t, 1, members())
	d.patch("/Users/"+boss, object{"op": "replace", "path": "active", "value": true})
	require.Equal(t, d.person(boss), manager(), "the new account")
}

// A user and an account of the identity provider are one person by the external id, and the directory decides.
func TestDirectoryAndProviderAreOnePerson(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	settings := directory.Settings{Provider: "first", Required: true}
	require.NoError(t, shared.Directories.Set(t.Context(), c.w.TenantID, settings, "cli:test"))
	_, token, err := shared.Directories.CreateToken(t.Context(), c.w.TenantID, "cli:test")
	require.NoError(t, err)
	d := companyDirectory{t: t, w: c.w, token: token}
	_, out := c.in()
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "has not provisioned")

	ada := d.do(http.StatusCreated, http.MethodPost, "/Users", object{"userName": "ada@bank.example", "externalId": "ada"})["id"].(string)
	_, out = c.in()
	require.Contains(t, out.body, "None of your groups", "groups of the token are not read")
	d.group("leads", ada)
	first := d.person(ada)
	require.Equal(t, []string{"operator", "reviewer"}, d.roles(first), "before the first sign-in")
	c.control(object{"groups": []string{"interns"}})
	n, out := c.in()
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.True(t, n.signedIn(c.w))
	require.Equal(t, 1, count(t, "select count(*) from people where tenant_id = $1", c.w.TenantID))

	d.patch("/Users/"+ada, object{"op": "Replace", "path": "active", "value": "False"})
	require.False(t, n.signedIn(c.w))
	_, out = c.in()
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "deactivated")
	d.patch("/Users/"+ada, object{"op": "Replace", "path": "active", "value": "True"})
	require.NotEqual(t, first, d.person(ada))
	n, out = c.in()
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.True(t, n.signedIn(c.w))
	d.do(http.StatusNoContent, http.MethodDelete, "/Users/"+ada, nil)
	require.False(t, n.signedIn(c.w))
	_, out = c.in()
	require.Contains(t, out.body, "deactivated", "a deleted user stays out")
}

// Staff who signed in before there was a directory keep their access while it sends them.
func TestDirectoryTakesOverAccountsOfTheProvider(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	n, out := c.in()
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.NoError(t, shared.Directories.Set(t.Context(), c.w.TenantID, directory.Settings{Provider: "first"}, "cli:test"))
	_, token, err := shared.Directories.CreateToken(t.Context(), c.w.TenantID, "cli:test")
	require.NoError(t, err)
	d := companyDirectory{t: t, w: c.w, token: token}
	ada := d.do(http.StatusCreated, http.MethodPost, "/Users", object{"userName": "ada@bank.example", "externalId": "ada"})["id"].(string)
	person := d.person(ada)
	require.Equal(t, []string{"operator", "reviewer"}, d.roles(person))
	require.True(t, n.signedIn(c.w))
	d.group("leads", ada)
	require.True(t, n.signedIn(c.w))
	require.Equal(t, person, d.person(ada))
	d.patch("/Users/"+ada, object{"op": "Replace", "path": "active", "value": "False"})
	require.False(t, n.signedIn(c.w))
}

// A human who was invited, is in the directory and signs in by the provider gives one approval, until an operator says that they are two.
func TestOneHumanByThreeWaysApprovesOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settle   func(t *testing.T, w world, provided, invited string)
		approved bool
	}{
		"nothing is known": {func(*testing.T, world, string, string) {}, false},
		"linked": {func(t *testing.T, w world, provided, invited string) {
			require.NoError(t, shared.People.ConfirmIdentity(t.Context(), w.scope(), provided, "test:second operator"))
			require.NoError(t, shared.People.Link(t.Context(), w.scope(), provided, invited, "test:second operator"))
		}, false},
		"confirmed as someone else": {func(t *testing.T, w world, provided, _ string) {
			require.NoError(t, shared.People.ConfirmIdentity(t.Context(), w.scope(), provided, "test:second operator"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			company := newCompanies(t)
			w := company.w
			require.NoError(t, shared.Directories.Set(t.Context(), w.TenantID, directory.Settings{Provider: "first"}, "cli:test"))
			_, token, err := shared.Directories.CreateToken(t.Context(), w.TenantID, "cli:test")
			require.NoError(t, err)
			d := companyDirectory{t: t, w: w, token: token}
			ada := d.do(http.StatusCreated, http.MethodPost, "/Users", object{"userName": "ada@bank.example", "externalId": "ada"})["id"].(string)
			d.group("leads", ada)
			n, out := company.in()
			require.Equal(t, http.StatusOK, out.status, out.body)
			provided, invited := n.visitor(), w.signedIn(t, models.RoleReviewer)
			provided.registerFirst()
			c.settle(t, w, d.person(ada), invited.person)

			_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			at := "/console/" + w.ID + "/reviews/" + held
			for _, v := range []*visitor{invited, provided} {
				v.submit(at, url.Values{"resolution": {"approve"}})
				v.made(at + "?of=" + held)
			}
			waiting := w.Server.get(t, "/api/v1/reviews?action="+action).is(http.StatusOK).list()
			if c.approved {
				require.Empty(t, waiting)
				return
			}
			require.Len(t, waiting, 1)
			require.Equal(t, object{"given": 1.0, "required": 2.0}, waiting[0]["approvals"])
		})
	}
}
