package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/clock"
	"github.com/countersign-dev/countersign/internal/keyring"
	"github.com/countersign-dev/countersign/internal/testenv"
	"github.com/countersign-dev/countersign/internal/testenv/temporaltest"
	"github.com/countersign-dev/countersign/workflows"
)

// logEnv, set to a level, shows the service's own log.
const logEnv = "COUNTERSIGN_TEST_LOG"

// patience is how long a test waits for what must happen; a loaded machine may take its time.
const patience = 60 * time.Second

// service is the running service that all tests share.
type service struct {
	*wiring.Process
	baseURL  string
	database string

	mu         sync.Mutex
	violations []string
}

var shared service

func TestMain(m *testing.M) {
	if chromium() == "" {
		os.Exit(m.Run()) // every test skips and says why
	}
	stop, err := shared.start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration/browser: the service did not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	closeBrowser()
	stop()
	if reports := shared.reports(); len(reports) > 0 {
		fmt.Fprintf(os.Stderr, "integration/browser: content security policy violations:\n%s\n", strings.Join(reports, "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// start brings up the service in this process on a database and a namespace of its own.
func (s *service) start(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	defer func() {
		if err != nil {
			stop()
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
	keys, err := keyring.Parse(keyring.Generate())
	if err != nil {
		return nil, err
	}
	api, ops, err := listen()
	if err != nil {
		return nil, err
	}
	s.baseURL = fmt.Sprintf("http://localhost:%d", api.Addr().(*net.TCPAddr).Port)
	core, err := wiring.Open(ctx, wiring.Settings{Log: logger(), Clock: clock.System(), DatabaseURL: database, Keys: keys, BaseURL: s.baseURL})
	if err != nil {
		return nil, err
	}
	stops = append(stops, core.Close)
	s.Process, err = wiring.New(core, wiring.Options{
		WebhookLoopback: true, Temporal: workflows.DialOptions{Address: address, Namespace: namespace}, OnViolation: s.violated,
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

func listen() (api, ops net.Listener, err error) {
	api, err = net.Listen("tcp", "127.0.0.1:0")
	ops, err2 := net.Listen("tcp", "127.0.0.1:0")
	return api, ops, errors.Join(err, err2)
}

func logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv(logEnv))); err != nil {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func (s *service) violated(report []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, string(report))
}

func (s *service) reports() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violations
}
