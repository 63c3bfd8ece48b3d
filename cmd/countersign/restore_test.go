package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
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
	require.NoError(t, err, "%s", out)
	return into
}

// burn uses transaction ids up, so that the log is numbered far ahead of a fresh cluster.
func burn(t *testing.T, st *store.Store, n int) {
	t.Helper()
	_, err := st.Pool().Exec(t.Context(), fmt.Sprintf("do $$ begin for i in 1..%d loop perform pg_current_xact_id(); commit; end loop; end $$", n))
	require.NoError(t, err)
}

// sealed seals what is in the log.
func sealed(t *testing.T, url string) {
	t.Helper()
	st, err := store.Open(t.Context(), url, store.Options{MaxConns: 2})
	require.NoError(t, err)
	defer st.Close()
	s := audit.Sealer{Store: st, Clock: clock.System()}
	require.Eventually(t, func() bool {
		_, err := s.SealAll(t.Context())
		require.NoError(t, err)
		var unsealed int
		require.NoError(t, st.Pool().QueryRow(t.Context(),
			"select count(*) from events e where not exists (select from audit_chain c where c.event_id = e.id)").Scan(&unsealed))
		return unsealed == 0
	}, 20*time.Second, 50*time.Millisecond)
}

func TestAuditGoesOnAfterARestoreFromADump(t *testing.T) {
	first := testenv.Database(t)
	c := newCLI(t, first)
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example"))
	c.ok("credential", "create", "--environment", env, "--scope", "server")
	st, err := store.Open(t.Context(), first, store.Options{MaxConns: 1})
	require.NoError(t, err)
	burn(t, st, 20_000)
	c.ok("audit", "export", "--environment", env)
	st.Close()
	sealed(t, first)
	c.ok("audit", "verify", "--environment", env)
	c.fails("nothing to re-anchor", "audit", "reanchor", "--reason", "no restore")

	second := dumped(t, first)
	t.Setenv("COUNTERSIGN_DATABASE_URL", second)
	c.fails("looks restored from a dump", "audit", "verify", "--environment", env)
	c.ok("audit", "export", "--environment", env) // an entry, numbered ahead of its time
	out, err := c.run("audit", "verify", "--environment", env)
	require.ErrorIs(t, err, errRestored)
	require.NotContains(t, out, "inserted", "what was written since the restore was not slipped in")

	c.fails("--reason is missing", "audit", "reanchor")
	c.ok("audit", "reanchor", "--reason", "the disk of the first server broke")
	sealed(t, second)
	var result audit.Result
	require.NoError(t, json.Unmarshal([]byte(c.ok("audit", "verify", "--environment", env)), &result))
	require.Zero(t, result.Waiting)
	require.Len(t, result.Restored, 1)
	require.Equal(t, "the disk of the first server broke", result.Restored[0].Reason)
	require.True(t, result.Restored[0].Signed)
	require.EqualValues(t, 1, result.Restored[0].Adopted)
	c.fails("nothing to re-anchor", "audit", "reanchor", "--reason", "again")
	c.ok("audit", "export", "--environment", env)
	sealed(t, second)
	c.ok("audit", "verify", "--environment", env)

	t.Run("the stream's order goes on", func(t *testing.T) {
		st, err := store.Open(t.Context(), second, store.Options{MaxConns: 2})
		require.NoError(t, err)
		defer st.Close()
		require.Eventually(t, func() bool {
			rows, err := st.Events().After(t.Context(), []string{env}, store.Position{}, 1000)
			require.NoError(t, err)
			var total int
			require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from events where environment_id = $1", env).Scan(&total))
			for i := 1; i < len(rows); i++ {
				require.False(t, rows[i].At.Before(rows[i-1].At), "%s stands before %s", rows[i-1].Type, rows[i].Type)
			}
			return len(rows) == total
		}, 20*time.Second, 50*time.Millisecond)
	})
	t.Run("tampering is found", func(t *testing.T) {
		st, err := store.Open(t.Context(), second, store.Options{MaxConns: 2})
		require.NoError(t, err)
		defer st.Close()
		var tenant string
		require.NoError(t, st.Pool().QueryRow(t.Context(), "select tenant_id from environments where id = $1", env).Scan(&tenant))
		for name, number := range map[string]string{
			"before the restore": "1",
			"behind it":          "(select max(txid::text::bigint) - 1 from audit_heads)",
		} {
			row, err := events.Row(events.Entry{Scope: store.Scope{Tenant: tenant, Environment: env}, Data: events.CredentialRevokedData{}, At: time.Now(), Actor: "cli:x"})
			require.NoError(t, err)
			require.NoError(t, st.Events().Append(t.Context(), row, false))
			_, err = st.Pool().Exec(t.Context(), "update events set txid = ("+number+")::text::xid8 where id = $1", row.ID)
			require.NoError(t, err)
			out, err := c.run("audit", "verify", "--environment", env)
			require.ErrorIs(t, err, errTampered, name)
			require.Contains(t, out, "inserted", name)
			_, err = st.Pool().Exec(t.Context(), "delete from events where id = $1", row.ID)
			require.NoError(t, err)
		}
		_, err = st.Pool().Exec(t.Context(), `update events set data = data || '{"reason": "another"}' where type = 'audit.reanchored' and environment_id = $1`, env)
		require.NoError(t, err)
		out, err := c.run("audit", "verify", "--environment", env)
		require.ErrorIs(t, err, errTampered)
		require.Contains(t, out, "is not signed by a key of the environment")
	})
}

func TestReanchoringRefusesAChainThatIsNotIntact(t *testing.T) {
	first := testenv.Database(t)
	c := newCLI(t, first)
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "Alder Bank", "--rp-id", "alder.example", "--origin", "https://alder.example"))
	st, err := store.Open(t.Context(), first, store.Options{MaxConns: 1})
	require.NoError(t, err)
	burn(t, st, 20_000)
	st.Close()
	c.ok("audit", "export", "--environment", env)
	sealed(t, first)
	second := dumped(t, first)
	t.Setenv("COUNTERSIGN_DATABASE_URL", second)
	st, err = store.Open(t.Context(), second, store.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	_, err = st.Pool().Exec(t.Context(), "update events set actor = 'cli:mallory' where type = 'tenant.created'")
	require.NoError(t, err)
	c.fails("not intact", "audit", "reanchor", "--reason", "a restore")
	c.ok("audit", "reanchor", "--reason", "a restore", "--accept-findings")
	sealed(t, second)
	out, err := c.run("audit", "verify", "--environment", env)
	require.ErrorIs(t, err, errTampered)
	require.Contains(t, out, "altered", "what was wrong before stays a finding")
}

func TestAuditCommandsNameTheFlagThatIsMissing(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	c.fails("there is no environment", "audit", "verify")
	c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	c.fails("--environment is not set", "audit", "verify")
	c.fails("no environment has an authorization", "audit", "trail", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd")
}
