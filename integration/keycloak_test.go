package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/models"
)

// keycloak is a running Keycloak.
type keycloak struct {
	t    *testing.T
	base string
}

// startsWithin is how long Keycloak may take: it builds itself for the features that are switched on.
const startsWithin = 6 * time.Minute

// startKeycloak starts the distribution that COUNTERSIGN_TEST_KEYCLOAK names, in development mode on a port of this machine.
func startKeycloak(t *testing.T) *keycloak {
	t.Helper()
	installed := os.Getenv("COUNTERSIGN_TEST_KEYCLOAK")
	if installed == "" {
		t.Skip("Keycloak is not installed: make test-keycloak")
	}
	home := filepath.Join(t.TempDir(), "keycloak") // it writes beside its programs
	require.NoError(t, os.CopyFS(home, os.DirFS(installed)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	var log bytes.Buffer
	cmd := exec.Command("bash", "bin/kc.sh", "start-dev", "--db=dev-mem", "--http-host=127.0.0.1", fmt.Sprintf("--http-port=%d", port), "--features=scim-api,ssf",
		"--spi-ssf-transmitter--default--allow-insecure-push-targets=true", "--spi-ssf-transmitter--default--outbox-drainer-interval=1s")
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &log, &log
	cmd.Env = append(os.Environ(), "KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD=admin", "JAVA_OPTS_KC_HEAP=-Xmx512m")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	k := &keycloak{t: t, base: fmt.Sprintf("http://127.0.0.1:%d", port)}
	require.Eventually(t, func() bool {
		res, err := http.Get(k.base + "/realms/master")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	}, startsWithin, 200*time.Millisecond, "Keycloak does not start")
	return k
}

// grant returns an access token of a realm.
func (k *keycloak) grant(realm string, form url.Values) string {
	k.t.Helper()
	res, err := http.PostForm(k.base+"/realms/"+realm+"/protocol/openid-connect/token", form)
	require.NoError(k.t, err)
	defer func() { _ = res.Body.Close() }()
	var out struct {
		Access string `json:"access_token"`
	}
	require.Equal(k.t, http.StatusOK, res.StatusCode)
	require.NoError(k.t, json.NewDecoder(res.Body).Decode(&out))
	return out.Access
}

// admin calls the administration, which must respond with the status.
func (k *keycloak) admin(status int, method, path string, body any) []byte {
	k.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(k.t, err)
	req, err := http.NewRequestWithContext(k.t.Context(), method, k.base+"/admin/realms"+path, bytes.NewReader(raw))
	require.NoError(k.t, err)
	// A token of the administrator ends after a minute.
	token := k.grant("master", url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {"admin"}, "password": {"admin"}})
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(k.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(k.t, err)
	require.Equal(k.t, status, res.StatusCode, "%s %s: %s", method, path, text)
	return text
}

// user returns the id of a user, which is the subject of its tokens.
func (k *keycloak) user(name string) string {
	k.t.Helper()
	var found []struct{ ID string }
	require.NoError(k.t, json.Unmarshal(k.admin(http.StatusOK, http.MethodGet, "/company/users?exact=true&username="+name, nil), &found))
	require.Len(k.t, found, 1)
	return found[0].ID
}

var loginForm = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// signIn signs a new browser in by the form of Keycloak.
func (k *keycloak) signIn(w world, name string) (*navigator, visit) {
	k.t.Helper()
	n := newNavigator(k.t)
	at := n.open(shared.baseURL + sso.Path(w.TenantID, "company") + "?next=" + url.QueryEscape("/console/"+w.ID+"/reviews"))
	form := n.open(at.location)
	require.Equal(k.t, http.StatusOK, form.status, form.body)
	action := loginForm.FindStringSubmatch(form.body)
	require.NotNil(k.t, action, form.body)
	res, err := n.client.PostForm(html.UnescapeString(action[1]), url.Values{"username": {name}, "password": {"pass-" + name}})
	require.NoError(k.t, err)
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	require.NoError(k.t, err)
	return n, n.open(back.String())
}

// Staff sign in by Keycloak with their groups and are signed out by its back-channel logout. Its transmitter of shared signals, which is experimental, voids the
// proof of a subject whose password changes. Its preview of SCIM is a service and no client, so it provisions no one: the users and groups that it describes
// are sent on as they are.
func TestKeycloak(t *testing.T) {
	k := startKeycloak(t)
	w := newSandbox(t)
	realm := k.base + "/realms/company"
	i := &issuer{t: t, w: w, queue: map[string]string{}}
	made, err := changes().SetSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"},
		change.SignalStream{Name: "company", Issuer: realm, Audience: signalAudience, KeysURL: realm + "/protocol/openid-connect/certs"})
	require.NoError(t, err)
	require.Nil(t, made.Requested)
	i.ready()
	k.importRealm(w, i.stream.PushURL)
	_, err = shared.SSO.Set(t.Context(), w.TenantID, sso.Settings{
		Name: "company", Label: "Company", Issuer: realm, ClientID: "countersign", ClientSecret: "s3cret",
		Grants: []models.ProviderGrant{{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleOperator}}},
	}, "cli:test")
	require.NoError(t, err)
	k.signals(w, i)
	k.staff(w)
	k.provisions(w)
}

