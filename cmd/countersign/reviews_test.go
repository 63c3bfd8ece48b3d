package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestSelfReviewOfAnEnvironment(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	said := c.ok("tenant", "create", "--name", "Bank", "--rp-id", "bank.example", "--origin", "https://bank.example")
	require.Contains(t, said, "self-review of holds is allowed where a policy does not bar it", "it says what was not chosen, and how")
	live := regexp.MustCompile(`live\s+(env_\S+)`).FindStringSubmatch(said)[1]
	require.Contains(t, said, "countersign tenant reviews --bar-self-review")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live), "is allowed")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live, "--bar-self-review"), "self-review of holds is barred")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live), "is barred")
	require.Contains(t, c.ok("tenant", "reviews", "--environment", live, "--bar-self-review=false"), "is allowed")

	barred := c.ok("tenant", "create", "--name", "Careful", "--rp-id", "c.example", "--origin", "https://c.example", "--bar-self-review")
	require.Regexp(t, `(?m)^live\s+self-review of holds is barred$`, barred)
	sandbox := regexp.MustCompile(`sandbox\s+(env_\S+)`).FindStringSubmatch(barred)[1]
	require.Contains(t, c.ok("tenant", "reviews", "--environment", sandbox), "is allowed", "it is offered for live")

	c.fails("U+000D at position 1", "tenant", "create", "--name", "A\r\nB", "--rp-id", "d.example", "--origin", "https://d.example")
	c.fails("name must not contain control characters", "credential", "create", "--environment", live, "--scope", "server", "--name", "A\nB")
	c.fails("U+202E at position 1", "person", "invite", "--environment", live, "--role", "reviewer", "--name", "A\u202eB")
}
