package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestIdentityProviderCommands(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	t.Setenv("COUNTERSIGN_BASE_URL", "https://console.example")
	c.ok("tenant", "create", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example", "--background", "prior")
	require.Regexp(t, `redirect URI +https://console.example/console/sign-in/tnt_\w+/company/callback\n`, c.ok("tenant", "oidc", "addresses"))

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	set := func(more ...string) []string {
		return append([]string{"tenant", "oidc", "set", "--issuer", "https://login.example", "--client-id", "countersign"}, more...)
	}
	leads, audit := "cn=leads,o=bank=live:reviewer,operator", "audit=sandbox:auditor"
	c.fails("client_secret is not set", set("--group", leads)...)
	c.fails(`--group is "leads": want GROUP=ENVIRONMENT:ROLE,team:KEY`, set("--client-secret-file", secret, "--group", "leads")...)
	c.fails("A group needs at least one role: reviewer, operator or auditor.", set("--client-secret-file", secret, "--group", "leads=live:owner")...)
	c.fails("groups must map 1 to 100 groups to roles; it maps 0.", set("--client-secret-file", secret)...)
	c.fails("issuer cannot be used: url must be a public address on port 443 or 8443.",
		"tenant", "oidc", "set", "--issuer", "https://10.20.0.7", "--client-id", "x", "--client-secret-file", secret, "--group", leads)
	require.Regexp(t, `^idp_\w+\nredirect URI`, c.ok(set("--client-secret-file", secret, "--group", leads, "--group", audit)...))
	require.Contains(t, c.ok(set("--group", leads, "--listed")...), "idp_", "the secret is kept")

	require.Regexp(t, `company +https://login.example +countersign +cn=leads,o=bank=live:reviewer,operator +true`, c.ok("tenant", "oidc", "list"))
	t.Setenv("COUNTERSIGN_OIDC_NETWORKS", "10.20.0.0/16")
	c.ok("tenant", "oidc", "set", "--name", "inside", "--issuer", "https://10.20.0.7", "--client-id", "x", "--client-secret-file", secret, "--group", leads)
	t.Setenv("COUNTERSIGN_OIDC_NETWORKS", "10.20.0.0")
	c.fails("want networks such as 10.20.0.0/16", "tenant", "oidc", "list")
	t.Setenv("COUNTERSIGN_OIDC_NETWORKS", "")
	c.ok("tenant", "oidc", "remove")
	require.NotContains(t, c.ok("tenant", "oidc", "list"), "company")
	c.fails("not_found", "tenant", "oidc", "remove")
	c.fails(`there is no tenant "tnt_x"`, "tenant", "oidc", "list", "--tenant", "tnt_x")
}
