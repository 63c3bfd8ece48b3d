package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var (
	personID   = regexp.MustCompile(`prs_[a-z0-9]{26}`)
	invitation = regexp.MustCompile(`https://countersign\.example/console/invitation#[A-Za-z0-9_-]{43}`)
)

func TestPeople(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--background", "prior", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example")
	env := environmentID.FindString(made)
	tenant := regexp.MustCompile(`tnt_[a-z0-9]{26}`).FindString(made)

	first := c.ok("person", "invite", "--environment", env, "--role", "reviewer,operator", "--name", "Ann Example")
	ann := personID.FindString(first)
	require.NotEmpty(t, ann)
	require.Regexp(t, invitation, first)
	require.Regexp(t, `Ann Example\s+invited\s+0\s+sandbox:operator,sandbox:reviewer\s+\S+\s+no\s+person:`+ann, c.ok("person", "list", "--environment", env))

	c.fails("has not joined yet", "person", "confirm", ann, "--environment", env)
	c.fails("--with is not set", "person", "link", ann, "--environment", env)
	c.fails("cannot be linked with itself", "person", "link", ann, "--with", ann, "--environment", env)
	c.fails("has no such person", "person", "link", ann, "--with", "prs_01jqx3k5v8e2sbyk0c4m7t9wzd", "--environment", env)

	again := c.ok("person", "invite", "--tenant", tenant, "--environment", "live", "--person", ann)
	require.Regexp(t, invitation, again)
	require.NotEqual(t, invitation.FindString(first), invitation.FindString(again))

	c.ok("person", "grant", ann, "--tenant", tenant, "--environment", "live", "--role", "auditor")
	c.ok("person", "withdraw", ann, "--environment", env, "--role", "operator")
	require.Regexp(t, `sandbox:reviewer,live:auditor`, c.ok("person", "list", "--environment", env))
	c.ok("person", "revoke", ann, "--environment", env)
	require.Regexp(t, `Ann Example\s+revoked`, c.ok("person", "list", "--environment", env))
	c.fails("access was revoked", "person", "invite", "--environment", env, "--person", ann)

	c.fails("COUNTERSIGN_SMTP_ADDRESS is not set", "person", "invite", "--environment", env, "--role", "reviewer", "--name", "Bob", "--mail", "bob@alder.example")
	mailed := []string{"person", "invite", "--environment", env, "--smtp-address", "127.0.0.1:1", "--mail", "bob@alder.example"}
	sent := c.ok(append(mailed, "--role", "reviewer", "--name", "Bob")...)
	require.Contains(t, sent, "is mailed to bob@alder.example")
	require.NotRegexp(t, invitation, sent)
	c.fails("is that of another person", append(mailed, "--role", "reviewer", "--name", "Eve")...)
	c.fails("less than a minute ago", append(mailed, "--person", personID.FindString(sent))...)

	c.fails("needs at least one role", "person", "invite", "--environment", env, "--name", "Bob")
	c.fails(`Unknown role "boss"`, "person", "invite", "--environment", env, "--name", "Bob", "--role", "boss")
	c.fails("1 to 120 characters", "person", "invite", "--environment", env, "--role", "reviewer")
	c.fails("there is no environment", "person", "list", "--environment", "env_nobody")
	c.fails("No such resource", "person", "revoke", "prs_01jqx3k5v8e2sbyk0c4m7t9wzd", "--environment", env)
	t.Setenv("COUNTERSIGN_BASE_URL", "")
	c.fails("COUNTERSIGN_BASE_URL is not set", "person", "invite", "--environment", env, "--role", "reviewer", "--name", "Bob")
}
