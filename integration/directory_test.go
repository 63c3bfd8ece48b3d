package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// companyDirectory is the SCIM client of a company: what Entra or Okta is.
type companyDirectory struct {
	t     *testing.T
	w     world
	token string
}

func newDirectory(t *testing.T, w world, grants ...models.ProviderGrant) companyDirectory {
	t.Helper()
	require.NoError(t, shared.Directories.Set(t.Context(), w.TenantID, directory.Settings{Grants: grants}, "cli:test"))
	_, token, err := shared.Directories.CreateToken(t.Context(), w.TenantID, "cli:test")
	require.NoError(t, err)
	return companyDirectory{t: t, w: w, token: token}
}

func grantOf(w world, group string, roles ...models.Role) models.ProviderGrant {
	return models.ProviderGrant{Group: group, Environment: w.ID, Roles: roles}
}

type scimReply struct {
	status int
	header http.Header
	raw    string
	body   object
}

func (d companyDirectory) send(method, path string, body any, header ...string) scimReply {
	d.t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		raw, err = json.Marshal(b)
		require.NoError(d.t, err)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, shared.baseURL+directory.Path+path, bytes.NewReader(raw))
	require.NoError(d.t, err)
	req.Header.Set("Authorization", "Bearer "+d.token)
	if raw != nil {
		req.Header.Set("Content-Type", "application/scim+json")
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(d.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(d.t, err)
	out := scimReply{status: res.StatusCode, header: res.Header, raw: string(text)}
	if len(text) > 0 {
		require.NoError(d.t, json.Unmarshal(text, &out.body), "%s", text)
	}
	return out
}

// do sends a request that must succeed and returns its body.
func (d companyDirectory) do(status int, method, path string, body any) object {
	d.t.Helper()
	out := d.send(method, path, body)
	require.Equal(d.t, status, out.status, out.raw)
	return out.body
}

func (d companyDirectory) user(name string, more object) string {
	d.t.Helper()
	body := object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"}, "userName": name, "externalId": "ext-" + name}
	for k, v := range more {
		body[k] = v
	}
	return d.do(http.StatusCreated, http.MethodPost, "/Users", body)["id"].(string)
}

func (d companyDirectory) group(name string, users ...string) string {
	d.t.Helper()
	members := []object{}
	for _, u := range users {
		members = append(members, object{"value": u})
	}
	return d.do(http.StatusCreated, http.MethodPost, "/Groups", object{"displayName": name, "members": members})["id"].(string)
}

func (d companyDirectory) patch(path string, operations ...object) object {
	d.t.Helper()
	return d.do(http.StatusOK, http.MethodPatch, path, object{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"}, "Operations": operations})
}

func (d companyDirectory) find(path, filter string) []any {
	d.t.Helper()
	return d.do(http.StatusOK, http.MethodGet, path+"?filter="+url.QueryEscape(filter), nil)["Resources"].([]any)
}

// person returns the person of a user as staff lists it, or empty.
func (d companyDirectory) person(user string) string {
	d.t.Helper()
	rows, _, err := shared.Directories.Users(d.t.Context(), d.w.TenantID, 1)
	require.NoError(d.t, err)
	for _, u := range rows {
		if u.ID == user && u.PersonID != nil {
			return *u.PersonID
		}
	}
	return ""
}

// roles returns the roles of a person in the environment.
func (d companyDirectory) roles(person string) []string {
	d.t.Helper()
	return storetest.Texts(d.t, shared.Store, `select r.role from person_roles r join people p on p.id = r.person_id where p.revoked_at is null
		and r.person_id = $1 and r.environment_id = $2 order by 1`, person, d.w.ID)
}

func TestDirectoryGivesRolesByGroups(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer), grantOf(w, "auditors", models.RoleAuditor))
	ann := d.user("ann@bank.example", object{"displayName": "Ann"})
	require.Empty(t, d.person(ann), "a user without a role is no person")
	leads := d.group("leads", ann)
	person := d.person(ann)
	require.Equal(t, []string{"reviewer"}, d.roles(person))
	auditors := d.group("auditors")
	d.patch("/Groups/"+auditors, object{"op": "Add", "path": "members", "value": []object{{"value": ann}}})
	require.Equal(t, []string{"auditor", "reviewer"}, d.roles(person))
	d.patch("/Groups/"+leads, object{"op": "Remove", "path": fmt.Sprintf("members[value eq %q]", ann)})
	require.Equal(t, []string{"auditor"}, d.roles(person))
	d.patch("/Groups/"+auditors, object{"op": "Replace", "value": object{"id": auditors, "displayName": "others"}})
	require.Empty(t, d.roles(person), "the group has a name that gives nothing")
	d.patch("/Groups/"+auditors, object{"op": "replace", "path": "displayName", "value": "auditors"})
	require.Equal(t, []string{"auditor"}, d.roles(person))
	d.do(http.StatusNoContent, http.MethodDelete, "/Groups/"+auditors, nil)
	require.Empty(t, d.roles(person))
	require.Equal(t, person, d.person(ann), "the same person")
}

func TestDirectoryDeactivationIsARemovalThatNothingRevives(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]object{
		"Entra":                {"op": "Replace", "path": "active", "value": "False"},
		"Entra without a path": {"op": "Replace", "value": object{"active": "False"}},
		"Okta":                 {"op": "replace", "value": object{"active": false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
			ann := d.user("ann", nil)
			d.group("leads", ann)
			first := d.person(ann)
			require.Equal(t, false, d.patch("/Users/"+ann, off)["active"])
			require.Empty(t, d.roles(first))
			require.Equal(t, true, d.patch("/Users/"+ann, object{"op": "Replace", "path": "active", "value": "True"})["active"])
			second := d.person(ann)
			require.NotEqual(t, first, second, "a new account")
			require.Equal(t, []string{"reviewer"}, d.roles(second))
			require.Empty(t, d.roles(first))

			d.do(http.StatusNoContent, http.MethodDelete, "/Users/"+ann, nil)
			require.Empty(t, d.roles(second))
			again := d.user("ann", nil)
			require.NotEqual(t, ann, again)
			d.patch("/Groups/"+d.find("/Groups", `displayName eq "LEADS"`)[0].(object)["id"].(string), object{"op": "add", "path": "members", "value": []object{{"value": again}}})
			third := d.person(again)
			require.Equal(t, []string{"reviewer"}, d.roles(third))
			var principals int
			require.NoError(t, shared.Store.QueryRow(t.Context(), `select count(distinct coalesce(principal, 'person:' || id)) from people where id in ($1, $2, $3)`,
				first, second, third).Scan(&principals))
			require.Equal(t, 1, principals, "all count as one person")
		})
	}
}

