package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
)

// A setting with credentials is refused without repeating them, whether it is a variable or a flag.
func TestRefusedSettingsDoNotShowCredentials(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	for name, uri := range map[string]string{
		"a password":            "vault+transit://user:hvs.secret@bao.example/transit/root",
		"a token as user":       "vault+transit://hvs.secret@bao.example/transit/root",
		"a parameter":           "vault+transit://bao.example/transit/root?token=hvs.secret",
		"a parameter's name":    "vault+transit://bao.example/transit/root?hvs.secret",
		"no host":               "vault+transit:user:hvs.secret@bao.example/transit/root",
		"a different scheme":    "awskms://key:hvs.secret@eu-central-1/transit/root",
		"a port that is none":   "vault+transit://user:hvs.secret@bao.example:port/transit/root",
		"a control character":   "vault+transit://user:hvs.secret@bao.example/transit/root\x7f",
		"tls off for elsewhere": "vault+transit://bao.example/transit/root?tls=off&namespace=hvs.secret",
	} {
		t.Run(name, func(t *testing.T) {
			for variable, flag := range map[string]string{"COUNTERSIGN_SIGNING_KEYS": "--signing-keys", "COUNTERSIGN_ROOT_KEY": "--root-key"} {
				for _, args := range [][]string{{"key", "list"}, {"doctor"}, {"serve"}, {"worker"}} {
					out, err := c.run(append(args, flag, uri)...)
					require.ErrorContains(t, err, flag)
					require.NotContains(t, out+err.Error(), "secret")
					t.Setenv(variable, uri)
					out, err = c.run(args...)
					require.ErrorContains(t, err, variable)
					require.NotContains(t, out+err.Error(), "secret")
					require.NoError(t, os.Unsetenv(variable))
				}
			}
		})
	}
}

// The token of a backend is in no output of a command, whether the backend works or not.
func TestCommandsDoNotShowTheTokenOfABackend(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	server := transittest.Start(t)
	text, err := os.ReadFile(server.TokenFile)
	require.NoError(t, err)
	token := strings.TrimSpace(string(text))
	t.Setenv("COUNTERSIGN_SIGNING_KEYS", server.URI)
	c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	for _, sealed := range []bool{false, true} {
		server.Sealed.Store(sealed)
		for _, args := range [][]string{{"key", "list"}, {"key", "check"}, {"doctor"}, {"key", "list", "--help"}, {"audit", "verify"}} {
			out, err := c.run(args...)
			require.NotContains(t, out+fmt.Sprint(err), token, args)
		}
	}
}
