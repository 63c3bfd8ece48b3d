package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func tenantDeleteCommand() *cobra.Command {
	var name string
	cmd := onDatabase("delete TENANT", "Delete a tenant with both environments and everything in them, also the audit log", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, args []string) error {
			if name == "" {
				return usage("--confirm-name is not set: repeat the tenant's name; countersign tenant list shows it")
			}
			rows, err := c.Tenancy.Delete(cmd.Context(), args[0], name, actor(cmd))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is deleted, with %d rows\n", args[0], rows)
			return err
		})
	cmd.Example = "  countersign audit export --environment env_... >log.jsonl   # first: the log is deleted too\n" +
		"  countersign tenant delete tnt_... --confirm-name 'Example Bank'"
	cmd.Flags().StringVar(&name, "confirm-name", "", "the tenant's name, as a confirmation")
	return cmd
}
