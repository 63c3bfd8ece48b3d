package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
)

func tenantRPIDsCommand() *cobra.Command {
	var s settings
	var tenant string
	var in tenancy.RPIDs
	cmd := &cobra.Command{
		Use:   "rp-ids",
		Short: "Show or change the WebAuthn RP IDs that a tenant's environments may use",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			id, err := tenantOf(cmd, c, tenant)
			if err != nil {
				return err
			}
			var has []string
			if len(in.Give)+len(in.Take) == 0 {
				has, err = tenancy.RPIDsOfTenant(cmd.Context(), c.Store.Q, id)
			} else {
				has, err = c.Tenancy.UpdateRPIDs(cmd.Context(), id, in, actor(cmd))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "environments of %s may use the RP IDs: %s\n", id, strings.Join(append(has, "localhost (sandbox)"), ", "))
			return err
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "id of the tenant (tnt_...); not needed if there is one")
	cmd.Flags().StringSliceVar(&in.Give, "give", nil, "RP ID that the tenant may use from now on, a host name such as bank.example; repeatable")
	cmd.Flags().StringSliceVar(&in.Take, "take", nil, "RP ID that no environment of the tenant uses any more; repeatable")
	bindCore(cmd, &s)
	return cmd
}
