package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/policytest"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Test a policy on given requests"}
	cmd.AddCommand(&cobra.Command{
		Use:   "test FILE",
		Short: "Decide the requests of a file and compare the decisions with the expected ones",
		Long: "Decide the requests of a file and compare the decisions with the expected ones (docs/trying-policies.md).\n" +
			"Exit codes: 0 all as expected, 1 a decision differs, 2 the command line or the file cannot be used.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("countersign policy test needs one file, such as docs/policies/payments.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return testPolicy(cmd, args[0]) },
	})
	return cmd
}

func testPolicy(cmd *cobra.Command, name string) error {
	raw, err := os.ReadFile(name) // #nosec G304 -- the author's file
	if err != nil {
		return usage("%v", err)
	}
	file, err := policytest.Parse(raw)
	if err != nil {
		return usage("%s: %v", name, err)
	}
	differing, err := policytest.Print(cmd.OutOrStdout(), file.Warnings, file.Run(cmd.Context()))
	if err != nil {
		return err
	}
	if differing > 0 {
		return fmt.Errorf("%s: %d decisions are not as expected", name, differing)
	}
	return nil
}
