package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/workflows"
)

func TestDoctorNamesEveryFault(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	made := environmentID.FindAllString(c.ok("tenant", "create", "--background", "prior", "--name", "Bank", "--rp-id", "bank.example", "--origin", "https://bank.example"), -1)
	sandbox, live := made[0], made[1]
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	do := func(statement string, args ...any) {
		_, err := st.Pool().Exec(context.WithoutCancel(t.Context()), statement, args...)
		require.NoError(t, err)
	}
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var set []byte
		_ = st.Pool().QueryRow(context.Background(), "select json_build_object('keys', json_agg(public_jwk)) from signing_keys").Scan(&set)
		_, _ = w.Write(set)
	}))
	t.Cleanup(public.Close)
	t.Setenv("COUNTERSIGN_BASE_URL", strings.Replace(public.URL, "127.0.0.1", "localhost", 1))
	out, err := c.run("doctor")
	require.ErrorContains(t, err, "faults found: 1", out) // servers of tests need not outlast a crash
	require.Contains(t, out, "database: settings with which a crash of the server loses what was acknowledged: fsync=off, full_page_writes=off, synchronous_commit=off")

	public.Config.Handler = http.NotFoundHandler()
	t.Setenv("COUNTERSIGN_SMTP_ADDRESS", "127.0.0.1:1")
	t.Setenv("COUNTERSIGN_TRACES_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("COUNTERSIGN_METRICS_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("COUNTERSIGN_DATABASE_STANDBY_URL", url) // the primary itself
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t"), 0o600))
	t.Setenv("COUNTERSIGN_SIGNING_KEYS", "software vault+transit://127.0.0.1:1/transit?token-file="+token+"&tls=off")
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", "127.0.0.1:1")
	do("alter table write_probes add constraint no_space check (id < 0) not valid")
	do("insert into master_keys (id, fingerprint, recorded_at) values ('0123456789abcdef', '\\x00', now())")
	do("update signing_keys set sealed = '\\x01020304' where environment_id = $1", live)
	do("update signing_keys set sealed = '\\x01020304', activated_at = now() - interval '200 days' where environment_id = $1 and status = 'active'", sandbox)
	do("insert into outbox (topic, environment_id, ref, payload, created_at, available_at) values ('hold.start', $1, 'azn_1', '{}', now() - interval '1 hour', now())", sandbox)
	do(`insert into webhook_endpoints (id, tenant_id, environment_id, url, description, events, status, failing_since, created_at, updated_at)
		select 'whe_1', tenant_id, id, 'https://bank.example/hook', '', '{*}', 'enabled', now() - interval '1 hour', now(), now() from environments where id = $1`, sandbox)
	do("update events set at = at - interval '1 hour' where environment_id = $1", sandbox)
	do("insert into quotas (bucket, full_at, nearly_used_at) values ($1 || '/servers', now() + interval '55 minutes', now())", sandbox)
	do("update credentials set issuers = '{crd_gone}' where environment_id = $1", live)
	do("update pg_index set indisvalid = false where indexrelid = 'changes_list'::regclass")
	t.Cleanup(func() { do("update events set at = at + interval '1 hour' where environment_id = $1", sandbox) }) // the order of events is checked

	out, err = c.run("doctor")
	require.ErrorContains(t, err, "faults found: 21", out)
	for _, fault := range []string{
		"base URL: http://localhost:", "mail server: 127.0.0.1:1 does not answer", "trace collector: http://127.0.0.1:1 does not answer",
		"metrics collector: http://127.0.0.1:1 does not answer", "standby: the server at COUNTERSIGN_DATABASE_STANDBY_URL is no standby",
		"database: takes no writes", "database: indexes that are not valid: changes_list", "master keys: ", "signing keys: the key backend is unavailable", "temporal: does not answer at 127.0.0.1:1",
		"signing keys: environments without one that can be opened: 1", "signing keys: environments that sign with another than the active one: 1", "signing keys: one has signed for 200 days",
		"Bank/sandbox: outbox rows that wait: 1, the oldest for 1h", "Bank/sandbox: webhook endpoints that fail: 1, the oldest for 1h", "audit entries that are not sealed: 7, the oldest for 1h",
		"Bank/sandbox: the quota " + sandbox + "/servers is used to 9", "Bank/live: valid keys whose source has ended: crd_",
		"Bank/live: records changed outside of the service, or refused for that in the last 24 hours: credentials crd_",
	} {
		require.Contains(t, out, fault)
	}
	require.Equal(t, strings.Count(out, "\n  "), strings.Count(out, "\n\n"), "each finding has a remedy")

	address, namespace := temporaltest.Namespace(t)
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", address)
	t.Setenv("COUNTERSIGN_TEMPORAL_NAMESPACE", namespace)
	out, err = c.run("doctor")
	require.ErrorContains(t, err, "faults found: 22", out)
	require.Contains(t, out, "workers: none asks for tasks")
	require.Contains(t, out, "temporal: the namespace stores closed workflow runs for 24h")

	t.Setenv("COUNTERSIGN_MASTER_KEY", keyring.Generate())
	do("delete from master_keys where id = '0123456789abcdef'")
	out, err = c.run("doctor")
	require.ErrorContains(t, err, "faults found: 4", out)
	require.Contains(t, out, "master keys: COUNTERSIGN_MASTER_KEY does not hold the master key of this database")
	require.NotContains(t, out, "records changed", "a wrong key is no tampering")

	t.Setenv("COUNTERSIGN_DATABASE_URL", "postgres://stranger@127.0.0.1:1/none?connect_timeout=2")
	out, err = c.run("doctor")
	require.ErrorContains(t, err, "faults found: 1")
	require.Contains(t, out, "database: cannot be reached")
}

