// Package dev starts the servers that the service needs on one machine: a private Postgres cluster and a Temporal server
// in one folder, and stores that folder's keys. It depends neither on the service's schema nor on its API, and it never
// stops or changes a server that it did not start.
package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// The ports that are preferred on localhost.
const (
	APIPort        = 8080
	OpsPort        = 9090
	PostgresPort   = 54320
	TemporalPort   = 7233
	TemporalUIPort = 8233
)

// Database is the name of the service's database in the private cluster.
const Database = "countersign"

// Namespace is the Temporal namespace of the service.
const Namespace = "countersign"

const (
	temporalWithin = 2 * time.Minute
	stopWithin     = 20 * time.Second
)

// Options configure the stack. An address of a server replaces the private
// one.
type Options struct {
	Dir              string // the folder; locked by the caller
	Devstack         string // path of the devstack binary
	DatabaseURL      string
	TemporalAddress  string
	SearchAttributes []string // registered as Keyword
	CodecEndpoint    string   // where the Temporal UI has payloads decoded; empty for none
	// Say receives a sentence about each step that takes time, each repair and each port that
	// differs from the preferred one. It must be set.
	Say func(format string, args ...any)
}

// Stack is the running servers.
type Stack struct {
	DatabaseURL     string
	TemporalAddress string
	TemporalUI      string // empty where the server is not ours

	postgres *localpg.Server
	temporal *subprocess.Process
	ended    chan error
}

// Up starts both servers. After an error none of them is running.
func Up(ctx context.Context, o Options) (*Stack, error) {
	s := &Stack{DatabaseURL: o.DatabaseURL, TemporalAddress: o.TemporalAddress, ended: make(chan error, 2)}
	if err := s.up(ctx, o); err != nil {
		return nil, errors.Join(err, s.Down())
	}
	return s, nil
}

func (s *Stack) up(ctx context.Context, o Options) error {
	if s.DatabaseURL == "" {
		if err := s.startPostgres(ctx, o); err != nil {
			return err
		}
	}
	if s.TemporalAddress == "" {
		return s.startTemporal(ctx, o)
	}
	return nil
}

// startPostgres starts the private cluster, unless a database URL is given.
func (s *Stack) startPostgres(ctx context.Context, o Options) error {
	pg, err := localpg.Start(ctx, localpg.Options{Dir: filepath.Join(o.Dir, "postgres"), Port: PostgresPort, Say: o.Say})
	if err != nil {
		return err
	}
	s.postgres = pg
	go s.watch(pg.Done(), "Postgres ended by itself; its log is in "+pg.Dir())
	if pg.Port() != PostgresPort {
		o.Say("port %d is taken: Postgres listens on %d", PostgresPort, pg.Port())
	}
	if err := pg.Create(ctx, Database); err != nil {
		return fmt.Errorf("the database %s cannot be made: %w", Database, err)
	}
	s.DatabaseURL = pg.URL(Database)
	return nil
}

// startTemporal starts devstack on the database, unless the address of a
// Temporal server is given.
func (s *Stack) startTemporal(ctx context.Context, o Options) error {
	if _, err := os.Stat(o.Devstack); err != nil {
		return fmt.Errorf("the Temporal server is not built (%s is missing): run make devstack, or set "+
			"COUNTERSIGN_TEMPORAL_ADDRESS to a server of your own", o.Devstack)
	}
	grpc, ui, err := temporalPorts(o.Say)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, "temporal.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	ready := filepath.Join(o.Dir, "temporal.json")
	if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.temporal, err = subprocess.Start(subprocess.Spec{
		Path: o.Devstack, Args: devstackArgs(o, grpc, ui, ready), Output: log, Orphaned: syscall.SIGTERM,
		// In the environment and not among the arguments, which every user of the machine can read.
		Env: append(os.Environ(), "DEVSTACK_DATABASE_URL="+s.DatabaseURL),
	})
	if err != nil {
		return err
	}
	if err := s.awaitTemporal(ctx, ready, log.Name()); err != nil {
		return err
	}
	go s.watch(s.temporal.Done(), "the Temporal server ended by itself; its log is "+log.Name())
	return nil
}

// temporalPorts picks the ports of the frontend and the UI, preferably the
// usual ones.
func temporalPorts(say func(string, ...any)) (grpc, ui int, err error) {
	if grpc, err = PickPort(TemporalPort); err != nil {
		return 0, 0, err
	}
	if grpc != TemporalPort {
		say("port %d is taken: Temporal listens on %d", TemporalPort, grpc)
	}
	if ui, err = PickPort(TemporalUIPort); err != nil {
		return 0, 0, err
	}
	if ui != TemporalUIPort {
		say("port %d is taken: the Temporal UI listens on %d", TemporalUIPort, ui)
	}
	return grpc, ui, nil
}

// devstackArgs is the command line of devstack, which ends with this
// process.
func devstackArgs(o Options, grpc, ui int, ready string) []string {
	args := []string{
		"--frontend-port", strconv.Itoa(grpc), "--ui-port", strconv.Itoa(ui), "--namespace", Namespace,
		"--ready-file", ready, "--parent-pid", strconv.Itoa(os.Getpid()),
	}
	for _, name := range o.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	if o.CodecEndpoint != "" {
		args = append(args, "--codec-endpoint", o.CodecEndpoint)
	}
	return args
}

// awaitTemporal returns once devstack has written its ready file, or an
// error with the last line of its log if it ended.
func (s *Stack) awaitTemporal(ctx context.Context, ready, log string) error {
	ctx, cancel := context.WithTimeout(ctx, temporalWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var at struct{ Frontend, UI string }
		if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, &at) == nil { // #nosec G304 -- our own file
			s.TemporalAddress, s.TemporalUI = at.Frontend, at.UI
			return nil
		}
		select {
		case <-tick.C:
		case <-s.temporal.Done():
			return fmt.Errorf("the Temporal server did not start: %s", lastLine(log))
		case <-ctx.Done():
			return fmt.Errorf("the Temporal server did not start in time; its log is %s", log)
		}
	}
}

// lastLine returns the last line of a log file; empty if it cannot be read.
func lastLine(path string) string {
	text, _ := os.ReadFile(path) // #nosec G304 -- our own file
	last := "its log is " + path
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			last = strings.TrimPrefix(line, "devstack: ")
		}
	}
	return last
}

// watch reports the end of a server, whatever its cause.
func (s *Stack) watch(done <-chan struct{}, sentence string) {
	<-done
	s.ended <- errors.New(sentence)
}

// Ended receives an error if one of the servers ends without being stopped.
func (s *Stack) Ended() <-chan error { return s.ended }

// Down stops the servers that Up started. Temporal is first, because it
// writes to Postgres.
func (s *Stack) Down() error {
	var err error
	if s.temporal != nil {
		err = s.temporal.Stop(syscall.SIGTERM, stopWithin)
	}
	if s.postgres != nil {
		err = errors.Join(err, s.postgres.Stop())
	}
	return err
}
