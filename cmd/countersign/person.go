package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func personCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "person", Short: "Invite staff to the console, list and confirm them, grant and withdraw roles", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(personInviteCommand(), personListCommand(), personGrantCommand(), personWithdrawCommand(), personRevokeCommand(),
		personConfirmCommand(), personLinkCommand())
	return cmd
}

// personFlags are the flags that the commands about staff share.
type personFlags struct {
	settings
	tenant, environment string
	roles               []string
}

func (f *personFlags) add(cmd *cobra.Command, withRoles bool, more ...setting) {
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "id of the tenant (tnt_...)")
	cmd.Flags().StringVar(&f.environment, "environment", "", environmentHelp)
	if withRoles {
		cmd.Flags().StringSliceVar(&f.roles, "role", nil, "reviewer, operator or auditor; repeatable")
	}
	bindCore(cmd, &f.settings, more...)
}

func (f *personFlags) given() []models.Role {
	out := make([]models.Role, len(f.roles))
	for i, r := range f.roles {
		out[i] = models.Role(r)
	}
	return out
}

// run opens the database and finds the environment.
func (f *personFlags) run(cmd *cobra.Command, do func(c *core, scope pg.Scope) error) error {
	c, err := openCLI(cmd.Context(), &f.settings)
	if err != nil {
		return err
	}
	defer c.Close()
	scope, err := environmentOf(cmd, c, f.tenant, f.environment)
	if err != nil {
		return err
	}
	return do(c, scope)
}

func personInviteCommand() *cobra.Command {
	var f personFlags
	var in staff.Invitee
	var again string
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Invite a person to the console; prints an address that works once, for a day",
		Long: "Invite a person to the console; prints an address that works once, for a day. With --person, invite one who is\n" +
			"known already to register a new passkey, for example because they lost theirs. With --mail the link is sent to the address\n" +
			"and printed nowhere; earlier links of the person end.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.baseURL == "" {
				return usage("COUNTERSIGN_BASE_URL is not set: the invitation's address begins with it")
			}
			if in.Address != "" && f.mail.address == "" {
				return usage("COUNTERSIGN_SMTP_ADDRESS is not set: the service sends no e-mail. Invite without --mail, and send the printed link yourself")
			}
			return f.run(cmd, func(c *core, scope pg.Scope) error {
				invited, err := f.invite(cmd, c, scope, again, in)
				if err != nil {
					return err
				}
				link := invited.URL
				if link == "" {
					link = "is mailed to " + invited.Address
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  until %s\n", invited.Person.ID, link, apitime.Time(invited.ExpiresAt))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&in.Name, "name", "", "the person's name, shown to them and in the console")
	cmd.Flags().StringVar(&in.Address, "mail", "", "e-mail address that the link is sent to instead of being printed")
	cmd.Flags().StringVar(&again, "person", "", "id of a person (prs_...) who is known already")
	f.add(cmd, true, f.mail.server())
	return cmd
}

// invite invites a person who is known, or a new one.
func (f *personFlags) invite(cmd *cobra.Command, c *core, scope pg.Scope, known string, in staff.Invitee) (staff.Invited, error) {
	if known != "" {
		return c.People.Invite(cmd.Context(), scope, known, in.Address, actor(cmd))
	}
	in.Roles = f.given()
	return c.People.Create(cmd.Context(), scope, in, actor(cmd))
}

func personListCommand() *cobra.Command {
	var f personFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the people of the tenant that the environment belongs to",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(c *core, scope pg.Scope) error {
				return table(cmd.OutOrStdout(), "PERSON\tNAME\tSTATE\tPASSKEYS\tROLES\tINVITED\tCONFIRMED\tCOUNTS AS\tSAME ADDRESS AS", func(w io.Writer) error {
					page := pg.Page{Limit: 200}
					for {
						rows, next, err := c.People.List(cmd.Context(), scope.Tenant, page)
						if err != nil {
							return err
						}
						for _, p := range rows {
							_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.Name, p.State, p.Passkeys, rolesOf(p), apitime.Time(p.CreatedAt), confirmedOf(p), p.CountsAs(), sameAs(p))
						}
						if next == "" {
							return nil
						}
						page.After = next
					}
				})
			})
		},
	}
	f.add(cmd, false)
	return cmd
}