func TestDirectoryOfAnotherTenantFindsNothing(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	d, foreign := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer)), newDirectory(t, other, grantOf(other, "leads", models.RoleReviewer))
	ann := d.user("ann", nil)
	leads := d.group("leads", ann)
	unknown := "dus_" + strings.Repeat("0", 26)
	for _, c := range []struct{ method, path, missing string }{
		{http.MethodGet, "/Users/" + ann, "/Users/" + unknown}, {http.MethodDelete, "/Users/" + ann, "/Users/" + unknown},
		{http.MethodPut, "/Users/" + ann, "/Users/" + unknown}, {http.MethodPatch, "/Users/" + ann, "/Users/" + unknown},
		{http.MethodGet, "/Groups/" + leads, "/Groups/x"}, {http.MethodDelete, "/Groups/" + leads, "/Groups/x"},
	} {
		var body any
		switch c.method {
		case http.MethodPut:
			body = object{"userName": "x"}
		case http.MethodPatch:
			body = object{"Operations": []object{{"op": "replace", "path": "active", "value": false}}}
		}
		a, b := foreign.send(c.method, c.path, body), foreign.send(c.method, c.missing, body)
		require.Equal(t, http.StatusNotFound, a.status, a.raw)
		require.Equal(t, b.raw, a.raw)
	}
	require.Empty(t, foreign.find("/Users", `userName eq "ann"`))
	refused := foreign.send(http.MethodPost, "/Groups", object{"displayName": "leads", "members": []object{{"value": ann}}})
	require.Equal(t, "invalidValue", refused.body["scimType"], refused.raw)
	foreign.token = "scim_" + strings.Repeat("A", 43)
	require.Equal(t, http.StatusUnauthorized, foreign.send(http.MethodGet, "/Users", nil).status)
}

