package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

func migrateCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this binary's version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.needDatabase(); err != nil {
				return err
			}
			st, err := store.Open(cmd.Context(), s.databaseURL, store.Options{MaxConns: 4})
			if err != nil {
				return err
			}
			defer st.Close()
			before, after, err := st.Migrate(cmd.Context())
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
	bind(cmd, s.database())
	return cmd
}