func confirmedOf(p staff.Listed) string {
	if p.ConfirmedAt == nil {
		return "no"
	}
	return apitime.Time(*p.ConfirmedAt)
}

// sameAs returns the accounts that may be linked with the person's, because they have the same address.
func sameAs(p staff.Listed) string {
	out := make([]string, len(p.Same))
	for i, o := range p.Same {
		out[i] = o.ID
	}
	return strings.Join(out, ",")
}

func rolesOf(p staff.Listed) string {
	var out []string
	for _, g := range p.Grants {
		for _, r := range g.Roles {
			out = append(out, string(g.Environment.Kind)+":"+string(r))
		}
	}
	return strings.Join(out, ",")
}

func onPerson(use, short string, withRoles bool, do func(cmd *cobra.Command, c *core, f *personFlags, scope pg.Scope, person string) error) *cobra.Command {
	var f personFlags
	cmd := &cobra.Command{Use: use + " PERSON", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, func(c *core, scope pg.Scope) error { return do(cmd, c, &f, scope, args[0]) })
	}}
	f.add(cmd, withRoles)
	return cmd
}

func personGrantCommand() *cobra.Command {
	return onPerson("grant", "Give a person roles in the environment", true,
		func(cmd *cobra.Command, c *core, f *personFlags, scope pg.Scope, person string) error {
			return c.People.Grant(cmd.Context(), scope, person, f.given(), actor(cmd))
		})
}

func personWithdrawCommand() *cobra.Command {
	return onPerson("withdraw", "Remove roles of a person in the environment; their sessions end", true,
		func(cmd *cobra.Command, c *core, f *personFlags, scope pg.Scope, person string) error {
			return c.People.Withdraw(cmd.Context(), scope, person, f.given(), actor(cmd))
		})
}

func personRevokeCommand() *cobra.Command {
	return onPerson("revoke", "End a person's access to every environment of the tenant immediately", false,
		func(cmd *cobra.Command, c *core, _ *personFlags, scope pg.Scope, person string) error {
			return c.People.Revoke(cmd.Context(), scope.Tenant, person, actor(cmd))
		})
}

func personConfirmCommand() *cobra.Command {
	cmd := onPerson("confirm", "Confirm that an invited account belongs to a person of its own", false,
		func(cmd *cobra.Command, c *core, _ *personFlags, scope pg.Scope, person string) error {
			return c.People.ConfirmIdentity(cmd.Context(), scope, person, actor(cmd))
		})
	cmd.Long = "Confirm that an invited account belongs to a person of its own. From then on their approvals count if two people are required.\n" +
		"Those who saw the link of the invitation cannot confirm. The command line confirms people whom operators invited in the console, people\n" +
		"of an identity provider, and the first operator of an environment, who confirms the others in the console."
	return cmd
}

func personLinkCommand() *cobra.Command {
	var other string
	cmd := onPerson("link", "Make two confirmed accounts of one person count as one", false,
		func(cmd *cobra.Command, c *core, _ *personFlags, scope pg.Scope, person string) error {
			if other == "" {
				return usage("--with is not set: it names the other account")
			}
			return c.People.Link(cmd.Context(), scope, person, other, actor(cmd))
		})
	cmd.Long = "Make two confirmed accounts of one person, such as an invited one and one of an identity provider, count as one: what both approve counts\n" +
		"once, also on holds and change requests that are open, and keys of both belong to one owner. It cannot be undone."
	cmd.Flags().StringVar(&other, "with", "", "id of the other account (prs_...)")
	return cmd
}
