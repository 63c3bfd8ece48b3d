package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func masterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "master", Short: "List and retire the master keys that sealed the database", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(masterListCommand(), masterRetireCommand())
	return cmd
}

func masterListCommand() *cobra.Command {
	return onDatabase("list", "List the master keys that sealed the database, by the ids that are in what they sealed", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, _ []string) error {
			rows, err := masterkey.ListKeys(cmd.Context(), c.Store.Q)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), "MASTER KEY\tSTATE\tRECORDED\tRETIRED", func(w io.Writer) error {
				for _, r := range rows {
					state := "opens"
					switch {
					case r.RetiredAt != nil:
						state = "retired"
					case r.ID == c.Keys.ActiveID():
						state = "seals"
					}
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, state, apitime.Time(r.RecordedAt), timeOrDash(r.RetiredAt))
				}
				return nil
			})
		})
}

// masterRetireCommand works without the key that it retires, and so does not go through openCLI's comparison.
func masterRetireCommand() *cobra.Command {
	var s settings
	var lost bool
	cmd := &cobra.Command{
		Use:   "retire ID",
		Short: "Retire an unused master key; processes then start without it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connectCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.Store.CheckSchema(cmd.Context()); err != nil {
				return err
			}
			if err := c.RecordRootKey(cmd.Context()); err != nil {
				return err
			}
			err = masterkey.Retire(cmd.Context(), masterkey.Retirement{
				Store: c.Store, Keys: c.Keys, ID: args[0], Lost: lost, Now: c.Clock.Now(),
				Reseal: func(ctx context.Context, q *pg.Q) error { return lists.Reseal(ctx, q, lists.NewVault(c.Keys)) },
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the master key %s is retired: take it out of COUNTERSIGN_MASTER_KEY\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&lost, "lost", false, "retire the key although something is still sealed by it, which no one can open from then on")
	bindCore(cmd, &s)
	return cmd
}
