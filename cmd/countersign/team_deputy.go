package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func teamDeputyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "deputy", Short: "Name who may approve in place of an absent reviewer", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(deputyNameCommand(), deputyListCommand(), deputyWithdrawCommand())
	return cmd
}

func deputyNameCommand() *cobra.Command {
	var a team.Absence
	var from, until string
	cmd := onEnvironment("name", "Name a deputy for a period of at most 90 days; prints the id of the deputyship", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			begin, err := timeFlag("from", from)
			if err != nil {
				return err
			}
			end, err := timeFlag("until", until)
			if err != nil {
				return err
			}
			if end == nil {
				return usage("--until is not set: give the end of the absence, an RFC 3339 time such as 2026-03-01T00:00:00Z")
			}
			a.StartsAt, a.EndsAt = c.Clock.Now(), *end
			if begin != nil {
				a.StartsAt = *begin
			}
			made, err := c.Teams.NameDeputy(cmd.Context(), scope, team.By{Actor: actor(cmd)}, a)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  from %s  until %s\n", made.ID, apitime.Time(made.StartsAt), apitime.Time(made.EndsAt))
			return err
		})
	cmd.Flags().StringVar(&a.Person, "absent", "", "id of the reviewer who is absent (prs_...)")
	cmd.Flags().StringVar(&a.Deputy, "deputy", "", "id of the reviewer who stands in (prs_...)")
	cmd.Flags().StringVar(&from, "from", "", "RFC 3339 time at which the absence begins; now if it is not set")
	cmd.Flags().StringVar(&until, "until", "", "RFC 3339 time at which the absence ends")
	return cmd
}

func deputyListCommand() *cobra.Command {
	return onEnvironment("list", "List the deputies of the environment, now and later", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			rows, err := c.Teams.Deputies(cmd.Context(), scope)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), "DEPUTYSHIP\tABSENT\tDEPUTY\tFROM\tUNTIL", func(w io.Writer) error {
				for _, d := range rows {
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, d.PersonID, d.DeputyID, apitime.Time(d.StartsAt), apitime.Time(d.EndsAt))
				}
				return nil
			})
		})
}

func deputyWithdrawCommand() *cobra.Command {
	return onEnvironment("withdraw DEPUTYSHIP", "End a deputyship now; what the deputy approved before still counts", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error {
			rows, err := c.Teams.Deputies(cmd.Context(), scope)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(rows, func(d models.Deputy) bool { return d.ID == args[0] })
			if at < 0 {
				return problem.Newf(problem.NotFound, "The environment has no deputyship %q, or it has ended. countersign team deputy list shows the others.", args[0])
			}
			return c.Teams.WithdrawDeputy(cmd.Context(), scope, team.By{Actor: actor(cmd)}, rows[at].PersonID, args[0])
		})
}
