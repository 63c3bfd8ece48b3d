// Command countersign-gate decides requests in front of applications that know nothing of Countersign: as a reverse proxy, or asked by
// nginx, Caddy, Traefik, HAProxy or Envoy.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/server"
)

// version is set by the linker.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := root().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "countersign-gate: %v\n", err)
	var faults *config.Faults
	if errors.As(err, &faults) {
		os.Exit(2)
	}
	os.Exit(1)
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use: "countersign-gate", Short: "Let requests through only with a consumed proof of Countersign", Version: version,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(serveCommand(), checkCommand(), schemaCommand(), mcpCommand())
	return cmd
}

const defaultFile = "/etc/countersign-gate/gate.yaml"

func serveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the configuration; SIGHUP loads it again", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), file) },
	}
	cmd.Flags().StringVar(&file, "config", defaultFile, "the configuration")
	return cmd
}

func serve(ctx context.Context, file string) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	s, err := server.Start(ctx, file, version, log)
	if err != nil {
		return err
	}
	defer s.Stop(ctx)
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	log.Info("serving", "version", version)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.Failed():
			return err
		case <-reload:
			if err := s.Reload(); err != nil {
				log.Error("the configuration was not reloaded, the previous one stays in force", "error", err.Error())
				continue
			}
			log.Info("the configuration was reloaded")
		}
	}
}

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check", Short: "Report every fault of the configuration with its line", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file)
			if err != nil {
				return err
			}
			for _, name := range c.Shadows() {
				cmd.Printf("%s: the route %s lets every request through: shadow is true\n", file, name)
			}
			cmd.Printf("%s: %d routes\n", file, len(c.Routes))
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "config", defaultFile, "the configuration")
	return cmd
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema)
			return err
		},
	}
}
