package main

import (
	"regexp"
	"testing"
	"time"

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

func TestDeputies(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example", "--background", "prior")
	env := environmentID.FindString(made)
	invite := func(name, role string) string {
		return personID.FindString(c.ok("person", "invite", "--environment", env, "--role", role, "--name", name))
	}
	ann, bob, eve := invite("Ann", "reviewer"), invite("Bob", "reviewer"), invite("Eve", "auditor")
	begin := time.Now().UTC().AddDate(0, 0, 1).Truncate(time.Second)
	from, until := begin.Format(time.RFC3339), begin.AddDate(0, 0, 7).Format(time.RFC3339)
	name := func(args ...string) []string {
		return append([]string{"team", "deputy", "name", "--environment", env, "--absent", ann}, args...)
	}
	c.fails("must not be the absent person", name("--deputy", ann, "--from", from, "--until", until)...)
	c.fails("must be reviewers of this environment", name("--deputy", eve, "--from", from, "--until", until)...)
	c.fails(`has no person "prs_nobody"`, name("--deputy", "prs_nobody", "--from", from, "--until", until)...)
	c.fails("--until is not set", name("--deputy", bob)...)
	c.fails(`--until is "Friday"`, name("--deputy", bob, "--until", "Friday")...)
	c.fails("end after it begins", name("--deputy", bob, "--from", until, "--until", from)...)
	c.fails("at most 90 days", name("--deputy", bob, "--from", from, "--until", begin.AddDate(0, 0, 91).Format(time.RFC3339))...)

	id := regexp.MustCompile(`dep_[a-z0-9]{26}`).FindString(c.ok(name("--deputy", bob, "--from", from, "--until", until)...))
	require.NotEmpty(t, id)
	listed := c.ok("team", "deputy", "list", "--environment", env)
	require.Regexp(t, id+`\s+`+ann+`\s+`+bob+`\s+`+begin.Format("2006-01-02T15:04:05.000Z"), listed)
	c.fails("has a deputy in this period already", name("--deputy", bob, "--from", from, "--until", until)...)

	c.ok("team", "deputy", "withdraw", id, "--environment", env)
	require.NotContains(t, c.ok("team", "deputy", "list", "--environment", env), id)
	c.fails("has no deputyship", "team", "deputy", "withdraw", id, "--environment", env)
	c.ok(name("--deputy", bob, "--until", until)...)
	require.Contains(t, c.ok("team", "deputy", "list", "--environment", env), bob, "without --from the period begins now")
}
