package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/keyring"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/wire"
	"github.com/countersign-dev/countersign/models"
)

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Make a master key; list and rotate the keys that sign proofs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keyGenerateCommand(), keyListCommand(), keyRotateCommand())
	return cmd
}

func keyGenerateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "generate",
		Short: "Print a new master key, for COUNTERSIGN_MASTER_KEY",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), keyring.Generate())
			return err
		},
	}
}

func keyListCommand() *cobra.Command {
	return onEnvironment("list", "List an environment's signing keys", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env store.Scope, _ []string) error {
			keys, err := c.Proofing.Keys(cmd.Context(), env)
			if err != nil {
				return err
			}
			return printKeys(cmd, keys)
		})
}

func keyRotateCommand() *cobra.Command {
	return onEnvironment("rotate", "Sign with the next key from now on; the old one stays published while its proofs live", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env store.Scope, _ []string) error {
			keys, err := c.Proofing.Rotate(cmd.Context(), env, actor(cmd))
			if err != nil {
				return err
			}
			return printKeys(cmd, keys)
		})
}

func printKeys(cmd *cobra.Command, keys []models.SigningKey) error {
	return table(cmd.OutOrStdout(), "KID\tSTATUS\tCREATED", func(w io.Writer) error {
		for _, k := range keys {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", k.KID, k.Status, wire.Time(k.CreatedAt))
		}
		return nil
	})
}
