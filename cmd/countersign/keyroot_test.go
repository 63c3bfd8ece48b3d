package main

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
)

// An installation moves under a root key, rotates its master key there, and moves to another root key. What was encrypted stays readable.
func TestMasterKeysAreWrappedByTheRootKey(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example"))
	works := func() {
		t.Helper()
		require.NotContains(t, c.ok("key", "list", "--environment", env), "  no\n")
	}
	server, next := transittest.Start(t), transittest.Start(t)
	c.fails("COUNTERSIGN_ROOT_KEY is not set", "key", "wrap")
	t.Setenv("COUNTERSIGN_ROOT_KEY", server.RootURI)
	c.fails("COUNTERSIGN_MASTER_KEY: master key 1 of 1: is not wrapped by the root key", "key", "list")
	plain := os.Getenv("COUNTERSIGN_MASTER_KEY")
	wrapped := strings.TrimSpace(c.ok("key", "wrap"))
	require.Regexp(t, `^wrapped:vault:v1:\S+$`, wrapped)
	t.Setenv("COUNTERSIGN_MASTER_KEY", wrapped)
	works()
	requireRootKeyUsed(t, url, env, "cli:key list")
	fresh := strings.TrimSpace(c.ok("key", "generate"))
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh+","+wrapped)
	works()
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh+","+plain)
	c.fails("master key 2 of 2: is not wrapped", "key", "list")
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh+","+wrapped)
	t.Setenv("COUNTERSIGN_MASTER_KEY", strings.TrimSpace(c.ok("key", "wrap", "--root-key", next.RootURI, "--from", server.RootURI)))
	t.Setenv("COUNTERSIGN_ROOT_KEY", next.RootURI)
	works()
	server.Sealed.Store(true)
	works()
	_, err := keyring.Parse(os.Getenv("COUNTERSIGN_MASTER_KEY"))
	require.ErrorContains(t, err, "is wrapped, and there is no root key")
}

// requireRootKeyUsed requires an entry of an environment's audit log: the actor had the root key unwrap the master keys.
func requireRootKeyUsed(t *testing.T, url, env, actor string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var data string
	require.NoError(t, conn.QueryRow(t.Context(), "select data::text from events where environment_id = $1 and type = 'root_key.used' and actor = $2 limit 1", env, actor).Scan(&data))
	require.Regexp(t, `"root_key": ?"\S+/root"`, data)
}

// A process that cannot use the root key does not start, and says why in one sentence.
func TestStartWithoutTheRootKeyIsRefused(t *testing.T) {
	server, other := transittest.Start(t), transittest.Start(t)
	c := newCLI(t, testenv.Database(t))
	c.ok("key", "list")
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("COUNTERSIGN_MASTER_KEY", strings.TrimSpace(c.ok("key", "wrap", "--root-key", server.RootURI)))
	for name, uri := range map[string]string{
		"nothing listens":    "vault+transit://127.0.0.1:1/transit/root?tls=off",
		"no right":           strings.Replace(server.RootURI, server.TokenFile, other.TokenFile, 1),
		"a different key":    other.RootURI,
		"no such key":        strings.Replace(server.RootURI, "/root?", "/none?", 1),
		"no root key is set": "",
	} {
		t.Setenv("COUNTERSIGN_ROOT_KEY", uri)
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, {"worker", "--ops-listen", "127.0.0.1:0"}, {"key", "list"}} {
			_, err := c.run(args...)
			require.ErrorContains(t, err, "COUNTERSIGN_MASTER_KEY: master key 1 of 1: ", name)
			require.ErrorContains(t, err, "root key", name)
			require.NotContains(t, err.Error(), "\n", name)
		}
	}
	for _, uri := range []string{"transit", "vault+transit://bao.example/transit", "vault+transit://bao.example/transit/key?tls=off"} {
		t.Setenv("COUNTERSIGN_ROOT_KEY", uri)
		c.fails("COUNTERSIGN_ROOT_KEY", "key", "generate")
	}
}
