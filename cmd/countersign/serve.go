package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/models"
)

// serveOn is how long a stopping API serves what a proxy still sends.
const serveOn = time.Second

func serveCommand() *cobra.Command {
	s := settings{role: "api"}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), func(ctx context.Context, p *wiring.Process, failed chan error) (func(), error) {
				l, err := listen("COUNTERSIGN_LISTEN", s.listen)
				if err != nil {
					return nil, err
				}
				stopCodec, err := s.codec.start(p, failed)
				if err != nil {
					return nil, err
				}
				stop, err := p.StartAPI(ctx, failed, l)
				return together(stopCodec, stop), err
			})
		},
	}
	bind(cmd, s.table(":8080")...)
	return cmd
}

// together stops two servers at the same time: neither is to serve on while the other waits for its requests.
func together(first, second func()) func() {
	return func() {
		var done sync.WaitGroup
		done.Go(first)
		second()
		done.Wait()
	}
}

func workerCommand() *cobra.Command {
	s := settings{role: "worker"}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the Temporal worker and the outbox relay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), func(ctx context.Context, p *wiring.Process, failed chan error) (func(), error) {
				return p.StartWorker(ctx, failed), nil
			})
		},
	}
	bind(cmd, s.table("")...)
	return cmd
}

// table lists the settings of serve and worker. Only serve listens; the worker passes an empty address.
func (s *settings) table(listen string) []setting {
	table := []setting{s.database(), s.pool(), s.direct(), s.master(), s.root(), s.signing(), s.public(), s.webhooks(), s.providers(), s.destinations()}
	table = append(append(table, s.addresses(listen)...), s.dataProtection()...)
	if listen != "" {
		table = append(append(append(table, s.streams(), s.ui(), s.proxies()), s.codec.table()...), s.standby()...)
	}
	if listen == "" {
		table = append(table, s.worker.table()...)
	}
	table = append(table, s.mail.table()...)
	return append(append(append(table, s.temporal()...), s.logging()...), s.collectors()...)
}

// run connects, checks the settings against the database, starts the process with start, waits for a signal or a failure, and
// stops everything in reverse order. serve and worker share it.
func (s *settings) run(ctx context.Context, start func(ctx context.Context, p *wiring.Process, failed chan error) (stop func(), err error)) error {
	traces, flush, err := s.startTracing(ctx)
	if err != nil {
		return err
	}
	defer flush()
	p, err := s.process(ctx, traces)
	if err != nil {
		return err
	}
	defer p.Core.Close()
	defer p.Close()
	flushMetrics, err := s.startMetrics(ctx, p)
	if err != nil {
		return err
	}
	defer flushMetrics()
	failed := make(chan error, 4)
	l, err := listen("COUNTERSIGN_OPS_LISTEN", s.opsListen)
	if err != nil {
		return err
	}
	if s.profiling {
		p.Ops.Profile()
	}
	stop, err := start(ctx, p, failed)
	if err != nil {
		return err
	}
	// Last, because a load balancer sends requests as soon as the readiness check succeeds.
	defer p.StartOps(failed, l)()
	p.Log.Info("started", "version", version)
	select {
	case <-ctx.Done():
		p.Log.Info("stopping")
		stop()
		return nil
	case err := <-failed:
		stop()
		return err
	}
}

// process checks every setting before it connects to anything.
func (s *settings) process(ctx context.Context, traces trace.TracerProvider) (*wiring.Process, error) {
	baseURL, urlErr := s.publicURL()
	ring, keyErr := s.keyring(ctx)
	temporal, tlsErr := s.temporalOptions()
	mailer, mailErr := s.mail.mailer(baseURL)
	if err := first(s.needDatabase(), keyErr, urlErr, s.needTemporal(), tlsErr, mailErr, s.codec.check(), s.worker.check()); err != nil {
		return nil, err
	}
	options := wiring.Options{WebhookLoopback: s.webhookLoopback, Temporal: temporal, TemporalUI: s.temporalUI, Mail: mailer, Version: version, Worker: s.worker.options, OnlyWorks: s.role == "worker", ServeOn: serveOn}
	s.dataOptions(&options)
	c, err := wiring.Open(ctx, wiring.Settings{Log: s.logger(os.Stdout), DatabaseURL: s.databaseURL, MaxConns: s.connections, DirectURL: s.directURL, StandbyURL: s.standbyURL, StandbyMaxAge: s.standbyAge, BaseURL: baseURL, Keys: ring, RootKey: s.rootKeyName(), Actor: "service", Signers: s.signers, Tracing: traces, Providers: s.providerPolicy(), Destinations: s.destinationPolicy()})
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if err := refuseUnsafe(ctx, c, s.webhookLoopback); err != nil {
		c.Close()
		return nil, err
	}
	p, err := wiring.New(c, options)
	if err != nil {
		c.Close()
		return nil, err
	}
	return p, nil
}

// refuseUnsafe returns an error if the database has live environments and the settings are for development.
func refuseUnsafe(ctx context.Context, c *core, loopback bool) error {
	envs, err := tenancy.ListEnvironments(ctx, c.Store.Q, "")
	if err != nil {
		return err
	}
	for _, e := range envs {
		if e.Kind != models.Live {
			continue
		}
		if loopback {
			return usage("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK is on and %s is a live environment: turn it off", e.ID)
		}
		if e.RPID == "localhost" {
			return usage("the live environment %s has the RP ID localhost, made by countersign dev: use a different database", e.ID)
		}
	}
	return nil
}

func listen(env, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: free the port, or set a different one", env, err)
	}
	return l, nil
}
