package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
)

func tenantResearchCommand() *cobra.Command {
	var on, off, remove bool
	cmd := onEnvironment("research", "Let an environment's vectors be kept for learning, or no longer", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			if on == off || on && remove {
				return usage("want --on, --off, or --off --remove")
			}
			removed, err := research.New(c.Store, c.Keys, false).SetEnabled(cmd.Context(), env, on, remove, c.Clock.Now(), actor(cmd))
			if err != nil {
				return err
			}
			state := map[bool]string{true: "on", false: "off"}[on]
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "research is %s for %s; %d vectors removed\n", state, env.Environment, removed)
			return err
		})
	cmd.Flags().BoolVar(&on, "on", false, "switch it on; COUNTERSIGN_RESEARCH must be on too, and page and subject must agree")
	cmd.Flags().BoolVar(&off, "off", false, "switch it off; what was kept stays for its retention")
	cmd.Flags().BoolVar(&remove, "remove", false, "with --off: remove what was kept")
	return cmd
}