func TestDoctorChangesNothing(t *testing.T) {
	url := testenv.EmptyDatabase(t)
	c := newCLI(t, url)
	out, err := c.run("doctor")
	require.Error(t, err)
	require.Contains(t, out, "schema: the database is at schema version 0")
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	require.Empty(t, storetest.Texts(t, st, "select tablename::text from pg_tables where schemaname = 'public'"))
}

// A namespace without the search attributes refuses every workflow: doctor names them, and a worker that may adds them.
func TestSearchAttributesAreNamedAndAdded(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	address, namespace := temporaltest.Namespace(t)
	bare := namespace + "-bare"
	tc, err := workflows.Dial(workflows.DialOptions{Address: address, Namespace: bare, Keyring: testenv.Keys(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(tc.Close)
	_, err = tc.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: bare, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", address)
	t.Setenv("COUNTERSIGN_TEMPORAL_NAMESPACE", bare)
	says := func() string {
		out, _ := c.run("doctor")
		return out
	}
	const fault = "the namespace lacks the Keyword search attributes CountersignKind, "
	require.Eventually(t, func() bool { return strings.Contains(says(), fault) }, time.Minute, 200*time.Millisecond)
	flows := workflows.NewClient(tc, bare)
	require.Eventually(t, func() bool { return flows.EnsureAttributes(t.Context()) == nil }, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool { return !strings.Contains(says(), fault) }, time.Minute, 200*time.Millisecond)
}

func TestDoctorComparesClocks(t *testing.T) {
	core, err := wiring.Open(t.Context(), wiring.Settings{
		Log: slog.New(slog.DiscardHandler), DatabaseURL: testenv.Database(t), Keys: testenv.Keys(), Machine: clock.Offset(clock.System(), time.Hour), MaxConns: 1,
	})
	require.NoError(t, err)
	t.Cleanup(core.Close)
	d := doctor{core: core}
	require.NoError(t, d.clocks(t.Context()))
	require.Len(t, d.findings, 1)
	require.Equal(t, "this machine is 1h0m0s ahead of the database", d.findings[0].what)
}

func TestBacklogListsWhatWaits(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	require.NotContains(t, c.ok("backlog"), "outbox")
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, err = st.Pool().Exec(t.Context(), "insert into outbox (topic, environment_id, ref, payload, created_at, available_at) values ('hold.start', 'env_1', 'azn_1', '{}', now() - interval '1 hour', now())")
	require.NoError(t, err)
	require.Regexp(t, `outbox +hold\.start +1 +1h0m`, c.ok("backlog"))
}