// importRealm imports the realm of a company: an operator, someone without a group, a customer, and the clients.
func (k *keycloak) importRealm(w world, pushURL string) {
	k.t.Helper()
	addresses := shared.SSO.AddressesOf(w.TenantID, "company")
	user := func(name string, groups ...string) object {
		return object{"username": name, "enabled": true, "email": name + "@company.example", "emailVerified": true, "firstName": name, "lastName": "Company", "groups": groups,
			"credentials": []object{{"type": "password", "value": "pass-" + name}}}
	}
	k.admin(http.StatusCreated, http.MethodPost, "", object{
		"realm": "company", "enabled": true, "sslRequired": "none", "scimApiEnabled": true, "attributes": object{"ssf.transmitterEnabled": "true"}, "groups": []object{{"name": "leads"}},
		"users": []object{user("ada", "/leads"), user("eve"), user("customer")},
		"clients": []object{
			{"clientId": "countersign", "secret": "s3cret", "redirectUris": []string{addresses.Callback}, "attributes": object{"backchannel.logout.url": addresses.Logout},
				"protocolMappers": []object{{"name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper",
					"config": object{"full.path": "false", "id.token.claim": "true", "claim.name": "groups"}}}},
			{"clientId": "receiver", "secret": "s3cret", "serviceAccountsEnabled": true, "standardFlowEnabled": false, "attributes": object{
				"ssf.enabled": "true", "ssf.validPushUrls": pushURL, "ssf.defaultSubjects": "ALL", "ssf.streamAudience": signalAudience, "ssf.userSubjectFormat": "iss_sub"}},
			{"clientId": "scim", "secret": "s3cret", "serviceAccountsEnabled": true, "standardFlowEnabled": false,
				"protocolMappers": []object{{"name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
					"config": object{"included.custom.audience": k.base + "/realms/company/scim/v2", "access.token.claim": "true"}}}},
		},
	})
}

// signals has Keycloak send the signals of a customer, who is a subject.
func (k *keycloak) signals(w world, i *issuer) {
	k.t.Helper()
	k.admin(http.StatusCreated, http.MethodPost, "/company/ssf/clients/receiver/stream", object{
		"delivery":         object{"method": "urn:ietf:rfc:8935", "endpoint_url": i.stream.PushURL, "authorization_header": "Bearer " + i.token},
		"events_requested": []string{caep + "session-revoked", caep + "credential-change"},
	})
	subject, customer := w.subject(k.t), k.user("customer")
	w.Server.do(k.t, "PUT", "/api/v1/subjects/"+subject+"/aliases", object{"aliases": []object{{"format": "iss_sub", "iss": k.base + "/realms/company", "sub": customer}}}).is(200)
	_, allowed := w.action(k.t, "enforce", allowing)
	proof := w.authorize(k.t, subject, allowed, "allow").string("proof_id")
	k.admin(http.StatusNoContent, http.MethodPut, "/company/users/"+customer+"/reset-password", object{"type": "password", "value": "other"})
	require.Eventually(k.t, func() bool {
		return w.Server.get(k.t, "/api/v1/proofs/"+proof+"/status").is(200).string("status") == "revoked"
	}, time.Minute, 50*time.Millisecond, "the signal voids the proof")
	require.Contains(k.t, w.authorize(k.t, subject, allowed, "challenge").value("reason_codes"), "security_event")
}

