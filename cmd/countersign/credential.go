package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func credentialCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "credential", Short: "Issue, list, rotate and revoke API keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(credentialCreateCommand(), credentialListCommand(), credentialRotateCommand(), credentialRevokeCommand(), credentialOrphansCommand())
	return cmd
}

func credentialCreateCommand() *cobra.Command {
	var scope, name string
	var permissions []string
	var limit int
	var life time.Duration
	cmd := onEnvironment("create", "Issue an API key; it is printed this once", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			in := identity.Issue{Scope: models.Scope(scope), Name: name}
			switch in.Scope {
			case models.ScopeClient, models.ScopeServer, models.ScopeAdmin:
			default:
				return usage("--scope is %q: want client, server or admin", scope)
			}
			if cmd.Flags().Changed("permissions") {
				in.Permissions = models.Permissions{} // an empty list is refused: it must not mean all
			}
			for _, x := range permissions {
				in.Permissions = append(in.Permissions, models.Permission(x))
			}
			if limit < 0 || life < 0 {
				return usage("--rate-limit and --expires-in must not be negative")
			}
			if limit > 0 {
				in.RateLimit = &limit
			}
			if life > 0 {
				ends := c.Clock.Now().Add(life)
				in.ExpiresAt = &ends
			}
			issued, err := c.Identity.Issue(cmd.Context(), env, in, actor(cmd), "")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", issued.ID, issued.Key)
			return err
		})
	cmd.Flags().StringVar(&scope, "scope", "server", "client, server or admin")
	cmd.Flags().StringSliceVar(&permissions, "permissions", nil, "what the key may do within its scope, such as decide,verify; all if it is not given")
	cmd.Flags().StringVar(&name, "name", "", "what the key is for")
	cmd.Flags().IntVar(&limit, "rate-limit", 0, "requests an hour; 0 is the environment's default")
	cmd.Flags().DurationVar(&life, "expires-in", 0, "how long the key works; 0 is until it is revoked")
	return cmd
}

func credentialListCommand() *cobra.Command {
	return onEnvironment("list", "List an environment's API keys", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			return table(cmd.OutOrStdout(), "CREDENTIAL\tSCOPE\tPERMISSIONS\tNAME\tKEY\tCREATED\tISSUED BY\tPRINCIPAL\tSTATE", func(w io.Writer) error {
				page := pg.Page{Limit: 200}
				for {
					rows, next, err := c.Identity.List(cmd.Context(), env, page)
					if err != nil {
						return err
					}
					for _, r := range rows {
						_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Scope, permissionsOf(r), r.Name, r.Preview, apitime.Time(r.CreatedAt),
							r.IssuedBy(), r.Principal, stateOf(r, c.Clock.Now()))
					}
					if next == "" {
						return nil
					}
					page.After = next
				}
			})
		})
}

func permissionsOf(c models.Credential) string {
	if c.Permissions == nil {
		return "all"
	}
	return strings.Join(c.Permissions.Strings(), ",")
}

func stateOf(c models.Credential, now time.Time) string {
	switch {
	case c.RevokedAt != nil:
		return "revoked"
	case c.ExpiresAt != nil && !now.Before(*c.ExpiresAt):
		return "expired"
	case !c.Lives(now):
		return "lapsed"
	default:
		return "active"
	}
}

func credentialRotateCommand() *cobra.Command {
	var overlap time.Duration
	cmd := onEnvironment("rotate CREDENTIAL", "Give a credential a new key; the old one works until the overlap ends", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, env pg.Scope, args []string) error {
			if overlap < 0 {
				return usage("--overlap must not be negative")
			}
			issued, err := c.Identity.Rotate(cmd.Context(), env, identity.Rotation{ID: args[0], Overlap: overlap}, actor(cmd), "")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", issued.ID, issued.Key)
			return err
		})
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key works on")
	return cmd
}

func credentialRevokeCommand() *cobra.Command {
	var to string
	cmd := onEnvironment("revoke CREDENTIAL", "End a credential immediately, with the keys that depend on it", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, env pg.Scope, args []string) error {
			under, err := c.Identity.Under(cmd.Context(), env, args[0])
			if err != nil {
				return err
			}
			if err := c.Identity.Revoke(cmd.Context(), env, identity.Revocation{ID: args[0], ChildrenTo: to}, actor(cmd), ""); err != nil {
				return err
			}
			for _, r := range under {
				fate := "ended too"
				if to != "" {
					fate = "given to " + to
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s\n", r.ID, r.Name, fate); err != nil {
					return err
				}
			}
			return nil
		})
	cmd.Flags().StringVar(&to, "children-to", "", "id of an admin key that takes over the keys that depend on this one, so that they do not end")
	return cmd
}

func credentialOrphansCommand() *cobra.Command {
	return onEnvironment("orphans", "List valid API keys whose issuer is revoked or has ended, or whose person is no longer an operator", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			rows, err := c.Identity.Orphans(cmd.Context(), env)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), "CREDENTIAL\tSCOPE\tNAME\tKEY\tISSUED BY\tPRINCIPAL", func(w io.Writer) error {
				for _, r := range rows {
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Scope, r.Name, r.Preview, r.IssuedBy(), r.Principal)
				}
				return nil
			})
		})
}
