package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
)

func backlogCommand() *cobra.Command {
	cmd := onDatabase("backlog", "Show what waits: in the outbox, for webhook endpoints, for reviewers, for timers", cobra.NoArgs, func(cmd *cobra.Command, c *core, _ []string) error {
		rows, err := consolequery.QueryQueues(cmd.Context(), c.Store.Q, c.Clock.Now())
		if err != nil {
			return err
		}
		return table(cmd.OutOrStdout(), "WAITS\tTOPIC\tCOUNT\tOLDEST", func(w io.Writer) error {
			for _, r := range rows {
				if r.Count > 0 && r.Kind != consolequery.QueueSigningKey {
					_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", r.Kind, cmp.Or(r.Topic, "-"), r.Count, r.Oldest.Round(time.Second))
				}
			}
			return nil
		})
	})
	cmd.Long = cmd.Short + ".\nAn empty list is the usual state: work that follows a commit takes milliseconds. countersign doctor says what is late and why."
	return cmd
}