func TestDirectoryAcceptsWhatProvidersSend(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	manager := d.user("boss", object{"name": object{"formatted": "The Boss"}})
	entra := d.do(http.StatusCreated, http.MethodPost, "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User",
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"], "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef", "userName": "Test_User", "active": "True",
		"emails": [{"primary": true, "type": "work", "value": "t@bank.example"}], "meta": {"resourceType": "User"}, "roles": [],
		"name": {"formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName"}}`)
	id := entra["id"].(string)
	require.Equal(t, true, entra["active"])
	require.NotContains(t, entra, "emails", "addresses are not stored")
	out := d.patch("/Users/"+id,
		object{"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager", "value": manager},
		object{"op": "Replace", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "Payments"},
		object{"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "other@bank.example"},
		object{"op": "Replace", "path": "name.familyName", "value": "Changed"},
		object{"op": "Replace", "value": object{"displayName": "Shown", "name.givenName": "New",
			"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department": "Cards"}})
	enterprise := out["urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"].(object)
	require.Equal(t, "Cards", enterprise["department"])
	require.Equal(t, object{"value": manager, "displayName": "The Boss"}, enterprise["manager"])
	require.Equal(t, object{"formatted": "givenName familyName", "familyName": "Changed", "givenName": "New"}, out["name"])
	require.Len(t, d.find("/Users", `userName eq "TEST_user"`), 1)
	require.Len(t, d.find("/Users", `externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef" and not (active eq false)`), 1)
	require.Empty(t, d.find("/Users", `emails[type eq "work" and value eq "t@bank.example"]`))
	okta := d.do(http.StatusOK, http.MethodPut, "/Users/"+id, object{"userName": "renamed", "externalId": "okta-1", "active": false, "groups": []object{}, "password": "x"})
	require.Equal(t, false, okta["active"])
	leads := d.group("leads", manager)
	require.Len(t, d.find("/Groups", fmt.Sprintf("id eq %q and members eq %q", leads, manager)), 1)
	require.NotContains(t, d.do(http.StatusOK, http.MethodGet, "/Groups/"+leads+"?excludedAttributes=members", nil), "members")
	d.patch("/Groups/"+leads, object{"op": "Remove", "path": "members", "value": []object{{"value": manager}}})
	require.NotContains(t, d.do(http.StatusOK, http.MethodGet, "/Groups/"+leads, nil), "members")
}

func TestDirectoryRefusalsNameTheirType(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	ann := d.user("ann", nil)
	deep := strings.Repeat("(", 9) + `userName eq "a"` + strings.Repeat(")", 9)
	patch := func(operation string) string { return `{"Operations": [` + operation + `]}` }
	filter := func(text string) string { return "/Users?filter=" + url.QueryEscape(text) }
	for name, c := range map[string]struct {
		method, path string
		body         any
		status       int
		scimType     string
	}{
		"a name in use":            {http.MethodPost, "/Users", object{"userName": "ANN"}, http.StatusConflict, "uniqueness"},
		"an id in use":             {http.MethodPost, "/Users", object{"userName": "bob", "externalId": "ext-ann"}, http.StatusConflict, "uniqueness"},
		"no name":                  {http.MethodPost, "/Users", object{"externalId": "x"}, http.StatusBadRequest, "invalidValue"},
		"no object":                {http.MethodPost, "/Users", `[]`, http.StatusBadRequest, "invalidSyntax"},
		"no JSON":                  {http.MethodPost, "/Users", `{`, http.StatusBadRequest, "invalidSyntax"},
		"a long name":              {http.MethodPost, "/Users", object{"userName": strings.Repeat("x", 257)}, http.StatusBadRequest, "invalidValue"},
		"a NUL":                    {http.MethodPost, "/Users", `{"userName": "a\u0000"}`, http.StatusBadRequest, "invalidSyntax"},
		"a filter without end":     {http.MethodGet, filter(`userName eq "`), nil, http.StatusBadRequest, "invalidFilter"},
		"a deep filter":            {http.MethodGet, filter(deep), nil, http.StatusBadRequest, "invalidFilter"},
		"a long filter":            {http.MethodGet, filter(`userName eq "` + strings.Repeat("x", 1024) + `"`), nil, http.StatusBadRequest, "invalidFilter"},
		"many comparisons":         {http.MethodGet, filter(strings.Repeat("id pr or ", 60) + "id pr"), nil, http.StatusBadRequest, "invalidFilter"},
		"a filter of a wrong type": {http.MethodGet, filter(`active eq 1`), nil, http.StatusBadRequest, "invalidFilter"},
		"a count given twice":      {http.MethodGet, "/Users?count=1&count=2", nil, http.StatusBadRequest, "invalidValue"},
		"a filter given twice":     {http.MethodGet, filter(`userName eq "a"`) + "&filter=", nil, http.StatusBadRequest, "invalidValue"},
		"a count that is a word":   {http.MethodGet, "/Users?count=ten", nil, http.StatusBadRequest, "invalidValue"},
		"an unknown operation":     {http.MethodPatch, "/Users/" + ann, patch(`{"op": "move"}`), http.StatusBadRequest, "invalidSyntax"},
		"a path that is no path":   {http.MethodPatch, "/Users/" + ann, patch(`{"op": "add", "path": "a b", "value": 1}`), http.StatusBadRequest, "invalidPath"},
		"a removal of all":         {http.MethodPatch, "/Users/" + ann, patch(`{"op": "remove"}`), http.StatusBadRequest, "noTarget"},
		"active that is a word":    {http.MethodPatch, "/Users/" + ann, patch(`{"op": "replace", "path": "active", "value": "maybe"}`), http.StatusBadRequest, "invalidValue"},
		"a large body":             {http.MethodPost, "/Users", `{"userName": "` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge, ""},
		"an unknown path":          {http.MethodGet, "/Bulk", nil, http.StatusNotFound, ""},
		"a path below a user":      {http.MethodGet, "/Users/" + ann + "/name", nil, http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := d
			d.t = t
			out := d.send(c.method, c.path, c.body)
			require.Equal(t, c.status, out.status, out.raw)
			require.Equal(t, "application/scim+json", out.header.Get("Content-Type"))
			require.Equal(t, fmt.Sprint(c.status), out.body["status"])
			scimType, _ := out.body["scimType"].(string)
			require.Equal(t, c.scimType, scimType, out.raw)
			require.NotEmpty(t, out.body["detail"])
		})
	}
}

