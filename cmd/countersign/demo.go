package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/demo"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

func demoCommand() *cobra.Command {
	var o devOptions
	var data string
	var people int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Demonstrate enrollment, decisions, a challenge, holds and a proof on recorded people over the HTTP API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if people < 2 || people > 20 {
				return usage("--people must be between 2 and 20")
			}
			shown, err := demo.Load(data, people)
			if err != nil {
				return err
			}
			return runDemo(cmd.Context(), o, shown, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	devFlags(cmd, &o)
	cmd.Flags().StringVar(&data, "data", "recordings", "`folder` searched for recorded typing; without recordings people are simulated")
	cmd.Flags().IntVar(&people, "people", 5, "number of people")
	bind(cmd, append(o.logging(), o.database(), o.ownTemporal())...)
	cmd.AddCommand(demoSessionCommand())
	return cmd
}

// runDemo uses the service that runs on the folder, or starts one for the demonstration.
func runDemo(ctx context.Context, o devOptions, people demo.People, out, shown io.Writer) error {
	show := func(ctx context.Context, s dev.State) error {
		keys := s.Environments.Sandbox
		return demo.Run(ctx, demo.Options{
			BaseURL: s.BaseURL, Key: keys.ServerKey, AdminKey: keys.AdminKey, ApproverKey: keys.ApproverKey, People: people, Now: clock.System().Now, Out: out,
		})
	}
	state, err := dev.ReadState(o.dir)
	if err != nil {
		return err
	}
	if state.BaseURL != "" && probe(ctx, state.BaseURL+"/api/v1/credential", state.Environments.Sandbox.ServerKey) == nil {
		bar := progress.New(shown, o.quiet)
		err := awaitEngine(ctx, state, func(step string) { bar.Show(step, 0, 0) })
		bar.Close()
		if err != nil {
			return err
		}
		return show(ctx, state)
	}
	return runDev(ctx, o, shown, func(ctx context.Context, s dev.State) error {
		if err := awaitEngine(ctx, s, func(string) {}); err != nil { // the machine shows the progress
			return err
		}
		return show(ctx, s)
	})
}
