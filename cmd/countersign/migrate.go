package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

func migrateCommand() *cobra.Command {
	var s settings
	var contract, distribute, partition bool
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
			switch {
			case contract:
				return contractSchema(cmd, st)
			case distribute:
				return distributeTables(cmd, st)
			case partition:
				return partitionTables(cmd, st)
			}
			return migrateSchema(cmd, st)
		},
	}
	cmd.Flags().BoolVar(&contract, "contract", false,
		"after an upgrade, when no older version runs any more: refuse older versions, and write nothing for their sake")
	cmd.Flags().BoolVar(&distribute, "distribute", false, "on a server with the extension citus: place each table on the server of its environment, or on every server")
	cmd.Flags().BoolVar(&partition, "partition", false,
		"after --contract, while requests are served: divide the tables of frames, details, kept values and attempts of deliveries by time")
	cmd.MarkFlagsMutuallyExclusive("contract", "distribute", "partition")
	bind(cmd, s.database(), s.direct())
	return cmd
}

func migrateSchema(cmd *cobra.Command, st *store.Store) error {
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

func contractSchema(cmd *cobra.Command, st *store.Store) error {
	bar := progressBar(cmd)
	floor, err := st.Contract(cmd.Context(), func(done, total int) { bar.Show("steps", int64(done), int64(total)) })
	bar.Close()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "binaries built for a schema before version %d do not start on this database any more\n", floor)
	return err
}

func distributeTables(cmd *cobra.Command, st *store.Store) error {
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

func partitionTables(cmd *cobra.Command, st *store.Store) error {
	now, err := st.Time(cmd.Context())
	if err != nil {
		return err
	}
	bar := progressBar(cmd)
	made, err := st.Partition(cmd.Context(), now, func(done, total int) { bar.Show("steps", int64(done), int64(total)) })
	bar.Close()
	if err != nil {
		return err
	}
	if made == 0 {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "every table is divided already")
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d tables were divided by time\n", made)
	}
	return err
}
