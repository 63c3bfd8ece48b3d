package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// cli runs the command line as a shell would.
type cli struct{ t *testing.T }

// newCLI sets the environment of this test's process: commands read nothing else.
func newCLI(t *testing.T, database string) cli {
	t.Helper()
	t.Setenv("COUNTERSIGN_DATABASE_URL", database)
	t.Setenv("COUNTERSIGN_MASTER_KEY", keyring.Generate())
	t.Setenv("COUNTERSIGN_BASE_URL", "https://countersign.example")
	return cli{t: t}
}

func (c cli) run(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(c.t.Context())
	return out.String(), err
}

func (c cli) ok(args ...string) string {
	c.t.Helper()
	out, err := c.run(args...)
	require.NoError(c.t, err)
	return out
}

func (c cli) fails(says string, args ...string) {
	c.t.Helper()
	_, err := c.run(args...)
	require.ErrorContains(c.t, err, says)
}

func TestMigrateOnceAndAgain(t *testing.T) {
	c := newCLI(t, testenv.EmptyDatabase(t))
	c.fails("run countersign migrate", "tenant", "list")
	require.Regexp(t, `^the schema went from version 0 to \d+\n$`, c.ok("migrate"))
	require.Contains(t, c.ok("migrate"), "already")
	require.Contains(t, c.ok("tenant", "list"), "TENANT")
}

func TestTheEndOfAnUpgradeIsInEveryLog(t *testing.T) {
	url := testenv.EmptyDatabase(t)
	c := newCLI(t, url)
	c.ok("migrate")
	c.ok("tenant", "create", "--name", "Alder", "--rp-id", "countersign.example", "--origin", "https://countersign.example", "--background", "prior")
	c.fails("no upgrade from version 1.0 is to be finished", "migrate", "--finish")

	keys, err := keyring.Parse(os.Getenv("COUNTERSIGN_MASTER_KEY"))
	require.NoError(t, err)
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1, Keys: keys})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	began := time.Now().UTC().Truncate(time.Microsecond) // as the migration of a database of version 1.0 leaves it
	_, err = st.Pool().Exec(t.Context(), "insert into bridges (name, at, mac) values ('1.0', $1, $2)", began, keys.Attest("bridge", []byte("1.0"), []byte(began.Format(time.RFC3339Nano))))
	require.NoError(t, err)
	require.Regexp(t, `^the upgrade from version 1.0 is finished: \d+ rows were signed\n$`, c.ok("migrate", "--finish"))
	var entries int
	require.NoError(t, st.QueryRow(t.Context(), `select count(distinct environment_id) from events where type = 'environment.upgraded' and data = '{"from": "1.0"}'`).Scan(&entries))
	require.Equal(t, 2, entries, "of the sandbox and of live")
	c.fails("no upgrade from version 1.0 is to be finished", "migrate", "--finish")
}

func TestMigrateDistributes(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	c.fails("the database has no extension citus: install Citus on every server", "migrate", "--distribute")
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, err = st.Pool().Exec(t.Context(), `create table citus_tables (table_name regclass, citus_table_type text);
		create function create_reference_table(t regclass) returns void language sql as $$ insert into citus_tables values (t, 'reference') $$;
		create function create_distributed_table(t regclass, by text, colocate_with text) returns void language sql as $$ insert into citus_tables values (t, 'distributed') $$;
		create function create_distributed_function(f regprocedure) returns void language sql as 'select'`)
	require.NoError(t, err)
	require.Regexp(t, `^\d+ tables were placed\n$`, c.ok("migrate", "--distribute"))
	require.Equal(t, "every table is placed already\n", c.ok("migrate", "--distribute"))
}

func TestNewerDatabaseIsNoHindrance(t *testing.T) {
	url := testenv.Database(t)
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	_, err = st.Pool().Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (99999, true)")
	require.NoError(t, err)
	c := newCLI(t, url)
	c.ok("migrate") // what only has more is no hindrance
	c.ok("tenant", "list")
	st.Close()
}

var (
	environmentID = regexp.MustCompile(`env_[a-z0-9]{26}`)
	secretKey     = regexp.MustCompile(`(sk|pk)_(test|live)_[A-Za-z0-9]{38}`)
	credentialID  = regexp.MustCompile(`crd_[a-z0-9]{26}`)
)

