package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/models"
)

func tenantSCIMCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "scim", Short: "Have the company's directory provision a tenant's staff by SCIM 2.0", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	token := &cobra.Command{Use: "token", Short: "Create, rotate and revoke the tokens of the directory", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	token.AddCommand(scimTokenCreateCommand(), scimTokenRotateCommand(), scimTokenRevokeCommand())
	cmd.AddCommand(scimSetCommand(), scimShowCommand(), scimUsersCommand(), scimLinkCommand(), scimRemoveCommand(), token)
	return cmd
}

func scimSetCommand() *cobra.Command {
	var f oidcFlags
	var in directory.Settings
	var groups []string
	cmd := f.command("set", "Set up the directory, or replace its settings, which apply to its people at once", false, func(cmd *cobra.Command, c *core, tenant string) error {
		var err error
		if in.Grants, err = parseGroups(cmd, c, tenant, groups); err != nil {
			return err
		}
		if err := c.Directories.Set(cmd.Context(), tenant, in, actor(cmd)); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), c.Directories.URL())
		return err
	})
	cmd.Flags().StringVar(&in.Provider, "provider", "", "name of the identity provider whose subjects are the externalIds, and whose groups give roles and teams")
	cmd.Flags().StringArrayVar(&groups, "group", nil, "without a provider: group with its roles and teams, such as payments-leads=live:reviewer,team:finance; repeatable")
	cmd.Flags().BoolVar(&in.Required, "only", false, "refuse sign-ins with the provider of people whom the directory has not provisioned")
	return cmd
}

func scimShowCommand() *cobra.Command {
	var f oidcFlags
	return f.command("show", "Show the directory's address, settings, tokens and what it has provisioned", false, func(cmd *cobra.Command, c *core, tenant string) error {
		v, err := c.Directories.Get(cmd.Context(), tenant)
		if err != nil {
			return err
		}
		groups, err := groupsOf(cmd, c, models.IdentityProvider{TenantID: tenant, Grants: v.Grants})
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if _, err := fmt.Fprintf(out, "address   %s\nprovider  %s\ngroups    %s\nonly      %t\nsent      %d users, %d of them active, %d with a person; %d groups\n",
			c.Directories.URL(), v.Provider, groups, v.Required, v.Users, v.Active, v.People, v.Groups); err != nil {
			return err
		}
		return table(out, "TOKEN\tCREATED\tLAST USED\tENDS", func(w io.Writer) error {
			for _, t := range v.Tokens {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, apitime.Time(t.CreatedAt), timeOr(t.LastUsedAt, "never"), timeOr(t.ExpiresAt, "never"))
			}
			return nil
		})
	})
}

func timeOr(t *time.Time, missing string) string {
	if t == nil {
		return missing
	}
	return apitime.Time(*t)
}

func scimUsersCommand() *cobra.Command {
	var f oidcFlags
	var start int
	cmd := f.command("users", "List the users of the directory with the people who they are", false, func(cmd *cobra.Command, c *core, tenant string) error {
		rows, total, err := c.Directories.Users(cmd.Context(), tenant, max(1, start))
		if err != nil {
			return err
		}
		if err := table(cmd.OutOrStdout(), "USER\tNAME\tEXTERNAL ID\tACTIVE\tPERSON", func(w io.Writer) error {
			for _, u := range rows {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\n", u.ID, u.UserName, textOr(u.ExternalID), u.Active, textOr(u.PersonID))
			}
			return nil
		}); err != nil {
			return err
		}
		if next := max(1, start) + len(rows); len(rows) > 0 && next <= total {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d users; the next ones: --from %d\n", total, next)
		}
		return err
	})
	cmd.Flags().IntVar(&start, "from", 1, "position of the first user to list, from 1")
	return cmd
}

func textOr(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func scimLinkCommand() *cobra.Command {
	var f oidcFlags
	var user, person string
	cmd := f.command("link", "Make a user of the directory a person whose externalId is not the subject of their sign-in", false, func(cmd *cobra.Command, c *core, tenant string) error {
		if user == "" || person == "" {
			return usage("--user and --person are both needed: countersign tenant scim users and countersign person list show them")
		}
		return c.Directories.Link(cmd.Context(), tenant, user, person, actor(cmd))
	})
	cmd.Flags().StringVar(&user, "user", "", "id of the user (dus_...)")
	cmd.Flags().StringVar(&person, "person", "", "id of the person (prs_...)")
	return cmd
}

func scimRemoveCommand() *cobra.Command {
	var f oidcFlags
	return f.command("remove", "Remove the directory with its tokens; its people keep their access", false, func(cmd *cobra.Command, c *core, tenant string) error {
		return c.Directories.Remove(cmd.Context(), tenant, actor(cmd))
	})
}

func scimTokenCreateCommand() *cobra.Command {
	var f oidcFlags
	return f.command("create", "Create a token and print it, this once", false, func(cmd *cobra.Command, c *core, tenant string) error {
		row, token, err := c.Directories.CreateToken(cmd.Context(), tenant, actor(cmd))
		return printToken(cmd, row, token, err)
	})
}

func scimTokenRotateCommand() *cobra.Command {
	var f oidcFlags
	var overlap time.Duration
	cmd := f.command("rotate", "Create a token and print it, this once; the tokens of before end after the overlap", false, func(cmd *cobra.Command, c *core, tenant string) error {
		row, token, err := c.Directories.RotateToken(cmd.Context(), tenant, overlap, actor(cmd))
		return printToken(cmd, row, token, err)
	})
	cmd.Flags().DurationVar(&overlap, "overlap", directory.Overlap, "how long the tokens of before last, at most 720h")
	return cmd
}

func printToken(cmd *cobra.Command, row models.DirectoryToken, token string, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", row.ID, token)
	return err
}

func scimTokenRevokeCommand() *cobra.Command {
	var f oidcFlags
	var id string
	cmd := f.command("revoke", "End a token at once", false, func(cmd *cobra.Command, c *core, tenant string) error {
		return c.Directories.RevokeToken(cmd.Context(), tenant, id, actor(cmd))
	})
	cmd.Flags().StringVar(&id, "token", "", "id of the token (dtk_...)")
	return cmd
}
