package integration_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// logEnv, set to a level, shows the service's own log.
const logEnv = "COUNTERSIGN_TEST_LOG"

// patience is how long a test waits for a condition. It is generous because a loaded machine is slow.
const patience = 60 * time.Second

// service is the running service that all tests share.
type service struct {
	*wiring.Process
	baseURL, opsURL   string
	database, address string
	namespace         string
	masterKey         string
	keys              *keyring.Keyring
	contract          *openapi.Contract
	log               *slog.Logger
	mails             *postOffice
	mailer            *notify.Mailer
}

var shared service

func TestMain(m *testing.M) {
	http.DefaultTransport.(*http.Transport).ResponseHeaderTimeout = patience // a test that waits for ever says nothing
	stop, err := shared.start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: the service did not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	if seen, err := testenv.CheckEvents(context.Background(), shared.database); err != nil {
		fmt.Fprintf(os.Stderr, "integration: events that violate the schema of their type (%d types seen): %v\n", len(seen), err)
		code = 1
	}
	if err := testenv.CheckOrder(context.Background(), shared.database); err != nil {
		fmt.Fprintln(os.Stderr, "integration: events that precede their causes:", err)
		code = 1
	}
	if err := testenv.Statements().Check(context.Background(), shared.database); err != nil {
		fmt.Fprintln(os.Stderr, "integration: statements that the service sent:", err)
		code = 1
	}
	stop()
	if err := checkCoverage(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// onePostgres skips a test of what Citus cannot do or does not show.
func onePostgres(t *testing.T, why string) {
	t.Helper()
	if len(citus.Workers()) > 0 {
		t.Skip(why)
	}
}

// start starts the service in this process, on its own database and Temporal namespace.
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
	s.masterKey = keyring.Generate()
	if s.keys, err = keyring.Parse(s.masterKey); err != nil {
		return nil, err
	}
	s.log = logger()
	if s.mails, s.mailer, err = newPostOffice(); err != nil {
		return nil, err
	}
	stops = append(stops, func() { _ = s.mails.listener.Close() })
	if err := s.populate(ctx); err != nil {
		return nil, err
	}
	p, listeners, err := s.process(ctx, clock.System())
	if err != nil {
		return nil, err
	}
	s.Process = p
	if err := p.Core.Check(ctx); err != nil { // remembers the master key, as serve does, so that commands accept it
		return nil, err
	}
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

// populate activates the backgrounds of simulated people: with the embedded priors no claim is above likely.
func (s *service) populate(ctx context.Context) error {
	st, err := pg.Open(ctx, s.database, pg.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer st.Close()
	all, err := synthetic.Backgrounds()
	if err != nil {
		return err
	}
	for _, bg := range all {
		body, err := bg.Marshal()
		if err != nil {
			return err
		}
		order := backgrounds.Order{Body: body, Comparison: []string{}, By: "test", At: time.Now()}
		if _, err := backgrounds.Activate(ctx, st, order); err != nil {
			return err
		}
	}
	return nil
}

type listeners struct{ api, ops net.Listener }

// process creates a process on the shared database and namespace, with its own ports.
func (s *service) process(ctx context.Context, c clock.Clock) (*wiring.Process, listeners, error) {
	var l listeners
	var err error
	if l.api, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, l, err
	}
	if l.ops, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, l, err
	}
	pooled, direct := testenv.Pooled(s.database)
	core, err := wiring.Open(ctx, wiring.Settings{
		Log: s.log, Clock: c, DatabaseURL: pooled, DirectURL: direct, Keys: s.keys, Statements: testenv.Statements(),
		BaseURL: fmt.Sprintf("http://localhost:%d", l.api.Addr().(*net.TCPAddr).Port),
		Signers: testSigners(), Providers: webhook.Policy{AllowLoopback: true}, Destinations: webhook.Policy{AllowLoopback: true, Ports: destination.Ports},
	})
	if err != nil {
		return nil, l, err
	}
	p, err := wiring.New(core, s.options())
	return p, l, err
}

// options are those of a process with a worker on the shared namespace. Every such worker takes tasks of all tests, also webhooks and mails.
func (s *service) options() wiring.Options {
	return wiring.Options{
		WebhookLoopback: true, Research: true, Mail: s.mailer, Temporal: workflows.DialOptions{Address: s.address, Namespace: s.namespace},
	}
}

func logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv(logEnv))); err != nil {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// world is one environment of a tenant with its keys.
type world struct {
	models.Environment
	Server, Admin, Publishable caller
	issued                     map[models.Scope]identity.Issued
	process                    *wiring.Process // that serves it
}

// tenant is a tenant that no other test uses.
type tenant struct {
	Sandbox, Live world
}

// plenty is an hourly quota that no test exhausts.
const plenty = 10_000_000

// newTenant creates a tenant whose relying party id is localhost.
func newTenant(t *testing.T) tenant {
	t.Helper()
	made := createTenant(t)
	return tenant{Sandbox: newWorld(t, made.Sandbox), Live: newWorld(t, made.Live)}
}

// newSandbox creates a tenant and returns its sandbox. The live environment gets no keys.
func newSandbox(t *testing.T) world {
	t.Helper()
	return newWorld(t, createTenant(t).Sandbox)
}

func createTenant(t *testing.T) tenancy.Made {
	t.Helper()
	return createTenantAt(t, shared.Process)
}

func createTenantAt(t *testing.T, p *wiring.Process) tenancy.Made {
	t.Helper()
	made, err := p.Tenancy.Create(t.Context(), tenancy.Spec{
		Name: t.Name()[:min(len(t.Name()), 100)], RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true,
	}, "cli:test")
	require.NoError(t, err)
	return made
}

func newWorld(t *testing.T, env models.Environment) world {
	t.Helper()
	return newWorldAt(t, shared.Process, env)
}

func newWorldAt(t *testing.T, p *wiring.Process, env models.Environment) world {
	t.Helper()
	w := world{Environment: env, issued: map[models.Scope]identity.Issued{}, process: p}
	for scope, target := range map[models.Scope]*caller{
		models.ScopeServer: &w.Server, models.ScopeAdmin: &w.Admin, models.ScopeClient: &w.Publishable,
	} {
		*target = caller{base: p.BaseURL, key: w.issue(t, scope, nil)}
	}
	return w
}

// issue creates another key of the environment. A nil limit means plenty.
func (w world) issue(t *testing.T, scope models.Scope, limit *int) string {
	t.Helper()
	if limit == nil {
		n := plenty
		limit = &n
	}
	in := identity.Issue{Scope: scope, Name: "test", RateLimit: limit}
	issued, err := w.process.Identity.Issue(t.Context(), w.scope(), in, "cli:test", "")
	require.NoError(t, err)
	w.issued[scope] = issued
	return issued.Key
}

// eventually waits until holds returns true.
func eventually(t *testing.T, holds func() bool, what string) {
	t.Helper()
	require.Eventually(t, holds, patience, 50*time.Millisecond, what)
}

// concurrently runs f n times at once and waits for all of them.
func concurrently(n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}

func (w world) scope() pg.Scope { return pg.Scope{Tenant: w.TenantID, Environment: w.ID} }
