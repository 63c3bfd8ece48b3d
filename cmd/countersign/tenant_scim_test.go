package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestDirectoryCommands(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	t.Setenv("COUNTERSIGN_BASE_URL", "https://console.example")
	c.ok("tenant", "create", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example", "--background", "prior")
	c.fails("The tenant has no directory yet", "tenant", "scim", "token", "create")
	c.fails("groups must map 1 to 100 groups to roles; it maps 0.", "tenant", "scim", "set")
	c.fails("lacks one of the teams", "tenant", "scim", "set", "--group", "leads=live:reviewer,team:finance")
	c.fails(`has no identity provider "company"`, "tenant", "scim", "set", "--provider", "company")
	c.fails("only is for a tenant with an identity provider", "tenant", "scim", "set", "--only", "--group", "leads=live:reviewer")
	require.Equal(t, "https://console.example/scim/v2\n", c.ok("tenant", "scim", "set", "--group", "leads=live:reviewer,auditor"))

	first := regexp.MustCompile(`^(dtk_\w+)\nscim_[\w-]{43}\n$`).FindStringSubmatch(c.ok("tenant", "scim", "token", "create"))
	require.NotNil(t, first)
	c.fails("between 0 and 30 days", "tenant", "scim", "token", "rotate", "--overlap", "721h")
	require.Regexp(t, `^dtk_\w+\nscim_`, c.ok("tenant", "scim", "token", "rotate", "--overlap", "1h"))
	shown := c.ok("tenant", "scim", "show")
	require.Regexp(t, `groups +leads=live:reviewer,auditor\n`, shown)
	require.Regexp(t, first[1]+` +\S+ +never +2`, shown, "it ends")
	c.ok("tenant", "scim", "token", "revoke", "--token", first[1])
	require.NotContains(t, c.ok("tenant", "scim", "show"), first[1])
	c.fails("not_found", "tenant", "scim", "token", "revoke", "--token", first[1])
	require.Contains(t, c.ok("tenant", "scim", "users"), "EXTERNAL ID")
	c.fails("--user and --person are both needed", "tenant", "scim", "link")
	c.fails("has no user", "tenant", "scim", "link", "--user", "dus_x", "--person", "prs_x")
	c.ok("tenant", "scim", "remove")
	c.fails("not_found", "tenant", "scim", "show")
}

func TestEventsExportGoesOnFromItsPosition(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	c.ok("tenant", "create", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example", "--background", "prior")
	env := regexp.MustCompile(`env_\w+`).FindString(c.ok("tenant", "list"))
	position := filepath.Join(t.TempDir(), "position")
	export := func(more ...string) []string {
		return append([]string{"events", "export", "--environment", env, "--position", position}, more...)
	}
	c.ok("audit", "head", "--environment", env)
	c.fails("--format is", export("--format", "cef")...)
	for _, format := range []string{"ocsf", "otlp"} {
		for line := range strings.Lines(c.ok("events", "export", "--environment", env, "--format", format)) {
			require.True(t, json.Valid([]byte(line)), line)
		}
	}
	c.ok(export()...)
	require.Empty(t, c.ok(export()...), "nothing is sealed since")
	require.NoError(t, os.WriteFile(position, []byte("env_other 7\n"), 0o600))
	c.fails("no position of this environment", export()...)
}
