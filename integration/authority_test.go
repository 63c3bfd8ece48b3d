package integration_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// authority is a member of staff with everything that rests on them: a session of the console, an invitation, an admin key, another that it
// issued, and what that one issued in its turn: a client token, a grant for a passkey and a link to a challenge.
type authority struct {
	world
	staff           *visitor
	invitation      string // token
	root, child     string // ids of the credentials
	key, below, tab caller
	session         string // of the subject of the client token
	grant           string // token
	challenge       string // id
	ticket          string // of the link to the challenge
}

// authority issues the keys with an expiry; nil is none.
func (w world) authority(t *testing.T, expires *time.Time) authority {
	t.Helper()
	roles := []models.Role{models.RoleOperator, models.RoleReviewer}
	out := authority{world: w, staff: w.signedIn(t, roles...)}
	subject := w.subject(t)
	out.session = w.open(t, subject)
	_, asking := w.action(t, "enforce", challenging)
	out.challenge = w.authorize(t, subject, asking, "challenge").string("challenge.id")
	shown := invitationLink.FindStringSubmatch(out.staff.submit("/console/"+w.ID+"/people/new", url.Values{"name": {"Invited Member"}, "roles": {"operator"}}).body)
	require.NotNil(t, shown)
	out.invitation = shown[1]
	by := identity.Principal{Person: out.staff.person, TenantID: w.TenantID, EnvironmentID: w.ID}.Issuer(roles)
	root, err := shared.Identity.Issue(t.Context(), w.scope(),
		identity.Issue{Scope: models.ScopeAdmin, Permissions: models.Issuable(roles), Issuer: &by, ExpiresAt: expires}, by.Actor(), "")
	require.NoError(t, err)
	out.root, out.key = root.ID, caller{base: shared.baseURL, key: root.Key}
	child := out.key.post(t, "/api/v1/credentials", object{"scope": "admin", "permissions": models.Issuable(roles)}).is(201)
	out.child, out.below = child.string("id"), caller{base: shared.baseURL, key: child.string("key")}
	token := out.below.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin}).is(201)
	out.tab = caller{base: shared.baseURL, key: token.string("client_token")}.with("Origin", pageOrigin)
	out.grant = out.below.post(t, "/api/v1/subjects/"+subject+"/passkeys/registration-grants", nil).is(201).string("token")
	_, out.ticket, _ = strings.Cut(out.below.post(t, "/api/v1/challenges/"+out.challenge+"/link", object{}).is(201).string("url"), "#")
	return out
}

var invitationLink = regexp.MustCompile(`/console/invitation#([A-Za-z0-9_-]+)`)

// channels returns, by name, whether each channel is open. A request that is admitted is refused for its content later.
func (a authority) channels(t *testing.T) map[string]bool {
	t.Helper()
	admitted := func(r response, want int) bool {
		if r.status != want {
			r.problem(401, "unauthenticated")
		}
		return r.status == want
	}
	console := a.staff.get("/console/" + a.ID + "/people").status
	require.Contains(t, []int{200, 303}, console)
	registration := anonymous(t).script("/register/open", object{"grant": a.grant})
	require.Equal(t, 200, registration.status, registration.body)
	challenge := anonymous(t).submit("/challenge/"+a.challenge, url.Values{"ticket": {a.ticket}}).status
	require.Contains(t, []int{200, 404, 410}, challenge)
	invitation := anonymous(t).script("/console/invitation/look", object{"token": a.invitation}).status
	require.Contains(t, []int{200, 400, 403}, invitation)
	return map[string]bool{
		"console":      console == 200,
		"key":          admitted(a.key.get(t, "/api/v1/credential"), 200),
		"child":        admitted(a.below.get(t, "/api/v1/credential"), 200),
		"AuthZEN":      admitted(a.below.post(t, accessSingle, object{}), 400),
		"client token": admitted(a.tab.post(t, "/api/v1/sessions/"+a.session+"/evidence", object{}), 422),
		"registration": strings.Contains(registration.body, `"state":"open"`),
		"challenge":    challenge == 200,
		"invitation":   invitation == 200,
	}
}

// deleteTenant deletes a tenant of the test as the command line does, with connections of its own: these statements are none of the service's
// and run over all environments.
func deleteTenant(t *testing.T, id string) {
	t.Helper()
	st, err := pg.Open(t.Context(), shared.DatabaseURL, pg.Options{MaxConns: 1, Keys: shared.Core.Keys})
	require.NoError(t, err)
	defer st.Close()
	_, err = tenancy.New(st, shared.Signing, shared.Clock, nil).Delete(t.Context(), id, t.Name(), "cli:test")
	require.NoError(t, err)
}

// TestEndedAuthorityIsRefusedEverywhere ends a source of authority in each way and sends a request over every channel.
func TestEndedAuthorityIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	open := func(names ...string) map[string]bool {
		out := map[string]bool{
			"console": false, "key": false, "child": false, "AuthZEN": false, "client token": false, "registration": false, "challenge": false, "invitation": false,
		}
		for _, name := range names {
			out[name] = true
		}
		return out
	}
	revoke := func(t *testing.T, a authority, id string) {
		a.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
	}
	for name, c := range map[string]struct {
		life time.Duration // of the keys; 0 is no expiry
		end  func(t *testing.T, a authority)
		open map[string]bool
	}{
		"the person loses access": {0, func(t *testing.T, a authority) {
			require.NoError(t, shared.People.Revoke(t.Context(), a.TenantID, a.staff.person, "cli:test"))
		}, open()},
		"the person loses the role": {0, func(t *testing.T, a authority) {
			require.NoError(t, shared.People.Withdraw(t.Context(), a.scope(), a.staff.person, []models.Role{models.RoleOperator}, "cli:test"))
		}, open()},
		"the key is revoked":       {0, func(t *testing.T, a authority) { revoke(t, a, a.root) }, open("console", "invitation")},
		"the child key is revoked": {0, func(t *testing.T, a authority) { revoke(t, a, a.child) }, open("console", "invitation", "key")},
		"the key expires":          {10 * time.Second, func(*testing.T, authority) {}, open("console", "invitation")},
		"the person signs out": {0, func(_ *testing.T, a authority) {
			require.Equal(t, 303, a.staff.submit("/console/sign-out", nil).status)
		}, open("key", "child", "AuthZEN", "client token", "registration", "challenge", "invitation")},
		"the tenant is deleted": {0, func(t *testing.T, a authority) {
			revoke(t, a, a.root)
			a.Server.post(t, "/api/v1/sessions/"+a.session+"/end", nil).is(200)
			a.Server.post(t, "/api/v1/challenges/"+a.challenge+"/cancel", nil).is(200)
			for _, issued := range a.issued {
				require.NoError(t, shared.Identity.Revoke(t.Context(), a.scope(), identity.Revocation{ID: issued.ID}, "cli:test", ""))
			}
			deleteTenant(t, a.TenantID)
		}, open()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			var expires *time.Time
			if c.life > 0 {
				at := time.Now().Add(c.life)
				expires = &at
			}
			a := w.authority(t, expires)
			require.Equal(t, open("console", "key", "child", "AuthZEN", "client token", "registration", "challenge", "invitation"), a.channels(t))
			c.end(t, a)
			eventually(t, func() bool {
				return a.key.get(t, "/api/v1/credential").status == map[bool]int{true: 200, false: 401}[c.open["key"]]
			}, "the keys end")
			require.Equal(t, c.open, a.channels(t))
		})
	}
}
