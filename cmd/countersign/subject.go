package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func subjectCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "subject", Short: "Export or erase everything that is stored about a person", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subjectExportCommand(), subjectEraseCommand())
	return cmd
}

func subjectExportCommand() *cobra.Command {
	var r remote
	var out string
	cmd := &cobra.Command{
		Use: "export SUBJECT", Args: cobra.ExactArgs(1), Short: "Write everything that is stored about a person as JSON, with a digest",
		Example: "  countersign subject export user-4711 --out user-4711.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := r.client(cmd.Context()); err != nil {
				return err
			}
			return output(cmd, out, func(into io.Writer) error { return r.exportSubject(cmd.Context(), args[0], into) })
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "new file to write, readable by its owner only; standard output if not given")
	r.bind(cmd, serverKey)
	return cmd
}

// exportSubject copies the export byte for byte: its digest is over what the service sent.
func (r *remote) exportSubject(ctx context.Context, id string, into io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.baseURL+"/api/v1/subjects/"+url.PathEscape(id)+"/export", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	resp, err := http.DefaultClient.Do(req) // #nosec G704 -- the address that the operator gave
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return fmt.Errorf("the export was refused: %s %s", resp.Status, said)
	}
	_, err = io.Copy(into, resp.Body)
	return err
}

func subjectEraseCommand() *cobra.Command {
	var r remote
	var confirm string
	cmd := &cobra.Command{
		Use: "erase SUBJECT", Args: cobra.ExactArgs(1), Short: "Erase a person: templates, sessions, passkeys, shown details and workflow histories; a receipt remains",
		Example: "  countersign subject export user-4711 --out user-4711.json   # first: nothing can be restored\n" +
			"  countersign subject erase user-4711 --confirm user-4711",
		RunE: func(cmd *cobra.Command, args []string) error {
			if confirm != args[0] {
				return usage("--confirm is %q: repeat the subject's id, %q", confirm, args[0])
			}
			api, err := r.client(cmd.Context())
			if err != nil {
				return err
			}
			receipt, err := api.DeleteSubject(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "erasing %s: %s; the event subject.erased reports the end\n", receipt.Subject, receipt.Erasure)
			return err
		},
	}
	cmd.Flags().StringVar(&confirm, "confirm", "", "the subject's id again, as a confirmation")
	r.bind(cmd, serverKey)
	return cmd
}
