package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/models"
)

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
				return p.StartAPI(ctx, failed, l)
			})
		},
	}
	bind(cmd, s.table(":8080")...)
	return cmd
}

func workerCommand() *cobra.Command {
	s := settings{role: "worker"}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run workflows and activities, and relay the outbox",
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

// table is what serve and worker may be told. Only serve listens.
func (s *settings) table(listen string) []setting {
	table := []setting{s.database(), s.master(), s.public(), s.webhooks()}
	table = append(append(table, s.addresses(listen)...), s.keeping()...)
	if listen != "" {
		table = append(table, s.streams(), s.ui())
	}
	return append(append(append(table, s.temporal()...), s.logging()...), s.traces()...)
}

// run is what serve and worker have in common: connect, check, start, wait, stop in order.
func (s *settings) run(ctx context.Context, start func(ctx context.Context, p *wiring.Process, failed chan error) (stop func(), err error)) error {
	collectLess()
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
	failed := make(chan error, 4)
	l, err := listen("COUNTERSIGN_OPS_LISTEN", s.opsListen)
	if err != nil {
		return err
	}
	if on, err := truth("COUNTERSIGN_PROFILING", s.profiling); err != nil {
		return err
	} else if on {
		p.Ops.Profile()
	}
	stop, err := start(ctx, p, failed)
	if err != nil {
		return err
	}
	// Only now: who is told that this process is ready sends requests at once.
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

// process checks every setting before anything is touched.
func (s *settings) process(ctx context.Context, traces trace.TracerProvider) (*wiring.Process, error) {
	baseURL, urlErr := s.publicURL()
	keys, keyErr := s.keyring()
	temporal, tlsErr := s.temporalOptions()
	log, logErr := s.logger(os.Stdout)
	loopback, loopErr := truth("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", s.webhookLoopback)
	options := wiring.Options{WebhookLoopback: loopback, Temporal: temporal, TemporalUI: s.temporalUI, Version: version, OnlyWorks: s.role == "worker"}
	if err := first(s.needDatabase(), keyErr, urlErr, s.needTemporal(), tlsErr, logErr, loopErr, s.dataOptions(&options)); err != nil {
		return nil, err
	}
	c, err := wiring.Open(ctx, wiring.Settings{Log: log, DatabaseURL: s.databaseURL, BaseURL: baseURL, Keys: keys, Tracing: traces})
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if err := refuseUnsafe(ctx, c, loopback); err != nil {
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

// refuseUnsafe keeps development settings from live environments.
func refuseUnsafe(ctx context.Context, c *core, loopback bool) error {
	envs, err := c.Store.Environments().List(ctx, "")
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
			return usage("the live environment %s has the RP ID localhost, made by countersign dev: serve another database", e.ID)
		}
	}
	return nil
}

func listen(env, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: free the port, or set another", env, err)
	}
	return l, nil
}
