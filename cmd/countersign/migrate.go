package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func migrateCommand() *cobra.Command {
	var s settings
	var distribute bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this binary's version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.needDatabase(); err != nil {
				return err
			}
			st, err := pg.Open(cmd.Context(), s.databaseURL, pg.Options{MaxConns: 4, DirectURL: s.directURL})
			if err != nil {
				return err
			}
			defer st.Close()
			if distribute {
				return distributeTables(cmd, st)
			}
			return migrateSchema(cmd, st)
		},
	}
	cmd.Flags().BoolVar(&distribute, "distribute", false, "on a server with the extension citus: place each table on the server of its environment, or on every server")
	bind(cmd, s.database(), s.direct())
	return cmd
}

func migrateSchema(cmd *cobra.Command, st *pg.Store) error {
	bar := progressBar(cmd)
	before, after, err := st.MigrateShowing(cmd.Context(), func(done, total int) { bar.Show("migrations", int64(done), int64(total)) })
	bar.Close()
	if err != nil {
		return err
	}
	if before == after {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema is at version %d already\n", after)
	} else {
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
