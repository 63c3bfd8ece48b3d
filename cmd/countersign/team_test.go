package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestTeams(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example", "--background", "prior")
	env := environmentID.FindString(made)
	invite := func(name, role string) string {
		return "person:" + personID.FindString(c.ok("person", "invite", "--environment", env, "--role", role, "--name", name))
	}
	ann, bob, eve := invite("Ann", "reviewer"), invite("Bob", "reviewer"), invite("Eve", "auditor")
	require.Regexp(t, regexp.MustCompile(`tem_[a-z0-9]{26}\s+finance`), c.ok("team", "create", "--environment", env, "--key", "finance", "--name", "Finance", "--member", ann))
	c.ok("team", "add", "finance", "--environment", env, "--member", bob)
	require.Contains(t, c.ok("team", "list", "--environment", env), ann)
	c.ok("team", "remove", "finance", "--environment", env, "--member", ann)
	require.NotContains(t, c.ok("team", "list", "--environment", env), ann)
	c.ok("person", "withdraw", bob[len("person:"):], "--environment", env, "--role", "reviewer")
	require.Contains(t, c.ok("team", "list", "--environment", env), bob+" (cannot review)")

	c.fails("cannot review in this environment", "team", "add", "finance", "--environment", env, "--member", eve)
	c.fails("--member is not set", "team", "add", "finance", "--environment", env)
	c.fails(`has a team with the key "finance"`, "team", "create", "--environment", env, "--key", "finance", "--name", "Again")
	c.fails("key must begin with a lower-case letter", "team", "create", "--environment", env, "--key", "Finance", "--name", "Finance")
	c.fails(`has no team "risk"`, "team", "delete", "risk", "--environment", env)
	c.ok("team", "delete", "finance", "--environment", env)
	require.NotContains(t, c.ok("team", "list", "--environment", env), "finance")
}
