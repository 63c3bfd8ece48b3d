package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// content is every row of a database, as text.
func content(t *testing.T, url string) string {
	t.Helper()
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	rows, err := st.Pool().Query(t.Context(), "select table_name::text from information_schema.tables where table_schema = 'public' order by 1")
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	var all strings.Builder
	for _, name := range tables {
		var text string
		require.NoError(t, st.Pool().QueryRow(t.Context(), fmt.Sprintf("select coalesce(string_agg(x::text, '\n' order by x::text), '') from %s x", name)).Scan(&text))
		fmt.Fprintf(&all, "%s\n%s\n", name, text)
	}
	return all.String()
}

func TestEveryCommandRefusesAWrongMasterKey(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", "127.0.0.1:1")
	made := c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	env := environmentID.FindString(made)
	tenant := regexp.MustCompile(`tnt_[a-z0-9]{26}`).FindString(made)
	kid := regexp.MustCompile(`\S{43}`).FindString(c.ok("key", "list", "--environment", env))
	right := os.Getenv("COUNTERSIGN_MASTER_KEY")
	before := content(t, url)
	for name, setting := range map[string]string{"another key": keyring.Generate(), "others": keyring.Generate() + "," + keyring.Generate()} {
		t.Setenv("COUNTERSIGN_MASTER_KEY", setting)
		for _, args := range [][]string{
			{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, {"worker", "--ops-listen", "127.0.0.1:0"},
			{"key", "rotate", "--environment", env}, {"key", "list"}, {"key", "retire", kid, "--environment", env},
			{"key", "retire", kid, "--now", "--environment", env}, {"key", "master", "list"},
			{"tenant", "create", "--background", "prior", "--name", "m", "--rp-id", "bank.example", "--origin", "https://bank.example"}, {"tenant", "list"},
			{"credential", "create", "--environment", env}, {"credential", "list", "--environment", env},
			{"credential", "rotate", "crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "--environment", env},
			{"person", "invite", "--tenant", tenant, "--environment", "sandbox", "--name", "A", "--role", "reviewer"}, {"person", "list", "--tenant", tenant},
			{"audit", "head", "--environment", env}, {"audit", "export", "--environment", env}, {"audit", "verify", "--environment", env},
			{"audit", "trail", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd", "--environment", env}, {"background", "list"},
		} {
			out, err := c.run(args...)
			require.ErrorContains(t, err, "COUNTERSIGN_MASTER_KEY does not hold the master key of this database", "%s: %s", name, args)
			require.NotContains(t, err.Error(), "\n", "one sentence")
			require.Empty(t, out)
		}
	}
	require.Equal(t, before, content(t, url), "nothing was written")
	t.Setenv("COUNTERSIGN_MASTER_KEY", right)
	c.ok("key", "rotate", "--environment", env)
}

func TestMasterKeyIsRotatedAtTheCommandLine(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	old, fresh := os.Getenv("COUNTERSIGN_MASTER_KEY"), keyring.Generate()
	made := c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	env := environmentID.FindString(made)
	id := regexp.MustCompile(`(?m)^([0-9a-f]{16}) +seals`).FindStringSubmatch(c.ok("key", "master", "list"))[1]
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh+","+old)
	c.ok("credential", "list", "--environment", env)
	require.Regexp(t, id+` +opens`, c.ok("key", "master", "list"))
	c.ok("key", "rotate", "--environment", env)
	t.Setenv("COUNTERSIGN_MASTER_KEY", old)
	c.fails("lacks the master key", "key", "rotate", "--environment", env)
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh)
	c.fails("COUNTERSIGN_MASTER_KEY lacks the master key "+id, "key", "rotate", "--environment", env)
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh+","+old)
	c.fails("is still needed (", "key", "master", "retire", id)
	t.Setenv("COUNTERSIGN_MASTER_KEY", fresh)
	require.Contains(t, c.ok("key", "master", "retire", id, "--lost"), "is retired")
	require.Regexp(t, id+` +retired`, c.ok("key", "master", "list"))
	listed := c.ok("key", "list", "--environment", env)
	require.Contains(t, listed, "  no\n", "what the lost key sealed does not open")
	require.Contains(t, listed, "  yes\n")
}

