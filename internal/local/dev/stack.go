// Package dev starts the servers that the service needs on one machine: a private Postgres cluster and a Temporal server
// in one folder, and stores that folder's keys. It depends neither on the service's schema nor on its API, and it never
// stops or changes a server that it did not start.
package dev

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/durable"
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
	TemporalPort     int      // preferred; a free one if it is in use, or 0
	TemporalUIPort   int      // likewise
	SearchAttributes []string // registered as Keyword
	CodecEndpoint    string   // where the Temporal UI has payloads decoded; empty for none
	// Build builds the devstack binary, or returns at once if it is up to date; nil: it must exist. It runs beside the service.
	Build func(ctx context.Context) error
	// Startup records how far Temporal's start is, and its end. It must be set unless a Temporal server is given.
	Startup *durable.Startup
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
	temporal *temporal // nil if the server is not ours
	ended    chan error
}

// Up starts Postgres, and Temporal in the background: Options.Startup reports its progress, and its address is known at once. After an
// error neither of them is running.
func Up(ctx context.Context, o Options) (*Stack, error) {
	s := &Stack{DatabaseURL: o.DatabaseURL, TemporalAddress: o.TemporalAddress, ended: make(chan error, 3)}
	if err := s.up(ctx, o); err != nil {
		return nil, errors.Join(err, s.Down())
	}
	return s, nil
}

func (s *Stack) up(ctx context.Context, o Options) error {
	// Before anything starts: a machine that can never have Temporal should say so at once.
	if s.TemporalAddress == "" && o.Build == nil {
		if err := findDevstack(o.Devstack); err != nil {
			return err
		}
	}
	if s.DatabaseURL == "" {
		if err := s.startPostgres(ctx, o); err != nil {
			return err
		}
	}
	if s.TemporalAddress != "" {
		return nil
	}
	t, err := reserveTemporal(o, s.DatabaseURL)
	if err != nil {
		return err
	}
	s.temporal, s.TemporalAddress, s.TemporalUI = t, t.address(), LocalURL(t.ui.port)
	go t.run(s.ended)
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
		err = s.temporal.stop()
	}
	if s.postgres != nil {
		err = errors.Join(err, s.postgres.Stop())
	}
	return err
}
