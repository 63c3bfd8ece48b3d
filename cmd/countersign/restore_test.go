package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// postgresTool finds a client program of Postgres.
func postgresTool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skipf("%s is not on this machine", name)
	}
	return found[len(found)-1]
}

// dumped restores a dump of a database into a fresh cluster, whose transaction ids are far lower, and returns its URL.
func dumped(t *testing.T, from string) string {
	t.Helper()
	server, err := localpg.Start(t.Context(), localpg.Options{Dir: t.TempDir(), Ephemeral: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	require.NoError(t, server.Create(t.Context(), "restored"))
	into := server.URL("restored")
	shell := fmt.Sprintf("'%s' --no-owner '%s' | '%s' -q -v ON_ERROR_STOP=1 '%s'", postgresTool(t, "pg_dump"), from, postgresTool(t, "psql"), into)
	out, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", shell).CombinedOutput()
	if bytes.Contains(out, []byte("server version mismatch")) {
		t.Skipf("a pg_dump of the server's version is not on this machine: %s", out)
	}
	require.NoError(t, err, "%s", out)
	return into
}

// sealed seals what is in the log.
func sealed(t *testing.T, st *pg.Store) {
	t.Helper()
	s := audit.Sealer{Store: st, Clock: clock.System()}
	_, err := s.SealAll(t.Context())
	require.NoError(t, err)
}

func opened(t *testing.T, url string) *pg.Store {
	t.Helper()
	keys, err := keyring.Parse(os.Getenv("COUNTERSIGN_MASTER_KEY"))
	require.NoError(t, err)
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 2, Keys: keys})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// A restore into another server changes the server's transaction ids and its identity, and nothing of the log.
func TestAuditGoesOnAfterARestoreFromADump(t *testing.T) {
	first := testenv.Database(t)
	c := newCLI(t, first)
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example"))
	c.ok("credential", "create", "--environment", env, "--scope", "server")
	sealed(t, opened(t, first))
	c.ok("audit", "export", "--environment", env) // an entry that waits when the dump is made

	second := dumped(t, first)
	t.Setenv("COUNTERSIGN_DATABASE_URL", second)
	st := opened(t, second)
	c.ok("audit", "verify", "--environment", env)
	c.ok("audit", "export", "--environment", env)
	sealed(t, st)
	var result audit.Result
	require.NoError(t, json.Unmarshal([]byte(c.ok("audit", "verify", "--environment", env)), &result))
	require.Zero(t, result.Waiting)

	t.Run("the stream's order goes on", func(t *testing.T) {
		rows, err := audit.EntriesAfter(t.Context(), st.Q, map[string]int64{env: 0}, 1000)
		require.NoError(t, err)
		var total int
		require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from events where environment_id = $1", env).Scan(&total))
		require.Len(t, rows, total)
		for i := 1; i < len(rows); i++ {
			require.False(t, rows[i].Event.At.Before(rows[i-1].Event.At), "%s stands before %s", rows[i-1].Event.Type, rows[i].Event.Type)
		}
	})
	t.Run("tampering is found", func(t *testing.T) {
		_, err := st.Pool().Exec(t.Context(), "update events set actor = 'cli:mallory' where type = 'audit.exported' and environment_id = $1", env)
		require.NoError(t, err)
		out, err := c.run("audit", "verify", "--environment", env)
		require.ErrorIs(t, err, errTampered)
		require.Contains(t, out, "altered")
	})
}

// An auditor verifies an export with the published keys alone: neither database nor master key.
func TestAuditVerifiesAnExportByItself(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example"))
	st := opened(t, url)
	sealed(t, st)
	var keys []byte
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select jsonb_build_object('keys', jsonb_agg(public_jwk)) from signing_keys where environment_id = $1", env).Scan(&keys))
	published := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keys) }))
	defer published.Close()
	dir := t.TempDir()
	export, keyFile, altered := filepath.Join(dir, "export.jsonl"), filepath.Join(dir, "keys.json"), filepath.Join(dir, "altered.jsonl")
	text := c.ok("audit", "export", "--environment", env)
	require.NoError(t, os.WriteFile(export, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(keyFile, keys, 0o600))
	require.NoError(t, os.WriteFile(altered, []byte(strings.Replace(text, "cli:", "cli:x", 1)), 0o600))

	t.Setenv("COUNTERSIGN_DATABASE_URL", "")
	t.Setenv("COUNTERSIGN_MASTER_KEY", "")
	for _, from := range []string{keyFile, published.URL} {
		var result audit.Result
		require.NoError(t, json.Unmarshal([]byte(c.ok("audit", "verify", "--export", export, "--keys", from)), &result))
		require.Equal(t, env, result.Environment)
		require.NotZero(t, result.Entries)
	}
	out, err := c.run("audit", "verify", "--export", altered, "--keys", keyFile)
	require.ErrorIs(t, err, errTampered)
	require.Contains(t, out, "altered")
	c.fails("--keys is not set", "audit", "verify", "--export", export)
	require.NoError(t, os.WriteFile(keyFile, []byte(`{"keys": []}`), 0o600))
	c.fails("does not verify", "audit", "verify", "--export", export, "--keys", keyFile)
}

func TestAuditCommandsNameTheFlagThatIsMissing(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	c.fails("there is no environment", "audit", "verify")
	c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	c.fails("--environment is not set", "audit", "verify")
	c.fails("no environment has an authorization", "audit", "trail", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd")
}
