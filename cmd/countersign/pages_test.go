package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestPagesOfAnEnvironment(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--name", "Example Bank", "--rp-id", "bank.example", "--origin", "https://bank.example,https://approve.bank.example")
	env := environmentID.FindString(made)
	require.Equal(t, "pages are at the service's own address\nthey send people back to https://bank.example, https://approve.bank.example\n"+
		"they are shown in frames of nobody\n", c.ok("tenant", "pages", "--environment", env))
	c.ok("tenant", "pages", "--environment", env, "--origin", "https://approve.bank.example", "--frame-ancestor", "https://intranet.example")
	c.ok("tenant", "pages", "--environment", env, "--return-origin", "https://shop.example")
	require.Equal(t, "pages are at https://approve.bank.example\nthey send people back to https://bank.example, https://approve.bank.example, "+
		"https://shop.example\nthey are shown in frames of https://intranet.example\n", c.ok("tenant", "pages", "--environment", env))
	require.Contains(t, c.ok("tenant", "pages", "--environment", env, "--frame-ancestor", ""), "frames of nobody")
	c.fails("passkeys could not be used there", "tenant", "pages", "--environment", env, "--origin", "https://elsewhere.example")
	c.fails("is not https", "tenant", "pages", "--environment", env, "--return-origin", "http://shop.example")
}
