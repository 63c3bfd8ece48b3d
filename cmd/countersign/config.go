package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/delivery/configfile"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Export an environment's configuration to a file, compare it with a file, and apply a file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(configExportCommand(), configDiffCommand(), configApplyCommand())
	return cmd
}

func configExportCommand() *cobra.Command {
	var r remote
	var out string
	cmd := &cobra.Command{
		Use: "export", Args: cobra.NoArgs, Short: "Write an environment's actions, policies, settings, webhook endpoints and destinations as YAML",
		Example: "  countersign config export --out countersign.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := r.client(cmd.Context())
			if err != nil {
				return err
			}
			state, err := configfile.Read(cmd.Context(), api)
			if err != nil {
				return err
			}
			for _, note := range state.Notes {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), note)
			}
			if out != "" {
				return state.Document.Save(out)
			}
			doc, had := state.Document.WithoutLogo()
			if had {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "environment.brand.logo is left out: --out writes it to a file of its own")
			}
			text, err := doc.YAML()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write, with the logo beside it; standard output if not given")
	r.bind(cmd, adminKey)
	return cmd
}

// comparison is a file that is compared with an environment.
type comparison struct {
	remote
	prune, simulate bool
}

func (c *comparison) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.prune, "prune", false, "remove what the file does not have: archive actions, delete webhook endpoints and destinations")
	cmd.Flags().BoolVar(&c.simulate, "simulate", true, "decide the newest 1,000 decisions again under each policy that would change; stores it as a draft, which decides nothing")
	c.bind(cmd, adminKey)
}

// plan compares. A file that cannot be used is a usage error.
func (c *comparison) plan(cmd *cobra.Command, path string) (*configfile.Plan, error) {
	doc, err := configfile.Load(path)
	if err != nil {
		return nil, usage("%s: %v", path, err)
	}
	api, err := c.client(cmd.Context())
	if err != nil {
		return nil, err
	}
	return configfile.Compare(cmd.Context(), api, doc, c.prune)
}

func configDiffCommand() *cobra.Command {
	var c comparison
	cmd := &cobra.Command{
		Use: "diff FILE", SuggestFor: []string{"plan"}, Args: cobra.ExactArgs(1), Short: "Print what applying a file would change",
		Example: "  countersign config diff countersign.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := c.plan(cmd, args[0])
			if err == nil {
				err = plan.Print(cmd.Context(), cmd.OutOrStdout(), c.simulate)
			}
			if err != nil {
				return usage("%v", err) // exit code 2, as diff has for trouble
			}
			if len(plan.Changes) > 0 {
				return fmt.Errorf("the environment differs from %s", args[0])
			}
			return nil
		},
	}
	c.flags(cmd)
	cmd.Long = cmd.Long + "\n\nExit codes: 0 no difference, 1 a difference, 2 the comparison failed."
	return cmd
}

func configApplyCommand() *cobra.Command {
	var c comparison
	var dryRun bool
	var secrets, reason string
	cmd := &cobra.Command{
		Use: "apply FILE", Args: cobra.ExactArgs(1), Short: "Change an environment to match a file",
		Example: "  countersign config apply countersign.yaml --dry-run\n  countersign config apply countersign.yaml --secrets webhook-secrets.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := c.plan(cmd, args[0])
			if err != nil {
				return err
			}
			if err := plan.Print(cmd.Context(), cmd.OutOrStdout(), c.simulate && dryRun); err != nil || dryRun {
				return err
			}
			plan.Reason = reason
			if len(plan.Changes) == 0 {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "nothing to change")
				return nil
			}
			return applyPlan(cmd, plan, secrets)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the differences and the simulations, and change nothing")
	cmd.Flags().StringVar(&secrets, "secrets", "", "file that the signing secrets of new webhook endpoints are appended to; needed if there are any")
	cmd.Flags().StringVar(&reason, "reason", "", "why: kept with new policy versions, and shown to the second approver")
	c.flags(cmd)
	return cmd
}

// applyPlan makes the changes. Changes that wait for a second approver are reported and are no failure.
func applyPlan(cmd *cobra.Command, plan *configfile.Plan, secrets string) error {
	into := io.Discard
	if plan.CreatesEndpoints() {
		if secrets == "" {
			return usage("the file has new webhook endpoints: give --secrets FILE, to which their signing secrets are written; they are shown only once")
		}
		file, err := os.OpenFile(secrets, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- the operator's file
		if err != nil {
			return usage("--secrets: %v", err)
		}
		defer func() { _ = file.Close() }()
		into = file
	}
	err := plan.Apply(cmd.Context(), cmd.OutOrStdout(), into)
	if errors.Is(err, configfile.ErrWaits) {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), err)
		return nil
	}
	return err
}