func TestDirectoryChangesOnlyWhatTheCallerRead(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	ann := "/Users/" + d.user("ann", nil)
	first := d.send(http.MethodGet, ann, nil).header.Get("ETag")
	require.Equal(t, http.StatusNotModified, d.send(http.MethodGet, ann, nil, "If-None-Match", first).status)
	same := d.patch(ann, object{"op": "replace", "path": "userName", "value": "ann"})
	require.Equal(t, first, same["meta"].(object)["version"], "nothing has changed")
	changed := d.send(http.MethodPut, ann, object{"userName": "anna", "externalId": "ext-ann"}, "If-Match", first)
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	for method, body := range map[string]any{http.MethodPut: object{"userName": "x"}, http.MethodPatch: object{"Operations": []object{{"op": "remove", "path": "name"}}}, http.MethodDelete: nil} {
		require.Equal(t, http.StatusPreconditionFailed, d.send(method, ann, body, "If-Match", first).status, method)
	}
	require.Equal(t, http.StatusNoContent, d.send(http.MethodDelete, ann, nil, "If-Match", changed.header.Get("ETag")).status)
}

func TestDirectoryPagesAreBounded(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	for i := range 5 {
		d.user(fmt.Sprintf("user-%d", i), nil)
	}
	page := func(query string) object { return d.do(http.StatusOK, http.MethodGet, "/Users?"+query, nil) }
	second := page("startIndex=3&count=2&attributes=userName")
	require.Equal(t, []any{5.0, 3.0, 2.0}, []any{second["totalResults"], second["startIndex"], second["itemsPerPage"]})
	require.Equal(t, "user-2", second["Resources"].([]any)[0].(object)["userName"])
	require.NotContains(t, second["Resources"].([]any)[0], "active")
	for query, want := range map[string]int{"count=0": 0, "count=-1": 0, "startIndex=-5": 5, "startIndex=6": 0, "count=100000": 5} {
		require.Len(t, page(query)["Resources"], want, query)
	}
	searched := d.do(http.StatusOK, http.MethodPost, "/.search", object{"filter": `userName sw "USER-"`, "startIndex": 4, "count": 10})
	require.Len(t, searched["Resources"], 2)
}

func TestDirectoryTokensRotateWithOverlap(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	works := func(token string) bool {
		d := d
		d.token = token
		return d.send(http.MethodGet, "/Users", nil).status == http.StatusOK
	}
	first := d.token
	_, second, err := shared.Directories.RotateToken(t.Context(), w.TenantID, directory.Overlap, "cli:test")
	require.NoError(t, err)
	require.True(t, works(first) && works(second))
	row, third, err := shared.Directories.RotateToken(t.Context(), w.TenantID, 0, "cli:test")
	require.NoError(t, err)
	require.False(t, works(first) || works(second))
	require.True(t, works(third))
	require.NoError(t, shared.Directories.RevokeToken(t.Context(), w.TenantID, row.ID, "cli:test"))
	require.False(t, works(third))
}

// The members of a group come in pages of 5,000 within 1 MiB.
func TestDirectoryTakesLargeGroups(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	var members []object
	rows, err := shared.Store.Query(t.Context(), "select 'dus_' || lpad(n::text, 26, '0') from generate_series(1, 5000) n")
	require.NoError(t, err)
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		members = append(members, object{"value": id})
	}
	rows.Close()
	everyone := d.group("everyone")
	refused := d.send(http.MethodPatch, "/Groups/"+everyone, object{"Operations": []object{{"op": "add", "path": "members", "value": members}}})
	require.Equal(t, http.StatusBadRequest, refused.status)
	require.Contains(t, refused.raw, "5000 of them are not")
	var users []string
	for i := range 100 {
		users = append(users, d.user(fmt.Sprintf("user-%d", i), nil))
	}
	start := time.Now()
	d.group("leads", users...)
	t.Logf("a group gave a role to %d users in %s", len(users), time.Since(start))
	require.Equal(t, len(users), count(t, `select count(*) from person_roles where environment_id = $1 and role = 'reviewer' and granted_by like 'directory:dtk%'`, w.ID))
}
