package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Errors of a verification with findings, which are printed before: exit code 1.
var (
	errTampered = errors.New("the audit log, or what is stored, is not what was sealed: see the findings")
	errRestored = errors.New("the database looks restored from a dump: run countersign audit reanchor --reason \"...\" and verify again")
)

func auditVerifyCommand() *cobra.Command {
	var headFile string
	cmd := onEnvironment("verify", "Check an environment's hash chain, and what is stored against it", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env store.Scope, _ []string) error {
			earlier, err := readHead(cmd.Context(), c, env, headFile)
			if err != nil {
				return err
			}
			bar := progressBar(cmd)
			v := audit.Verifier{Store: c.Store, Signer: c.Signing, Progress: progressTo(bar)}
			result, err := v.Verify(cmd.Context(), env, earlier)
			bar.Close()
			if err != nil {
				return err
			}
			if err := printJSON(cmd.OutOrStdout(), result); err != nil {
				return err
			}
			summarize(cmd.ErrOrStderr(), result)
			return verdict(result)
		})
	cmd.Long = `Verifies the environment's chain of sealed entries and reports entries that were altered, removed, inserted or reordered. Then compares
decisions, holds, challenges, reviews, proofs, outcomes, subjects, templates, passkeys and erasures with the entries that
made them, both ways. Reads a page at a time on one snapshot, so it may run beside the service. The result is JSON; the
summary and the progress of a long run go to standard error. The exit code is 1 if anything is found.`
	cmd.Flags().StringVar(&headFile, "head", "", "file with a head exported earlier: the chain must still contain it")
	return cmd
}

func verdict(r audit.Result) error {
	switch {
	case r.Intact():
		return nil
	case !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Kind != audit.Restored }):
		return errRestored
	default:
		return errTampered
	}
}

func progressTo(bar *progress.Bar) func(step string, done int64) {
	return func(step string, done int64) { bar.Show(step+" checked", done, 0) }
}

func summarize(w io.Writer, r audit.Result) {
	s := r.State
	_, _ = fmt.Fprintf(w, "%s: %d links, %d entries waiting to be sealed; compared with the log: %d decisions, %d challenges, %d holds, %d proofs, "+
		"%d subjects, %d templates, %d passkeys, %d erasures\n", r.Environment, r.Entries, r.Waiting, s.Decisions, s.Challenges, s.Holds, s.Proofs,
		s.Subjects, s.Templates, s.Passkeys, s.Erasures)
	for _, a := range r.Restored {
		_, _ = fmt.Fprintf(w, "restored and re-anchored at %s behind link %d by %s (%d entries adopted): %s\n", a.At, a.Sequence, a.Actor, a.Adopted, a.Reason)
	}
	if r.Intact() {
		_, _ = fmt.Fprintln(w, "nothing found")
		return
	}
	_, _ = fmt.Fprintf(w, "findings: %d\n", len(r.Findings))
}

func auditReanchorCommand() *cobra.Command {
	var s settings
	var reason string
	var accept bool
	cmd := &cobra.Command{
		Use: "reanchor", Short: "Let the audit log go on after a restore from a dump", Args: cobra.NoArgs,
		Long: `The audit log and the event stream are in the order of the database's transactions. A database that was dumped (pg_dump)
and restored into another server has entries numbered ahead of that server: nothing new would be sealed or streamed, and
audit verify says that it looks restored. Stop the service, run this command once with the role that owns the tables, and
start the service. It verifies every environment's chain by its own links, numbers what follows behind what was restored,
takes in what was written since, and appends a signed entry audit.reanchored to every environment.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return usage("--reason is missing: say why the database was restored, it is sealed with the log")
			}
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			bar := progressBar(cmd)
			r := audit.Reanchoring{Clock: c.Clock, Actor: actor(cmd), Reason: reason, Accept: accept,
				Verifier: audit.Verifier{Store: c.Store, Signer: c.Signing, Progress: progressTo(bar)}}
			results, err := r.Run(cmd.Context())
			bar.Close()
			if errors.Is(err, audit.ErrNotIntact) {
				if err := printJSON(cmd.OutOrStdout(), results); err != nil {
					return err
				}
				return fmt.Errorf("%w; with --accept-findings the log goes on, and the findings stay", err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d environments re-anchored; now run countersign audit verify on each\n", len(results))
			return err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the database was restored, such as a ticket; sealed with the log")
	cmd.Flags().BoolVar(&accept, "accept-findings", false, "re-anchor although verification has findings, which stay findings")
	bind(cmd, s.database(), s.direct(), s.master(), s.public())
	return cmd
}
