package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/columns"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// core is the part of the service that commands at a terminal use.
type core = wiring.Core

// openCLI opens the core without a log. It returns an error unless the database has this binary's schema and was sealed with the
// configured master keys. The caller closes the core.
func openCLI(ctx context.Context, s *settings) (*core, error) {
	c, err := connectCLI(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// bindCore adds the flags of a command that opens the core, and more settings.
func bindCore(cmd *cobra.Command, s *settings, more ...setting) {
	cmd.Flags().StringVar(&s.dir, "dir", localDir, "folder of make run, whose database is used if COUNTERSIGN_DATABASE_URL is not set")
	s.command = cmd
	bind(cmd, append([]setting{s.database(), s.direct(), s.master(), s.root(), s.signing(), s.public()}, more...)...)
}

// connectCLI is openCLI without the check of schema and master keys.
func connectCLI(ctx context.Context, s *settings) (*core, error) {
	if err := s.useLocal(); err != nil {
		return nil, err
	}
	if err := s.needDatabase(); err != nil {
		return nil, err
	}
	ring, err := s.keyring(ctx)
	if err != nil {
		return nil, err
	}
	baseURL := s.baseURL
	if baseURL != "" {
		if baseURL, err = s.publicURL(); err != nil {
			return nil, err
		}
	}
	return wiring.Open(ctx, wiring.Settings{
		Log: slog.New(slog.DiscardHandler), DatabaseURL: s.databaseURL, DirectURL: s.directURL, BaseURL: baseURL, Keys: ring, RootKey: s.rootKeyName(), Actor: actor(s.command),
		Signers: s.signers, MaxConns: 4, Providers: s.providerPolicy(), Destinations: s.destinationPolicy(),
	})
}

func onDatabase(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, c *core, args []string) error) *cobra.Command {
	var s settings
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		c, err := openCLI(cmd.Context(), &s)
		if err != nil {
			return err
		}
		defer c.Close()
		return run(cmd, c, args)
	}}
	bindCore(cmd, &s)
	return cmd
}

func onEnvironment(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error) *cobra.Command {
	var s settings
	var environment string
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		c, err := openCLI(cmd.Context(), &s)
		if err != nil {
			return err
		}
		defer c.Close()
		scope, err := environmentOf(cmd, c, "", environment)
		if err != nil {
			return err
		}
		return withFields(run(cmd, c, scope, args))
	}}
	cmd.Flags().StringVar(&environment, "environment", "", environmentHelp)
	bindCore(cmd, &s)
	return cmd
}

// withFields returns the messages of the fields for a validation problem, whose own sentence names no field.
func withFields(err error) error {
	p := problem.As(err)
	if p == nil || len(p.Fields) == 0 {
		return err
	}
	messages := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		messages[i] = f.Msg
	}
	return usage("%s", strings.Join(messages, " "))
}

// environmentHelp describes --environment.
const environmentHelp = "the environment: its id (env_...), sandbox or live, or TENANT/sandbox or TENANT/live with the name or the id of a tenant; not needed if there is one"

// actor is the name of the command in the audit log.
func actor(cmd *cobra.Command) string { return "cli:" + cmd.CommandPath()[len("countersign "):] }

// table prints aligned columns.
func table(out io.Writer, header string, rows func(io.Writer) error) error {
	w := columns.New(out)
	_, _ = fmt.Fprintln(w, header)
	if err := rows(w); err != nil {
		return err
	}
	return w.Flush()
}

// output has write write to the file that --out names, which must be new and only its owner can read, or to standard output without a name.
func output(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(cmd.OutOrStdout())
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- the operator's file
	if err != nil {
		return usage("--out: %v", err)
	}
	return errors.Join(write(file), file.Close())
}
