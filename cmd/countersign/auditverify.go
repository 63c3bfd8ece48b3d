package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// errTampered is the result of a verification with findings, which are printed before: exit code 1.
var errTampered = errors.New("the audit log, or what is stored, is not what was sealed: see the findings")

func auditVerifyCommand() *cobra.Command {
	var headFile string
	cmd := onEnvironment("verify", "Check an environment's hash chain, and what is stored against it", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			earlier, err := readHead(cmd.Context(), c, env, headFile)
			if err != nil {
				return err
			}
			bar := progressBar(cmd)
			v := audit.Verifier{Store: c.Store, Progress: progressTo(bar)}
			result, err := v.Verify(cmd.Context(), env, earlier)
			bar.Close()
			if err != nil {
				return err
			}
			if err := printJSON(cmd.OutOrStdout(), result); err != nil {
				return err
			}
			summarize(cmd.ErrOrStderr(), result)
			if !result.Intact() {
				return errTampered
			}
			return nil
		})
	cmd.Long = `Verifies the environment's chain of sealed entries and reports entries that were altered, removed, inserted or reordered. Then compares
decisions, holds, challenges, reviews, proofs, outcomes, subjects, templates, passkeys and erasures with the entries that
made them, both ways. Reads a page at a time on one snapshot, so it may run beside the service. The result is JSON; the
summary and the progress of a long run go to standard error. The exit code is 1 if anything is found.`
	cmd.Flags().StringVar(&headFile, "head", "", "file with a head exported earlier: the chain must still contain it")
	return cmd
}

func progressTo(bar *progress.Bar) func(step string, done int64) {
	return func(step string, done int64) { bar.Show(step+" checked", done, 0) }
}

func summarize(w io.Writer, r audit.Result) {
	s := r.State
	_, _ = fmt.Fprintf(w, "%s: %d links, %d entries waiting to be sealed; compared with the log: %d decisions, %d challenges, %d holds, %d proofs, "+
		"%d subjects, %d templates, %d passkeys, %d erasures\n", r.Environment, r.Entries, r.Waiting, s.Decisions, s.Challenges, s.Holds, s.Proofs,
		s.Subjects, s.Templates, s.Passkeys, s.Erasures)
	if r.Intact() {
		_, _ = fmt.Fprintln(w, "nothing found")
		return
	}
	_, _ = fmt.Fprintf(w, "findings: %d\n", len(r.Findings))
}
