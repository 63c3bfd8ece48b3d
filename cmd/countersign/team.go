package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func teamCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "team", Short: "Group reviewers into teams, whose approvals policies can require", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(teamCreateCommand(), teamListCommand(), teamChangeCommand("add", "Add members to a team"), teamChangeCommand("remove", "Remove members of a team"),
		teamDeleteCommand(), teamDeputyCommand())
	return cmd
}

const memberHelp = "person:prs_... or credential:crd_...; repeatable"

func teamCreateCommand() *cobra.Command {
	var d team.Draft
	cmd := onEnvironment("create", "Create a team; prints its id", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			made, err := changesOf(c).CreateTeam(cmd.Context(), scope, author(cmd), d)
			if printRequested(cmd, made.Requested); err != nil || made.Requested != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", made.Applied.ID, made.Applied.Key)
			return err
		})
	cmd.Flags().StringVar(&d.Key, "key", "", "key by which policies name the team: lower-case letters, digits and underscores")
	cmd.Flags().StringVar(&d.Name, "name", "", "name that the console shows")
	cmd.Flags().StringSliceVar(&d.Members, "member", nil, memberHelp)
	return withReason(cmd)
}

func teamListCommand() *cobra.Command {
	return onEnvironment("list", "List the teams of the environment with their members", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			return table(cmd.OutOrStdout(), "TEAM\tKEY\tNAME\tMEMBERS", func(w io.Writer) error {
				return eachTeam(cmd, c, scope, func(t team.View) {
					members := make([]string, len(t.Members))
					for i, m := range t.Members {
						if members[i] = m.Actor; !m.Reviews {
							members[i] += " (cannot review)"
						}
					}
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Key, t.Name, strings.Join(members, ", "))
				})
			})
		})
}

// eachTeam calls f with every team of the environment.
func eachTeam(cmd *cobra.Command, c *core, scope pg.Scope, f func(team.View)) error {
	page := pg.Page{Limit: 200}
	for {
		rows, next, err := c.Teams.List(cmd.Context(), scope, page)
		if err != nil {
			return err
		}
		for _, t := range rows {
			f(t)
		}
		if next == "" {
			return nil
		}
		page.After = next
	}
}

// teamNamed returns the id of the team with a key or an id.
func teamNamed(cmd *cobra.Command, c *core, scope pg.Scope, name string) (string, error) {
	var found string
	err := eachTeam(cmd, c, scope, func(t team.View) {
		if t.Key == name || t.ID == name {
			found = t.ID
		}
	})
	if err == nil && found == "" {
		err = problem.Newf(problem.NotFound, "The environment has no team %q. List its teams with countersign team list.", name)
	}
	return found, err
}

func teamChangeCommand(use, short string) *cobra.Command {
	var members []string
	cmd := onEnvironment(use+" TEAM", short, cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error {
			if len(members) == 0 {
				return usage("--member is not set: give person:prs_... or credential:crd_...")
			}
			id, err := teamNamed(cmd, c, scope, args[0])
			if err != nil {
				return err
			}
			update := team.Update{Add: members}
			if use == "remove" {
				update = team.Update{Remove: members}
			}
			made, err := changesOf(c).UpdateTeam(cmd.Context(), scope, author(cmd), id, update)
			printRequested(cmd, made.Requested)
			return err
		})
	cmd.Flags().StringSliceVar(&members, "member", nil, memberHelp)
	return withReason(cmd)
}

func teamDeleteCommand() *cobra.Command {
	return withReason(onEnvironment("delete TEAM", "Delete a team that no active policy and no pending hold requires", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error {
			id, err := teamNamed(cmd, c, scope, args[0])
			if err != nil {
				return err
			}
			made, err := changesOf(c).DeleteTeam(cmd.Context(), scope, author(cmd), id)
			printRequested(cmd, made.Requested)
			return err
		}))
}
