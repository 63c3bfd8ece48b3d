package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/delivery/siem"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func eventsExportCommand() *cobra.Command {
	var format, since, position string
	var follow bool
	cmd := onEnvironment("export", "Write an environment's sealed log for a SIEM, as JSON Lines in order, from a stored position on", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			if format != siem.FormatOCSF && format != siem.FormatOTLP {
				return usage("--format is %q: want ocsf or otlp", format)
			}
			x := siem.Export{Source: siem.Source{Tenant: env.Tenant, Environment: env.Environment, Version: version}, Store: c.Store, Format: format, Follow: follow, Out: cmd.OutOrStdout()}
			var err error
			if x.Since, err = timeFlag("since", since); err != nil {
				return err
			}
			if position != "" {
				if x.After, err = readPosition(position, env.Environment); err != nil {
					return err
				}
				x.Written = func(number int64) error { return writePosition(position, env.Environment, number) }
			}
			n, err := x.Run(cmd.Context())
			if err != nil || n == 0 {
				return err
			}
			// The command may have been ended by a signal.
			return events.Append(context.WithoutCancel(cmd.Context()), c.Store.Q, events.Entry{Scope: env, At: c.Clock.Now(),
				Actor: actor(cmd), Data: events.AuditExportedData{Entries: n}})
		})
	cmd.Flags().StringVar(&format, "format", siem.FormatOCSF, "ocsf (OCSF 1.8.0) or otlp (OTLP logs in JSON, as the file receiver of a collector reads them)")
	cmd.Flags().StringVar(&since, "since", "", "pass over entries from before this RFC 3339 time")
	cmd.Flags().BoolVar(&follow, "follow", false, "wait for further entries until the command is ended")
	cmd.Flags().StringVar(&position, "position", "", "file with the number of the last entry that was written, which is read at the start and replaced after each batch")
	return cmd
}

// readPosition returns the number of the last entry that was written; 0 if the file does not exist.
func readPosition(file, environment string) (int64, error) {
	raw, err := os.ReadFile(file) // #nosec G304 -- the operator's file
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	of, text, ok := strings.Cut(strings.TrimSpace(string(raw)), " ")
	number, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || number < 0 || of != environment {
		return 0, usage("--position names %s, which is no position of this environment: name another file, or delete it to begin anew", file)
	}
	return number, nil
}

// writePosition replaces the file at once, so that an interruption leaves the one of before.
func writePosition(file, environment string, number int64) error {
	next, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(next, "%s %d\n", environment, number)
	err = errors.Join(err, next.Close())
	if err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}
