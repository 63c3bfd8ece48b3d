package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func tenantCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tenant", Short: "Make, list and delete tenants, and change settings of their environments", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(tenantCreateCommand(), tenantListCommand(), tenantResearchCommand(), tenantPagesCommand(), tenantQuotaCommand(), tenantReviewsCommand(),
		tenantApprovalsCommand(), tenantSettingsCommand(), tenantBrandCommand(), tenantBackgroundCommand(), tenantDeleteCommand(), tenantRestoreCommand(), tenantRPIDsCommand(), tenantOIDCCommand(), tenantSCIMCommand(), tenantSignalsCommand(), tenantDestinationsCommand())
	return cmd
}

func tenantCreateCommand() *cobra.Command {
	var s settings
	spec := tenancy.Spec{}
	var barSelfReview bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a tenant with a sandbox and a live environment, and print an admin key for each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := chooseBackground(spec.Background); err != nil {
				return err
			}
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			spec.AllowSelfReview = !barSelfReview
			made, err := c.Tenancy.Create(cmd.Context(), spec, actor(cmd))
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "tenant %s\n", made.Tenant.ID)
			for _, env := range []models.Environment{made.Sandbox, made.Live} {
				if err := printAdminKey(cmd, c, env, "first", "admin key"); err != nil {
					return err
				}
			}
			if made.Live.SecondApproverRequired {
				if err := printAdminKey(cmd, c, made.Live, "second", "second admin key"); err != nil {
					return err
				}
			}
			for _, env := range []models.Environment{made.Sandbox, made.Live} {
				_, _ = fmt.Fprintf(out, "%-8s %s\n", env.Kind, selfReview(env))
			}
			_, _ = fmt.Fprintf(out, "%-8s %s\n", made.Live.Kind, secondApprover(made.Live))
			_, _ = fmt.Fprintf(out, "%-8s %s\n", made.Live.Kind, backgroundOf(made.Live))
			return nil
		},
	}
	cmd.Flags().StringVar(&spec.Name, "name", "", "the tenant's name, shown to people who complete challenges")
	cmd.Flags().StringVar(&spec.RPID, "rp-id", "", "WebAuthn relying party id, a host name such as bank.example")
	cmd.Flags().StringSliceVar(&spec.Origins, "origin", nil, "origin that passkeys are used from, such as https://bank.example; repeatable")
	cmd.Flags().BoolVar(&spec.RequireEnrollmentGrant, "require-enrollment-grant", false,
		"in live, take enrollment frames only from client tokens that name the purpose enroll")
	cmd.Flags().BoolVar(&barSelfReview, "bar-self-review", true, "in live, require a reviewer other than the requester for every hold")
	cmd.Flags().BoolVar(&spec.RequireSecondApprover, "second-approver", false,
		"in live, make policy activations, changes of an action's mode and changes of settings wait for a second person or key (recommended); prints a second admin key")
	cmd.Flags().StringVar((*string)(&spec.Background), "background", "",
		"whether live learns from the people who enroll: own, shared (with the other environments that share) or prior (nothing is learned); required, because it is a question of law")
	bindCore(cmd, &s)
	return cmd
}

func printAdminKey(cmd *cobra.Command, c *core, env models.Environment, name, label string) error {
	scope := pg.Scope{Tenant: env.TenantID, Environment: env.ID}
	issued, err := c.Identity.Issue(cmd.Context(), scope, identity.Issue{Scope: models.ScopeAdmin, Name: name}, actor(cmd), "")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s  %s, shown this once: %s\n", env.Kind, env.ID, label, issued.Key)
	return nil
}

func tenantListCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tenants and their environments, and tenants that were deleted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			tenants, err := tenancy.ListTenants(cmd.Context(), c.Store.Q)
			if err != nil {
				return err
			}
			deleted, err := tenancy.ListDeleted(cmd.Context(), c.Store.Q)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), "TENANT\tNAME\tSANDBOX\tLIVE\tCREATED", func(w io.Writer) error {
				for _, t := range tenants {
					ids, err := environmentIDs(cmd, c, t.ID)
					if err != nil {
						return err
					}
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, ids[models.Sandbox], ids[models.Live], apitime.Time(t.CreatedAt))
				}
				for _, t := range deleted {
					_, _ = fmt.Fprintf(w, "%s\tdeleted %s by %s\t\t\t\n", t.ID, apitime.Time(t.DeletedAt), t.DeletedBy)
				}
				return nil
			})
		},
	}
	bindCore(cmd, &s)
	return cmd
}

func environmentIDs(cmd *cobra.Command, c *core, tenant string) (map[models.EnvironmentKind]string, error) {
	envs, err := tenancy.ListEnvironments(cmd.Context(), c.Store.Q, tenant)
	ids := map[models.EnvironmentKind]string{}
	for _, e := range envs {
		ids[e.Kind] = e.ID
	}
	return ids, err
}