func TestTenantsAndCredentials(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--background", "prior", "--name", "Example Bank", "--rp-id", "bank.example", "--origin", "https://bank.example")
	envs, keys := environmentID.FindAllString(made, -1), secretKey.FindAllString(made, -1)
	require.Len(t, envs, 2)
	require.Len(t, keys, 2)
	require.True(t, strings.HasPrefix(keys[0], "sk_test_"))
	require.True(t, strings.HasPrefix(keys[1], "sk_live_"))
	listed := c.ok("tenant", "list")
	require.Contains(t, listed, "Example Bank")
	require.NotRegexp(t, secretKey, listed)

	issued := c.ok("credential", "create", "--environment", envs[0], "--scope", "client", "--name", "web", "--expires-in", "1h")
	require.Regexp(t, `pk_test_`, issued)
	id := credentialID.FindString(issued)
	rotated := c.ok("credential", "rotate", id, "--environment", envs[0])
	require.NotEqual(t, secretKey.FindString(issued), secretKey.FindString(rotated))
	c.ok("credential", "revoke", id, "--environment", envs[0])
	list := c.ok("credential", "list", "--environment", envs[0])
	require.Contains(t, list, "revoked")
	require.NotRegexp(t, secretKey, list, "a key is shown once")
	require.NotContains(t, c.ok("credential", "list", "--environment", envs[1]), id)
	narrow := c.ok("credential", "create", "--environment", envs[0], "--permissions", "verify,decide")
	require.Regexp(t, credentialID.FindString(narrow)+` +server +decide,verify `, c.ok("credential", "list", "--environment", envs[0]))
	require.Regexp(t, id+` +client +all `, list)
	c.fails("not a permission", "credential", "create", "--environment", envs[0], "--permissions", "everything")
	c.fails("permissions is empty", "credential", "create", "--environment", envs[0], "--permissions", "")
	c.fails("--scope", "credential", "create", "--environment", envs[0], "--scope", "root")
	c.fails("there is no environment", "credential", "list", "--environment", "env_nobody")
	c.fails("arg(s)", "credential", "rotate", "--environment", envs[0])
}

func TestSigningKeysRotate(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	env := environmentID.FindString(made)
	before := c.ok("key", "list", "--environment", env)
	require.Contains(t, before, "active")
	require.Contains(t, before, "next")
	require.Contains(t, c.ok("key", "rotate", "--environment", env), "retiring")
	_, err := keyring.Parse(c.ok("key", "generate"))
	require.NoError(t, err)
}

func TestBadCommandLines(t *testing.T) {
	c := newCLI(t, "postgres://stranger@127.0.0.1:1/none?connect_timeout=2")
	c.fails("unknown flag", "serve", "--nothing")
	c.fails("is not a command of countersign", "nothing")
	c.fails("does not respond", "migrate")
	t.Setenv("COUNTERSIGN_DATABASE_URL", "")
	c.fails("COUNTERSIGN_DATABASE_URL is not set", "migrate")
	c.fails("COUNTERSIGN_DATABASE_URL is not set", "serve")
	c.fails("--people", "demo", "--people", "1")
	require.Contains(t, c.ok("--help"), "countersign")
}

func TestServeRefusesWhatDevMade(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", "true")
	c.fails("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK is on", "serve")
	t.Setenv("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", "")
	_, err = st.Pool().Exec(t.Context(), "update environments set rp_id = 'localhost'")
	require.NoError(t, err)
	c.fails("RP ID localhost", "worker")
}

// devFolder is a folder that every user may enter, as a checkout is.
func devFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-cmd-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

func TestDevSaysWhatIsWrong(t *testing.T) {
	c := newCLI(t, "postgres://stranger@127.0.0.1:1/none?connect_timeout=2")
	c.fails("COUNTERSIGN_DATABASE_URL: the database at 127.0.0.1:1 does not respond", "dev", "--dir", devFolder(t), "--port", "0", "--ops-port", "0")
	t.Setenv("COUNTERSIGN_DATABASE_URL", testenv.EmptyDatabase(t))
	c.fails("run make devstack", "dev", "--dir", devFolder(t), "--devstack", "/no/such/devstack", "--port", "0", "--ops-port", "0")
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", "127.0.0.1:1")
	c.fails("COUNTERSIGN_TEMPORAL_ADDRESS: no server responds at 127.0.0.1:1", "dev", "--dir", devFolder(t), "--port", "0", "--ops-port", "0")
	c.fails("the operations port cannot listen on port 99999: want 0 to 65535", "dev", "--dir", devFolder(t), "--port", "0", "--ops-port", "99999")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	c.fails(fmt.Sprintf("the folder %s cannot be made", file), "dev", "--dir", file)
}
