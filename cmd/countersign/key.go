package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Make a master key; list, rotate and retire the keys that sign proofs, and master keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keyGenerateCommand(), keyWrapCommand(), keyListCommand(), keyRotateCommand(), keyRetireCommand(), keyAdoptCommand(), keyCheckCommand(), masterCommand())
	return cmd
}

func keyGenerateCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Print a new master key, for COUNTERSIGN_MASTER_KEY, wrapped by the root key if there is one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key := keyring.Generate()
			if s.rootKey != nil {
				ring, err := keyring.Parse(key)
				if err != nil {
					return err
				}
				if key, err = s.wrapped(cmd.Context(), ring); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), key)
			return err
		},
	}
	bind(cmd, s.root())
	return cmd
}

func keyWrapCommand() *cobra.Command {
	var s, before settings
	cmd := &cobra.Command{
		Use:   "wrap",
		Short: "Print the master keys of COUNTERSIGN_MASTER_KEY as the root key wraps them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.rootKey == nil {
				return usage("COUNTERSIGN_ROOT_KEY is not set: want the key to wrap the master keys with")
			}
			before.masterKey = s.masterKey
			ring, err := before.keyring(cmd.Context())
			if err != nil {
				return err
			}
			text, err := s.wrapped(cmd.Context(), ring)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().Var(rootKey(&before.rootKey), "from", "root key that wraps them now; not needed if they are not wrapped")
	bind(cmd, s.master(), s.root())
	return cmd
}

func keyListCommand() *cobra.Command {
	var s settings
	var environment string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List signing keys, of one environment or of all",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			scopes, err := listed(cmd, c, environment)
			if err != nil {
				return err
			}
			var keys []models.SigningKey
			for _, scope := range scopes {
				of, err := c.Signing.Keys(cmd.Context(), scope)
				if err != nil {
					return err
				}
				keys = append(keys, of...)
			}
			return printKeys(cmd, c, keys)
		},
	}
	cmd.Flags().StringVar(&environment, "environment", "", "id of the environment (env_...); all if it is not given")
	bindCore(cmd, &s)
	return cmd
}

// listed are the scopes to list: the environment named, or every one.
func listed(cmd *cobra.Command, c *core, environment string) ([]pg.Scope, error) {
	if environment != "" {
		scope, err := environmentOf(cmd, c, "", environment)
		return []pg.Scope{scope}, err
	}
	envs, err := tenancy.ListEnvironments(cmd.Context(), c.Store.Q, "")
	scopes := make([]pg.Scope, len(envs))
	for i, e := range envs {
		scopes[i] = pg.Scope{Tenant: e.TenantID, Environment: e.ID}
	}
	return scopes, err
}

func keyRotateCommand() *cobra.Command {
	return onEnvironment("rotate", "Sign with the next key from now on; the old one stays published while its proofs live", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			keys, err := c.Signing.Rotate(cmd.Context(), env, actor(cmd))
			if err != nil {
				return err
			}
			return printKeys(cmd, c, keys)
		})
}

func keyRetireCommand() *cobra.Command {
	var now bool
	cmd := onEnvironment("retire KID", "Take one signing key out of use; it verifies until its last proof is dead", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, env pg.Scope, args []string) error {
			keys, revoked, err := c.Signing.RetireKey(cmd.Context(), env, signing.Retirement{KID: args[0], AtOnce: now, Actor: actor(cmd)})
			if err != nil {
				return err
			}
			if now {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s verifies nothing from now on; %d open proofs were revoked\n", args[0], revoked)
			}
			return printKeys(cmd, c, keys)
		})
	cmd.Example = "  countersign key retire KID --environment env_...\n  countersign key retire --environment env_... -- -KID   # an id that begins with a hyphen"
	cmd.Flags().BoolVar(&now, "now", false, "the key may be known to others: it verifies nothing from now on, and its open proofs are revoked")
	return cmd
}

func keyAdoptCommand() *cobra.Command {
	return onEnvironment("adopt ID", "Publish a key that exists in the first backend of signing keys as the next key", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, env pg.Scope, args []string) error {
			keys, err := c.Signing.Adopt(cmd.Context(), env, args[0], actor(cmd))
			if err != nil {
				return err
			}
			return printKeys(cmd, c, keys)
		})
}

func keyCheckCommand() *cobra.Command {
	return onDatabase("check", "Check that the backends of signing keys can be used, and that each published key signs", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, _ []string) error {
			scopes, err := listed(cmd, c, "")
			if err != nil {
				return err
			}
			var failed error
			err = table(cmd.OutOrStdout(), "ENVIRONMENT\tKID\tSTATUS\tBACKEND\tSIGNS", func(w io.Writer) error {
				for _, scope := range scopes {
					keys, err := c.Signing.Keys(cmd.Context(), scope)
					if err != nil {
						return err
					}
					for _, k := range keys {
						if k.Status == models.KeyRetired {
							continue
						}
						signs := "yes"
						if err := c.Signing.Works(cmd.Context(), k); err != nil {
							signs, failed = "no", errors.Join(failed, err)
						}
						_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.EnvironmentID, k.KID, k.Status, k.Backend, signs)
					}
				}
				return nil
			})
			return errors.Join(err, failed)
		})
}

func printKeys(cmd *cobra.Command, c *core, keys []models.SigningKey) error {
	return table(cmd.OutOrStdout(), "ENVIRONMENT\tKID\tSTATUS\tCREATED\tFIRST USE\tRETIRES\tLAST USE\tBACKEND\tOPENS", func(w io.Writer) error {
		for _, k := range keys {
			opens := "yes"
			if c.Signing.Opens(k) != nil {
				opens = "no"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.EnvironmentID, k.KID, k.Status, apitime.Time(k.CreatedAt), timeOrDash(k.ActivatedAt),
				timeOrDash(retires(k)), timeOrDash(k.LastUsedAt), k.Backend, opens)
		}
		return nil
	})
}

// retires is when a key verifies nothing any more; nil while that is not set.
func retires(k models.SigningKey) *time.Time {
	if k.RetiredAt != nil || k.RetiringAt == nil {
		return k.RetiredAt
	}
	ends := k.RetiringAt.Add(signing.Overlap)
	return &ends
}

func timeOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return apitime.Time(*t)
}
