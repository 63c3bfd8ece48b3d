package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/lab/accuracy"
)

func accuracyCommand() *cobra.Command {
	o := accuracy.Options{}
	cmd := &cobra.Command{
		Use:   "accuracy",
		Short: "Measure the scorer on recorded people and attacks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bar := progressBar(cmd)
			o.Log = func(line string) { _, _ = fmt.Fprintln(bar, "-", line) }
			o.Progress = func(step string, done, total int) { bar.Show(step, int64(done), int64(total)) }
			report, err := accuracy.Run(cmd.Context(), o)
			bar.Close()
			if len(report.Figures) == 0 {
				return err
			}
			// A set that cannot be read does not take the others with it; the command fails all the same.
			_, printed := fmt.Fprint(cmd.OutOrStdout(), report.Markdown())
			return errors.Join(err, printed)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "recordings", "`folder` searched for recordings")
	f.StringVar(&o.Protocol, "protocol", "all", "protocols, separated by commas, or all that fit the recordings")
	f.StringVar(&o.Out, "out", "", "`folder` for accuracy.md, accuracy.json and the curves; empty writes none")
	f.StringVar(&o.Background, "background", accuracy.BackgroundAuto, "where the model of other people comes from: auto, embedded or split")
	f.IntSliceVar(&o.OwnPeople, "own-people", nil, "play a deployment in which `N` people enroll, and test others; several numbers give a learning curve, 0 is the stated prior alone")
	f.IntVar(&o.MaxPeople, "max-people", 0, "most people tested as targets; 0 is 400")
	f.IntVar(&o.Bootstrap, "bootstrap", 0, "resamples of the error bars; 0 is 200")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of every random choice")
	return cmd
}
