package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/workflows"
	"github.com/countersign-dev/countersign/workflows/rollout"
)

// rolloutWithin bounds a command. Temporal repeats what fails within seconds.
const rolloutWithin = 3 * time.Minute

func rolloutCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "Move workflow runs between builds of the worker (COUNTERSIGN_WORKER_DEPLOYMENT)"}
	cmd.AddCommand(
		onRollout("status", "List the builds, and which receive tasks", cobra.NoArgs, func(context.Context, *rollout.Rollout, []string) (string, error) { return "", nil }),
		onRollout("ramp BUILD PERCENT", "Give a build a share of the tasks, 0 to 100 percent", cobra.ExactArgs(2), rampTo),
		onRollout("current BUILD", "Give a build all tasks, except those of runs that are pinned to another", cobra.ExactArgs(1), makeCurrent),
		onRollout("rollback BUILD", "Take tasks off a build; open runs that older code cannot replay stay on it", cobra.ExactArgs(1), rollBack),
		onRollout("release BUILD", "Let the runs that a rollback left on a build move again", cobra.ExactArgs(1), release),
	)
	return cmd
}

// onRollout makes a command that changes the deployment, says what it did, and lists the builds.
func onRollout(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, r *rollout.Rollout, args []string) (said string, err error)) *cobra.Command {
	var s settings
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), rolloutWithin)
		defer cancel()
		r, done, err := s.rollout()
		if err != nil {
			return err
		}
		defer done()
		said, err := run(ctx, r, args)
		if err != nil {
			return err
		}
		if said != "" {
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), said)
		}
		return printBuilds(ctx, cmd.OutOrStdout(), r)
	}}
	bind(cmd, append([]setting{s.worker.deployment()}, s.temporal()...)...)
	return cmd
}

// rollout connects to Temporal. These commands read no payload that a master key encrypted.
func (s *settings) rollout() (r *rollout.Rollout, done func(), err error) {
	if s.worker.options.Deployment == "" {
		return nil, nil, usage("COUNTERSIGN_WORKER_DEPLOYMENT is not set: give the name that the workers have")
	}
	options, err := s.temporalOptions()
	if err := first(s.worker.checkDeployment(), s.needTemporal(), err); err != nil {
		return nil, nil, err
	}
	options.Log = slog.New(slog.DiscardHandler)
	if options.Keyring, err = keyring.Parse(keyring.Generate()); err != nil {
		return nil, nil, err
	}
	c, err := workflows.Dial(options)
	if err != nil {
		return nil, nil, err
	}
	return rollout.New(c, s.temporalNamespace, s.worker.options.Deployment), c.Close, nil
}

func rampTo(ctx context.Context, r *rollout.Rollout, args []string) (string, error) {
	percent, err := strconv.ParseFloat(args[1], 32)
	if err != nil || !(percent >= 0 && percent <= 100) { // refuses NaN too
		return "", usage("PERCENT is %q: want a number from 0 to 100", args[1])
	}
	return fmt.Sprintf("%s receives %g %% of the tasks", args[0], percent), r.Ramp(ctx, args[0], float32(percent))
}

func makeCurrent(ctx context.Context, r *rollout.Rollout, args []string) (string, error) {
	return args[0] + " is current", r.SetCurrent(ctx, args[0])
}

func rollBack(ctx context.Context, r *rollout.Rollout, args []string) (string, error) {
	out, err := r.Rollback(ctx, args[0])
	said := fmt.Sprintf("%s receives no tasks any more, %s does", out.From, nameOf(out.To))
	if out.Held > 0 {
		said += fmt.Sprintf("; %d open workflow runs stay on %s, because they recorded a change of the code: keep its workers running until they are closed or released", out.Held, out.From)
	}
	return said, err
}

func release(ctx context.Context, r *rollout.Rollout, args []string) (string, error) {
	n, err := r.Release(ctx, args[0])
	return fmt.Sprintf("%d workflow runs move with their next task", n), err
}

// nameOf names workers without a build.
func nameOf(build string) string {
	if build == "" {
		return "workers without a build"
	}
	return build
}

func printBuilds(ctx context.Context, out io.Writer, r *rollout.Rollout) error {
	s, err := r.Status(ctx)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "current: %s\n", nameOf(s.Current))
	if s.Ramping != "" {
		_, _ = fmt.Fprintf(out, "ramping: %s, %g %%\n", s.Ramping, s.Percent)
	}
	return table(out, "BUILD\tSTATE\tSINCE\tOPEN\tHELD", func(w io.Writer) error {
		for _, b := range s.Builds {
			since := "-"
			if !b.Since.IsZero() {
				since = b.Since.UTC().Format(time.RFC3339)
			}
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", b.ID, b.State, since, b.Open, b.Held); err != nil {
				return err
			}
		}
		return nil
	})
}
