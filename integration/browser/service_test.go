package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// logEnv, set to a level, shows the service's own log.
const logEnv = "COUNTERSIGN_TEST_LOG"

// patience is how long a test waits for a condition. It is generous because a loaded machine is slow.
const patience = 45 * time.Second

// service is the running service that all tests share.
type service struct {
	*wiring.Process
	baseURL   string
	database  string
	namespace string // of Temporal

	mu         sync.Mutex
	violations []string
	secrets    []string     // that the log must not contain
	logged     bytes.Buffer // everything that the service logged
}

var shared service

func TestMain(m *testing.M) {
	if chromium() == "" {
		os.Exit(m.Run()) // every test is skipped
	}
	stop, err := shared.start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration/browser: the service did not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	closeBrowser()
	stop()
	if reports := shared.violationReports(); len(reports) > 0 {
		fmt.Fprintf(os.Stderr, "integration/browser: content security policy violations:\n%s\n", strings.Join(reports, "\n"))
		code = max(code, 1)
	}
	if leaked := shared.leakedSecrets(); len(leaked) > 0 {
		fmt.Fprintf(os.Stderr, "integration/browser: the log contains tickets or grants: %q\n", leaked)
		code = max(code, 1)
	}
	os.Exit(code)
}

// start starts the service in this process, on its own database and Temporal namespace.
func (s *service) start(ctx context.Context) (stop func(), err error) {
	var stops []func()
	all := func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	defer func() {
		if stop = all; err != nil {
			all()
		}
	}()
	database, drop, err := testenv.New(ctx)
	if err != nil {
		return nil, err
	}
	s.database = database
	stops = append(stops, drop)
	address, namespace, err := temporaltest.New(ctx)
	if err != nil {
		return nil, err
	}
	s.namespace = namespace
	keys, err := keyring.Parse(keyring.Generate())
	if err != nil {
		return nil, err
	}
	api, ops, err := listen()
	if err != nil {
		return nil, err
	}
	s.baseURL = fmt.Sprintf("http://localhost:%d", api.Addr().(*net.TCPAddr).Port)
	core, err := wiring.Open(ctx, wiring.Settings{Log: s.logger(), Clock: clock.System(), DatabaseURL: database, Keys: keys, BaseURL: s.baseURL,
		Providers: webhook.Policy{AllowLoopback: true}, Destinations: webhook.Policy{AllowLoopback: true}})
	if err != nil {
		return nil, err
	}
	stops = append(stops, core.Close)
	tryKey, err := s.tryKey(ctx, core)
	if err != nil {
		return nil, err
	}
	s.Process, err = wiring.New(core, wiring.Options{
		TryKey:          tryKey,
		WebhookLoopback: true, Temporal: workflows.DialOptions{Address: address, Namespace: namespace}, OnViolation: s.recordViolation,
	})
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 4)
	go func() {
		for err := range failed {
			fmt.Fprintln(os.Stderr, "integration/browser:", err)
		}
	}()
	stops = append(stops, s.Close, s.StartOps(failed, ops), s.StartWorker(ctx, failed))
	stopAPI, err := s.StartAPI(ctx, failed, api)
	if err != nil {
		return nil, err
	}
	stops = append(stops, stopAPI)
	return stop, nil
}

// tryKey creates a sandbox for the try-it page and returns a server key of it.
func (s *service) tryKey(ctx context.Context, core *wiring.Core) (string, error) {
	made, err := core.Tenancy.Create(ctx, tenancy.Spec{Name: "Try", RPID: "localhost", Origins: []string{s.baseURL}, AllowLocal: true}, "cli:test")
	if err != nil {
		return "", err
	}
	plenty := 10_000_000
	scope := pg.Scope{Tenant: made.Sandbox.TenantID, Environment: made.Sandbox.ID}
	issued, err := core.Identity.Issue(ctx, scope, identity.Issue{Scope: models.ScopeServer, Name: "try", RateLimit: &plenty}, "cli:test", "")
	return issued.Key, err
}

func listen() (api, ops net.Listener, err error) {
	api, err = net.Listen("tcp", "127.0.0.1:0")
	ops, err2 := net.Listen("tcp", "127.0.0.1:0")
	return api, ops, errors.Join(err, err2)
}

// logger records every line for leakedSecrets, and prints lines from the level of logEnv.
func (s *service) logger() *slog.Logger {
	all := slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv(logEnv))); err != nil {
		return slog.New(all)
	}
	return slog.New(slog.NewMultiHandler(all, slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

// Write records the service's log.
func (s *service) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.Write(line)
}

// secret registers a text that the log must not contain.
func (s *service) secret(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, text)
}

// leakedSecrets returns the secrets that the log contains.
func (s *service) leakedSecrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.secrets), func(text string) bool { return !bytes.Contains(s.logged.Bytes(), []byte(text)) })
}

// recordViolation records a report, except those of frame-ancestors, which a test causes.
func (s *service) recordViolation(report []byte) {
	if bytes.Contains(report, []byte(`"effective-directive":"frame-ancestors"`)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, string(report))
}

func (s *service) violationReports() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violations
}
