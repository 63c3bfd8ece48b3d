package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

func tenantReviewsCommand() *cobra.Command {
	var bar bool
	cmd := onEnvironment("reviews", "Show or set whether an environment bars self-review of holds", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env store.Scope, _ []string) error {
			is, err := c.Store.Environments().Get(cmd.Context(), env)
			if err == nil && cmd.Flags().Changed("bar-self-review") {
				is, err = c.Tenancy.Change(cmd.Context(), env, tenancy.Settings{BarSelfReview: &bar}, actor(cmd), "")
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), selfReview(is))
			return err
		})
	cmd.Flags().BoolVar(&bar, "bar-self-review", false, "require a reviewer other than the requester for every hold")
	return cmd
}

// selfReview says in words how an environment stands to self-review.
func selfReview(env models.Environment) string {
	if env.BarSelfReview {
		return "self-review of holds is barred"
	}
	return "self-review of holds is allowed where a policy does not bar it; countersign tenant reviews --bar-self-review bars it for all"
}
