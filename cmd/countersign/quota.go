package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

func tenantQuotaCommand() *cobra.Command {
	var ceiling int
	cmd := onEnvironment("quota", "Show or set how many requests an hour an environment's admins may give a key", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope store.Scope, _ []string) error {
			env, err := c.Store.Environments().Get(cmd.Context(), scope)
			if err == nil && cmd.Flags().Changed("ceiling") {
				if ceiling < 0 {
					return usage("--ceiling is %d: it must not be negative", ceiling)
				}
				set := &ceiling
				if ceiling == 0 {
					set = nil
				}
				env, err = c.Tenancy.SetRateLimitCeiling(cmd.Context(), scope, set, actor(cmd))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "admins may give a key at most %d requests an hour\n", identity.Ceiling(env))
			return err
		})
	cmd.Flags().IntVar(&ceiling, "ceiling", 0, "the most requests an hour that an admin may give a key; 0 is the default of the environment's kind")
	return cmd
}
