package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func tenantRestoreCommand() *cobra.Command {
	var from string
	cmd := onDatabase("restore TENANT", "Copy a tenant that was deleted, with everything in it, from a database that was restored from a backup", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, args []string) error {
			if from == "" {
				return usage("--from is not set: give the URL of the restored database")
			}
			old, err := pg.Open(cmd.Context(), from, pg.Options{MaxConns: 1})
			if err != nil {
				return err
			}
			defer old.Close()
			done, err := c.Tenancy.Restore(cmd.Context(), old, args[0], actor(cmd))
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "tenant %s is restored, with %d rows; compare its logs with the last heads that you exported:\n", args[0], done.Rows)
			for _, e := range done.Environments {
				_, _ = fmt.Fprintf(out, "  countersign audit verify --environment %s --head FILE   # %s\n", e.ID, e.Kind)
			}
			return nil
		})
	cmd.Example = "  PGPASSWORD=... countersign tenant restore tnt_... --from postgres://restore@scratch:5432/countersign"
	cmd.Flags().StringVar(&from, "from", "", "URL of a database that was restored from a backup of this one; a password is read from PGPASSWORD or ~/.pgpass")
	return cmd
}