// staff signs staff in and out.
func (k *keycloak) staff(w world) {
	k.t.Helper()
	n, in := k.signIn(w, "ada")
	require.Equal(k.t, http.StatusOK, in.status, in.body)
	require.True(k.t, n.signedIn(w))
	stranger, refused := k.signIn(w, "eve")
	require.Equal(k.t, http.StatusForbidden, refused.status)
	require.Contains(k.t, refused.body, "None of your groups")
	require.False(k.t, stranger.signedIn(w))
	k.admin(http.StatusNoContent, http.MethodPost, "/company/users/"+k.user("ada")+"/logout", nil)
	require.Eventually(k.t, func() bool { return !n.signedIn(w) }, time.Minute, 50*time.Millisecond, "back-channel logout")
}

// provisions sends on the users and groups as Keycloak's SCIM service describes them.
func (k *keycloak) provisions(w world) {
	k.t.Helper()
	for _, role := range []string{"manage-users", "view-users", "query-groups"} {
		k.allow("scim", role)
	}
	token := k.grant("company", url.Values{"grant_type": {"client_credentials"}, "client_id": {"scim"}, "client_secret": {"s3cret"}})
	other := newSandbox(k.t)
	d := newDirectory(k.t, other, grantOf(other, "leads", models.RoleReviewer))
	byTheirID := map[string]string{}
	for _, user := range k.resources(token, "Users") {
		theirs := user["id"].(string)
		delete(user, "id")
		user["externalId"] = theirs // the subject of its tokens
		byTheirID[theirs] = d.do(http.StatusCreated, http.MethodPost, "/Users", user)["id"].(string)
	}
	groups := k.resources(token, "Groups")
	require.Len(k.t, groups, 1)
	ours := d.group(groups[0]["displayName"].(string), byTheirID[k.user("ada")])
	require.NotEmpty(k.t, ours)
	require.Equal(k.t, []string{"reviewer"}, d.roles(d.person(byTheirID[k.user("ada")])))
	require.Empty(k.t, d.person(byTheirID[k.user("eve")]))
}

// allow gives the service account of a client a role of the administration of users.
func (k *keycloak) allow(client, role string) {
	k.t.Helper()
	id := func(name string) string {
		var found []struct{ ID string }
		require.NoError(k.t, json.Unmarshal(k.admin(http.StatusOK, http.MethodGet, "/company/clients?clientId="+name, nil), &found))
		require.Len(k.t, found, 1)
		return found[0].ID
	}
	management := id("realm-management")
	var account struct{ ID string }
	require.NoError(k.t, json.Unmarshal(k.admin(http.StatusOK, http.MethodGet, "/company/clients/"+id(client)+"/service-account-user", nil), &account))
	given := json.RawMessage(k.admin(http.StatusOK, http.MethodGet, "/company/clients/"+management+"/roles/"+role, nil))
	k.admin(http.StatusNoContent, http.MethodPost, "/company/users/"+account.ID+"/role-mappings/clients/"+management, []json.RawMessage{given})
}

// resources returns what the SCIM service has of a kind.
func (k *keycloak) resources(token, kind string) []object {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), http.MethodGet, k.base+"/realms/company/scim/v2/"+kind, nil)
	require.NoError(k.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(k.t, err)
	defer func() { _ = res.Body.Close() }()
	var out struct{ Resources []object }
	require.Equal(k.t, http.StatusOK, res.StatusCode)
	require.NoError(k.t, json.NewDecoder(res.Body).Decode(&out))
	return out.Resources
}