func TestSigningKeysAreListedAndRetired(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	made := c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	envs := environmentID.FindAllString(made, -1)
	all := c.ok("key", "list")
	require.Contains(t, all, envs[0])
	require.Contains(t, all, envs[1], "every environment, unless one is named")
	kid := func(status string) string {
		t.Helper()
		found := regexp.MustCompile(envs[0] + ` +(\S{43}) +` + status + ` `).FindStringSubmatch(c.ok("key", "list", "--environment", envs[0]))
		require.NotNil(t, found, status)
		return found[1]
	}
	active, next := kid("active"), kid("next")
	require.Regexp(t, next+` +next +\S+ +- +- +- +software +yes`, c.ok("key", "list", "--environment", envs[0]))

	for _, args := range [][]string{{"key", "rotate"}, {"key", "retire", active}, {"credential", "list"}, {"audit", "head"}, {"person", "invite", "--name", "A"}} {
		c.fails("--environment is not set", args...)
	}
	c.fails("has no signing key", "key", "retire", "unknown", "--environment", envs[0])
	c.fails("has no signing key", "key", "retire", active, "--environment", envs[1])
	require.Regexp(t, active+` +retiring +\S+ +\S+Z +\S+Z +- +software +yes`, c.ok("key", "retire", active, "--environment", envs[0]))
	require.Equal(t, next, kid("active"))
	require.Contains(t, c.ok("key", "retire", next, "--now", "--environment", envs[0]), next+" verifies nothing from now on; 0 open proofs were revoked")
	require.Equal(t, next, kid("retired"))
	c.fails("is retired already", "key", "retire", next, "--environment", envs[0])
}

// running is the service of a development machine, asked over HTTP.
type running struct {
	*testing.T
	dev.State
}

func (r running) send(method, path, key, body string) (int, []byte) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.BaseURL+path, strings.NewReader(body))
	require.NoError(r, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(r, err)
	return res.StatusCode, answer
}

func (r running) made(method, path, body string) map[string]any {
	r.Helper()
	status, answer := r.send(method, path, r.Environments.Sandbox.ServerKey, body)
	require.Less(r, status, 300, "%s %s: %s", method, path, answer)
	var out map[string]any
	require.NoError(r, json.Unmarshal(answer, &out))
	return out
}

// A running service keeps signing whatever is tried with a wrong master key beside it.
func TestAWrongMasterKeyBesideARunningService(t *testing.T) {
	c := newCLI(t, "")
	dir := devFolder(t)
	var screen bytes.Buffer
	err := runDev(t.Context(), devOn(t, dir), &screen, func(_ context.Context, s dev.State) error {
		r := running{t, s}
		t.Setenv("COUNTERSIGN_DATABASE_URL", s.DatabaseURL)
		env := s.Environments.Sandbox.Environment
		id := r.made("POST", "/api/v1/actions", `{"key":"pay","name":"Pay","consequence":"Money leaves.","allowed_audiences":["bank"]}`)["id"].(string)
		r.made("POST", "/api/v1/actions/"+id+"/policy-versions", `{"requirements":{"coverage_min":"none"}}`)
		r.made("POST", "/api/v1/actions/"+id+"/policy-versions/1/activate", "")
		r.made("PATCH", "/api/v1/actions/"+id, `{"mode":"enforce"}`)
		r.made("POST", "/api/v1/subjects", `{"id":"user-1"}`)
		n := 0
		allowed := func() {
			t.Helper()
			n++
			a := r.made("POST", "/api/v1/authorize", fmt.Sprintf(`{"subject":"user-1","action":"pay","resource":{"type":"resource","id":"1"},"audience":"bank",
				"requested_at":%d,"nonce":"0123456789abcdef%d","idempotency_key":"key-%08d"}`, now(t, s), n, n))
			require.Equal(t, "allow", a["decision"])
			require.NotEmpty(t, a["proof"])
		}
		allowed()
		for range 2 { // with the master key that newCLI made up
			c.fails("COUNTERSIGN_MASTER_KEY does not hold", "key", "rotate", "--environment", env)
			c.fails("COUNTERSIGN_MASTER_KEY does not hold", "credential", "create", "--environment", env)
			allowed()
		}
		master, err := os.ReadFile(dev.MasterKeyPath(dir))
		require.NoError(t, err)
		t.Setenv("COUNTERSIGN_MASTER_KEY", string(master))
		c.ok("key", "rotate", "--environment", env)
		allowed()
		require.Equal(t, "ok", readiness(t, s.OpsURL+"/readyz")["signing"])
		return nil
	})
	require.NoError(t, err, screen.String())

	require.NoError(t, os.Remove(dev.MasterKeyPath(dir)))
	t.Setenv("COUNTERSIGN_DATABASE_URL", "")
	err = runDev(t.Context(), devOn(t, dir), &screen, nil)
	require.ErrorContains(t, err, dev.MasterKeyPath(dir)+" does not hold the master key of this database")
}

// now is the time of the service, in Unix seconds.
func now(t *testing.T, s dev.State) int64 {
	t.Helper()
	st, err := pg.Open(t.Context(), s.DatabaseURL, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	at, err := st.Time(t.Context())
	require.NoError(t, err)
	return at.Unix()
}
