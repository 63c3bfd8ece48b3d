package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

func migrateCommand() *cobra.Command {
	var s settings
	var contract bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this binary's version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.needDatabase(); err != nil {
				return err
			}
			st, err := store.Open(cmd.Context(), s.databaseURL, store.Options{MaxConns: 4, DirectURL: s.directURL})
			if err != nil {
				return err
			}
			defer st.Close()
			if contract {
				bar := progressBar(cmd)
				floor, err := st.Contract(cmd.Context(), func(done, total int) { bar.Show("steps", int64(done), int64(total)) })
				bar.Close()
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "binaries built for a schema before version %d do not start on this database any more\n", floor)
				}
				return err
			}
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
		},
	}
	cmd.Flags().BoolVar(&contract, "contract", false, "after an upgrade, when no older version runs any more: refuse older versions, and write nothing for their sake")
	bind(cmd, s.database(), s.direct())
	return cmd
}
