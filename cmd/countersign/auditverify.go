package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/proof"
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
			return conclude(cmd, result)
		})
	cmd.Long = `Verifies the environment's chain of sealed entries and reports entries that were altered, removed, inserted or reordered. Then compares
everything stored that docs/audit.md lists with the entries that made it, both ways. Reads a page at a time on one snapshot, so it may run beside the service. The result is JSON; the
summary and the progress of a long run go to standard error. The exit code is 1 if anything is found.`
	var export, keys string
	stored := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if export == "" {
			return stored(cmd, args)
		}
		return verifyExport(cmd, export, keys)
	}
	cmd.Flags().StringVar(&export, "export", "", "verify this file of countersign audit export instead, without database and master key")
	cmd.Flags().StringVar(&keys, "keys", "", "with --export: file or URL of the key set, such as https://countersign.example/.well-known/service-proof-keys.json")
	cmd.Flags().StringVar(&headFile, "head", "", "file with a head exported earlier: the chain must still contain it")
	return cmd
}

// conclude prints the result of a verification.
func conclude(cmd *cobra.Command, result audit.Result) error {
	if err := printJSON(cmd.OutOrStdout(), result); err != nil {
		return err
	}
	summarize(cmd.ErrOrStderr(), result)
	if !result.Intact() {
		return errTampered
	}
	return nil
}

// verifyExport verifies an exported file with published keys.
func verifyExport(cmd *cobra.Command, file, keys string) error {
	if keys == "" {
		return usage("--keys is not set: it names the file or URL of the environment's published keys")
	}
	published, err := readKeys(cmd.Context(), keys)
	if err != nil {
		return err
	}
	in, err := os.Open(file) // #nosec G304 -- the auditor's file
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	result, err := audit.VerifyExport(cmd.Context(), published, in)
	if err != nil {
		return err
	}
	return conclude(cmd, result)
}

// publishedKeys verifies heads as anyone can.
type publishedKeys proof.KeySet

// VerifyDocument implements audit.Checker.
func (k publishedKeys) VerifyDocument(_ context.Context, _ pg.Scope, typ, compact string) ([]byte, error) {
	return proof.VerifyDocument(compact, proof.KeySet(k), typ)
}

// maxKeySet bounds what is read of a URL.
const maxKeySet = 1 << 20

// readKeys reads a key set from a file or a URL.
func readKeys(ctx context.Context, from string) (publishedKeys, error) {
	if !strings.HasPrefix(from, "https://") && !strings.HasPrefix(from, "http://") {
		raw, err := os.ReadFile(from) // #nosec G304 -- the auditor's file
		if err != nil {
			return nil, err
		}
		return parseKeys(from, raw)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responds with %s", from, res.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxKeySet))
	if err != nil {
		return nil, err
	}
	return parseKeys(from, raw)
}

func parseKeys(from string, raw []byte) (publishedKeys, error) {
	keys, err := proof.ParseJWKS(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is not a key set: %w", from, err)
	}
	return publishedKeys(keys), nil
}

func progressTo(bar *progress.Bar) func(step string, done int64) {
	return func(step string, done int64) { bar.Show(step+" checked", done, 0) }
}

func summarize(w io.Writer, r audit.Result) {
	s := r.State
	_, _ = fmt.Fprintf(w, "%s: %d links, %d entries waiting to be sealed; compared with the log: %d decisions, %d challenges, %d holds, %d proofs, "+
		"%d subjects, %d templates, %d passkeys, %d erasures, %d rows of configuration and staff\n", r.Environment, r.Entries, r.Waiting, s.Decisions, s.Challenges, s.Holds, s.Proofs,
		s.Subjects, s.Templates, s.Passkeys, s.Erasures, s.Rows)
	if r.Intact() {
		_, _ = fmt.Fprintln(w, "intact: nothing was changed outside of the service")
		return
	}
	_, _ = fmt.Fprintf(w, "findings: %d\n", len(r.Findings))
}
