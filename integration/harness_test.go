package integration_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// logEnv, set to a level, shows the service's own log.
const logEnv = "COUNTERSIGN_TEST_LOG"

// patience is how long a test waits for what must happen; a loaded machine may take its time.
const patience = 60 * time.Second

// service is the running service that all tests share.
type service struct {
	*wiring.Process
	baseURL, opsURL   string
	database, address string
	namespace         string
	keys              *keyring.Keyring
	contract          *openapi.Contract
	log               *slog.Logger
}

var shared service

func TestMain(m *testing.M) {
	stop, err := shared.start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: the service did not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	if seen, err := testenv.CheckEvents(context.Background(), shared.database); err != nil {
		fmt.Fprintf(os.Stderr, "integration: events that are not what their types' schemas say (%d types seen): %v\n", len(seen), err)
		code = 1
	}
	if err := testenv.CheckOrder(context.Background(), shared.database); err != nil {
		fmt.Fprintln(os.Stderr, "integration: events that do not stand behind their causes:", err)
		code = 1
	}
	stop()
	if err := checkShown(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// start brings up the service in this process on a database and a namespace of its own.
func (s *service) start(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stopAll := func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	defer func() {
		if err != nil {
			stopAll()
		}
	}()
	if s.contract, err = openapi.Compile(); err != nil {
		return nil, err
	}
	var drop func()
	if s.database, drop, err = testenv.New(ctx); err != nil {
		return nil, err
	}
	stops = append(stops, drop)
	if s.address, s.namespace, err = temporaltest.New(ctx); err != nil {
		return nil, err
	}
	if s.keys, err = keyring.Parse(keyring.Generate()); err != nil {
		return nil, err
	}
	s.log = logger()
	p, listeners, err := s.process(ctx, clock.System())
	if err != nil {
		return nil, err
	}
	s.Process = p
	stops = append(stops, p.Core.Close, p.Close)
	failed := make(chan error, 4)
	go func() {
		for err := range failed {
			fmt.Fprintln(os.Stderr, "integration:", err)
		}
	}()
	s.baseURL, s.opsURL = p.BaseURL, "http://"+listeners.ops.Addr().String()
	stops = append(stops, p.StartOps(failed, listeners.ops), p.StartWorker(ctx, failed))
	stopAPI, err := p.StartAPI(ctx, failed, listeners.api)
	if err != nil {
		return nil, err
	}
	stops = append(stops, stopAPI)
	return stopAll, nil
}

type listeners struct{ api, ops net.Listener }

// process builds a process on the shared database and namespace, with ports of its own.
func (s *service) process(ctx context.Context, c clock.Clock) (*wiring.Process, listeners, error) {
	var l listeners
	var err error
	if l.api, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, l, err
	}
	if l.ops, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, l, err
	}
	core, err := wiring.Open(ctx, wiring.Settings{
		Log: s.log, Clock: c, DatabaseURL: s.database, Keys: s.keys,
		BaseURL: fmt.Sprintf("http://localhost:%d", l.api.Addr().(*net.TCPAddr).Port),
	})
	if err != nil {
		return nil, l, err
	}
	p, err := wiring.New(core, wiring.Options{
		WebhookLoopback: true, Research: true, Temporal: workflows.DialOptions{Address: s.address, Namespace: s.namespace},
	})
	return p, l, err
}

func logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv(logEnv))); err != nil {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// later is an API on the same data whose clock runs ahead by d: what a replica would answer then.
func later(t *testing.T, d time.Duration) string {
	t.Helper()
	return under(t, clock.Offset(clock.System(), d))
}

// under is an API on the same data under a clock of its own.
func under(t *testing.T, c clock.Clock) string {
	t.Helper()
	p, l, err := shared.process(t.Context(), c)
	require.NoError(t, err)
	failed := make(chan error, 2)
	stop, err := p.StartAPI(context.WithoutCancel(t.Context()), failed, l.api)
	require.NoError(t, err)
	require.NoError(t, l.ops.Close())
	t.Cleanup(func() {
		stop()
		p.Close()
		p.Core.Close()
	})
	return "http://" + l.api.Addr().String()
}

// beside is a further API on the shared data and the shared Temporal, with settings of its own where they are given.
func beside(t *testing.T, s wiring.Settings) (base string) {
	t.Helper()
	s.DatabaseURL, s.Keys, s.BaseURL = shared.database, shared.keys, shared.baseURL
	core, err := wiring.Open(context.WithoutCancel(t.Context()), s)
	require.NoError(t, err)
	t.Cleanup(core.Close)
	_, base = serving(t, core)
	return base
}

// serving starts an API on a core and the shared Temporal. It stops before the core's own cleanup.
func serving(t *testing.T, core *wiring.Core) (*wiring.Process, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: shared.address, Namespace: shared.namespace}})
	require.NoError(t, err)
	stop, err := p.StartAPI(context.WithoutCancel(t.Context()), make(chan error, 2), l)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		p.Close()
	})
	return p, "http://" + l.Addr().String()
}

// world is one environment of a tenant with its keys.
type world struct {
	models.Environment
	Server, Admin, Publishable caller
	issued                     map[models.Scope]identity.Issued
}

// tenant is a customer that no other test knows.
type tenant struct {
	Sandbox, Live world
}

// plenty is a quota that no test uses up.
const plenty = 10_000_000

// newTenant makes a tenant whose passkeys live on localhost.
func newTenant(t *testing.T) tenant {
	t.Helper()
	made, err := shared.Tenancy.Create(t.Context(), tenancy.Spec{
		Name: t.Name()[:min(len(t.Name()), 100)], RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true,
	}, "cli:test")
	require.NoError(t, err)
	return tenant{Sandbox: newWorld(t, made.Sandbox), Live: newWorld(t, made.Live)}
}

// newSandbox is the sandbox of a tenant of its own.
func newSandbox(t *testing.T) world {
	t.Helper()
	return newTenant(t).Sandbox
}

func newWorld(t *testing.T, env models.Environment) world {
	t.Helper()
	w := world{Environment: env, issued: map[models.Scope]identity.Issued{}}
	for scope, target := range map[models.Scope]*caller{
		models.ScopeServer: &w.Server, models.ScopeAdmin: &w.Admin, models.ScopeClient: &w.Publishable,
	} {
		*target = caller{base: shared.baseURL, key: w.issue(t, scope, nil)}
	}
	return w
}

// issue makes a further key; the limit is plenty where it is nil.
func (w world) issue(t *testing.T, scope models.Scope, limit *int) string {
	t.Helper()
	if limit == nil {
		n := plenty
		limit = &n
	}
	in := identity.Issue{Scope: scope, Name: "test", RateLimit: limit}
	issued, err := shared.Identity.Issue(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID}, in, "cli:test", "")
	require.NoError(t, err)
	w.issued[scope] = issued
	return issued.Key
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, holds func() bool, what string) {
	t.Helper()
	require.Eventually(t, holds, patience, 50*time.Millisecond, what)
}

// together runs f n times at once and waits for all of them.
func together(n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}
