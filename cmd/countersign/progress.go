package main

import (
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/progress"
)

// quietFlag is the flag of every command: progress is shown on standard error unless it is set.
const quietFlag = "quiet"

// progressBar shows how far a long command is. The caller closes it before it prints the result.
func progressBar(cmd *cobra.Command) *progress.Bar {
	quiet, err := cmd.Flags().GetBool(quietFlag)
	return progress.New(cmd.ErrOrStderr(), quiet || err != nil)
}
