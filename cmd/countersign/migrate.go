package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
)

func migrateCommand() *cobra.Command {
	var s settings
	var distribute, finish bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this binary's version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.needDatabase(); err != nil {
				return err
			}
			st, err := s.openToMigrate(cmd.Context(), finish)
			if err != nil {
				return err
			}
			defer st.Close()
			if finish {
				return finishUpgrade(cmd, st)
			}
			if distribute {
				return distributeTables(cmd, st)
			}
			return migrateSchema(cmd, st)
		},
	}
	cmd.Flags().BoolVar(&distribute, "distribute", false, "on a server with the extension citus: place each table on the server of its environment, or on every server")
	cmd.Flags().BoolVar(&finish, "finish", false, "after the upgrade from version 1.0, once no process of it is connected: sign its rows and refuse those without a MAC from now on")
	bind(cmd, s.database(), s.direct(), s.master(), s.root())
	return cmd
}

// openToMigrate opens the database, with the master keys if its rows are of version 1.0, which have no MAC.
func (s *settings) openToMigrate(ctx context.Context, finish bool) (*pg.Store, error) {
	o := pg.Options{MaxConns: 4, DirectURL: s.directURL}
	st, err := pg.Open(ctx, s.databaseURL, o)
	if err != nil {
		return nil, err
	}
	if bridged, err := st.NeedsBridge(ctx); err != nil || !bridged && !finish {
		return st, err
	}
	st.Close()
	if o.Keys, err = s.keyring(ctx); err != nil {
		return nil, fmt.Errorf("the upgrade from version 1.0 needs the master keys, which sign its rows: %w", err)
	}
	return pg.Open(ctx, s.databaseURL, o)
}

func migrateSchema(cmd *cobra.Command, st *pg.Store) error {
	bar := progressBar(cmd)
	before, after, err := st.MigrateShowing(cmd.Context(), func(done, total int) { bar.Show("migrations", int64(done), int64(total)) })
	bar.Close()
	if err != nil {
		return err
	}
	have, want, err := st.SchemaVersions(cmd.Context())
	switch {
	case err != nil:
	case have > want:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema is at version %d, of a newer build; this one serves on it and has changed nothing\n", have)
	case before == after:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema is at version %d already\n", after)
	default:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema went from version %d to %d\n", before, after)
	}
	return err
}

func distributeTables(cmd *cobra.Command, st *pg.Store) error {
	bar := progressBar(cmd)
	placed, err := st.Distribute(cmd.Context(), func(done, total int) { bar.Show("tables", int64(done), int64(total)) })
	bar.Close()
	if err != nil {
		return err
	}
	if placed == 0 {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "every table is placed already")
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d tables were placed\n", placed)
	}
	return err
}

// finishUpgrade gives the rows of version 1.0 their MACs and ends the time in which they are believed without one.
func finishUpgrade(cmd *cobra.Command, st *pg.Store) error {
	ctx := cmd.Context()
	if open, err := st.BridgeIsOpen(ctx); err != nil || !open {
		return cmp.Or(err, usage("no upgrade from version 1.0 is to be finished: rows without a MAC are refused already"))
	}
	earlier, err := st.EarlierConnections(ctx)
	if err != nil {
		return err
	}
	if earlier > 0 {
		return usage("processes of version 1.0 have %d connections: stop them, then repeat", earlier)
	}
	all, err := tenancy.AllEnvironments(ctx, st.Q)
	if err != nil {
		return err
	}
	differs := 0
	for _, e := range all {
		found, err := audit.Verify(ctx, st, e, nil)
		if err != nil {
			return err
		}
		for _, f := range found.Findings {
			differs++
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s %s: %s\n", e.Environment, f.Kind, f.Target, f.Field, f.Detail)
		}
	}
	if differs > 0 {
		return fmt.Errorf("%d findings: stored rows are not what the audit log says. Nothing was signed. Repair the rows, then repeat", differs)
	}
	var signed int
	if err := st.Write(ctx, func(q *pg.Q) (err error) {
		if err = subject.NameRecoveries(ctx, q); err != nil {
			return err
		}
		if signed, err = pg.FinishBridge(ctx, q); err != nil {
			return err
		}
		for _, e := range all {
			err = cmp.Or(err, events.Append(ctx, q, events.Entry{Scope: e, At: clock.System().Now(), Actor: actor(cmd), Data: events.EnvironmentUpgradedData{From: "1.0"}}))
		}
		return err
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "the upgrade from version 1.0 is finished: %d rows were signed\n", signed)
	return err
}
